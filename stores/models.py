"""Define stores, their names and opening hours, and the towns that a customer may name.

Columns called `folded` hold `pharmacy_site.lib.text.compact` of a name: the form in which names are compared.
"""

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Q
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _
from phonenumber_field.modelfields import PhoneNumberField

from pharmacy_site.lib.fields import CleanLine, CleanText
from pharmacy_site.lib.text import compact
from stores.geo import Point, point_of

NAME_LENGTH = 120
FOLDED_LENGTH = 160


def folded_names(*names: str | None) -> dict[str, str]:
    """Return the distinct names by their folded form, without those that fold to nothing."""
    folded = {compact(name)[:FOLDED_LENGTH]: name for name in reversed(names) if name}
    folded.pop("", None)
    return folded


class Locality(models.Model):
    """A town or village that a customer may name, with or without a store in it."""

    name_en: str
    name_he: str | None

    slug = models.SlugField(_("slug"), max_length=NAME_LENGTH, unique=True)
    name = CleanLine(_("name"), max_length=NAME_LENGTH)
    country = models.CharField(
        _("country"), max_length=2, default="IL", help_text=_("Two letters, ISO 3166.")
    )
    lat = models.FloatField(_("latitude"))
    lng = models.FloatField(_("longitude"))
    is_prominent = models.BooleanField(
        _("known to everybody"),
        default=False,
        help_text=_(
            "Others are only noticed after a word like “in”: many villages are called like common words."
        ),
    )

    class Meta:
        verbose_name = _("locality")
        verbose_name_plural = _("localities")
        ordering = ["slug"]

    def __str__(self) -> str:
        return str(self.name)

    @property
    def point(self) -> Point:
        """Its middle, from which distances are measured."""
        return Point(self.lat, self.lng)

    def save(self, *args: object, **kwargs: object) -> None:
        """Save, and write the official names to the table of names."""
        super().save(*args, **kwargs)  # type: ignore[arg-type]
        LocalityName.objects.filter(locality=self, derived=True).delete()
        LocalityName.objects.bulk_create(
            (
                LocalityName(locality=self, text=name, folded=folded, derived=True)
                for folded, name in folded_names(self.name_en, self.name_he).items()
            ),
            ignore_conflicts=True,
        )


class LocalityName(models.Model):
    """One spelling of a locality's name; `Locality.save` writes the official ones (`derived`)."""

    locality = models.ForeignKey(
        Locality, on_delete=models.CASCADE, related_name="names", verbose_name=_("locality")
    )
    text = CleanLine(_("as people write it"), max_length=NAME_LENGTH)
    folded = models.CharField(_("folded"), max_length=FOLDED_LENGTH, editable=False)
    derived = models.BooleanField(_("from the official name"), default=False, editable=False)

    class Meta:
        verbose_name = _("locality name")
        verbose_name_plural = _("locality names")
        constraints = [
            models.UniqueConstraint(fields=["folded", "locality"], name="locality_name_once"),
        ]

    def __str__(self) -> str:
        return self.text

    def save(self, *args: object, **kwargs: object) -> None:
        """Store the name together with its folded form."""
        self.folded = compact(self.text)[:FOLDED_LENGTH]
        super().save(*args, **kwargs)  # type: ignore[arg-type]


class Store(models.Model):
    """A branch with an address, or the online store, which has no position."""

    class Kind(models.TextChoices):
        BRANCH = "branch", _("branch")
        ONLINE = "online", _("online store")

    name_en: str
    name_he: str | None
    address_en: str
    address_he: str | None

    id = models.PositiveIntegerField(_("number"), primary_key=True)
    name = CleanLine(_("name"), max_length=NAME_LENGTH)
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices, default=Kind.BRANCH)
    locality = models.ForeignKey(
        Locality,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="stores",
        verbose_name=_("locality"),
    )
    address = CleanLine(_("address"), max_length=200, blank=True)
    lat = models.FloatField(_("latitude"), null=True, blank=True)
    lng = models.FloatField(_("longitude"), null=True, blank=True)
    phone = PhoneNumberField(_("phone"), blank=True)
    is_active = models.BooleanField(_("active"), default=True)

    class Meta:
        verbose_name = _("store")
        verbose_name_plural = _("stores")
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(lat__isnull=True, lng__isnull=True) | Q(lat__isnull=False, lng__isnull=False),
                name="store_coordinates_both_or_none",
            ),
        ]
        # A search for the nearest stores reads a box of these instead of every store.
        indexes = [models.Index(fields=["lat", "lng"], name="store_place")]

    def __str__(self) -> str:
        return str(self.name)

    @property
    def point(self) -> Point | None:
        """Where it is; the online store has no place."""
        return point_of(self.lat, self.lng)

    @cached_property
    def phone_shown(self) -> str | None:
        """The phone number in national format, None if there is none on file."""
        return self.phone.as_national if self.phone else None

    def save(self, *args: object, **kwargs: object) -> None:
        """Save, and write the store's name to the aliases, with and without the town after the comma."""
        super().save(*args, **kwargs)  # type: ignore[arg-type]
        names = [self.name_en, self.name_he]
        short = [name.split(",")[0] for name in names if name and "," in name]
        StoreAlias.objects.filter(store=self, derived=True).delete()
        StoreAlias.objects.bulk_create(
            (
                StoreAlias(store=self, text=name, folded=folded, derived=True)
                for folded, name in folded_names(*names, *short).items()
            ),
            ignore_conflicts=True,
        )


class StoreAlias(models.Model):
    """One name that customers use for a store; `Store.save` writes those that follow from its own name (`derived`)."""

    store = models.ForeignKey(
        Store, on_delete=models.CASCADE, related_name="aliases", verbose_name=_("store")
    )
    text = CleanLine(_("as people write it"), max_length=NAME_LENGTH)
    folded = models.CharField(_("folded"), max_length=FOLDED_LENGTH, editable=False)
    derived = models.BooleanField(_("from the store's name"), default=False, editable=False)

    class Meta:
        verbose_name = _("store alias")
        verbose_name_plural = _("store aliases")
        constraints = [
            models.UniqueConstraint(fields=["folded", "store"], name="store_alias_once"),
        ]

    def __str__(self) -> str:
        return self.text

    def save(self, *args: object, **kwargs: object) -> None:
        """Store the alias together with its folded form."""
        self.folded = compact(self.text)[:FOLDED_LENGTH]
        super().save(*args, **kwargs)  # type: ignore[arg-type]


class SiteAnswer(models.Model):
    """Answer to questions that the data cannot answer (parking, deliveries, complaints), written by staff."""

    class Topic(models.TextChoices):
        ORDERS = "orders", _("orders")
        DELIVERY = "delivery", _("deliveries")
        PAYMENT = "payment", _("ways to pay")
        PARKING = "parking", _("parking")
        RETURNS = "returns", _("returns and refunds")
        HOLD = "hold", _("keeping a pack")
        COMPLAINT = "complaint", _("complaints")
        MANAGER = "manager", _("a manager")
        INSURANCE = "insurance", _("insurance and health funds")
        DIGITAL_PRESCRIPTION = "digital_prescription", _("digital prescriptions")

    class Offer(models.TextChoices):
        NOTHING = "nothing", _("nothing")
        PERSON = "person", _("a person")
        PHONE = "phone", _("a branch's phone")

    text_en: str
    text_he: str | None

    topic = models.CharField(_("subject"), max_length=30, choices=Topic.choices, unique=True)
    text = CleanText(_("answer"), max_length=600)
    offer = models.CharField(_("offer with it"), max_length=10, choices=Offer.choices, default=Offer.NOTHING)

    class Meta:
        verbose_name = _("site answer")
        verbose_name_plural = _("site answers")
        ordering = ["topic"]

    def __str__(self) -> str:
        return str(self.get_topic_display())


class Weekday(models.IntegerChoices):
    """Weekdays as Python numbers them; the pharmacy's week is shown from Sunday."""

    MONDAY = 0, _("Monday")
    TUESDAY = 1, _("Tuesday")
    WEDNESDAY = 2, _("Wednesday")
    THURSDAY = 3, _("Thursday")
    FRIDAY = 4, _("Friday")
    SATURDAY = 5, _("Saturday")
    SUNDAY = 6, _("Sunday")


class OpeningHours(models.Model):
    """One period of the ordinary week in which a store is open; a day without rows is closed."""

    store = models.ForeignKey(Store, on_delete=models.CASCADE, related_name="hours", verbose_name=_("store"))
    weekday = models.PositiveSmallIntegerField(_("day"), choices=Weekday.choices)
    opens = models.TimeField(_("opens"))
    closes = models.TimeField(_("closes"))

    class Meta:
        verbose_name = _("opening hours")
        verbose_name_plural = _("opening hours")
        ordering = ["store", "weekday", "opens"]
        constraints = [
            models.UniqueConstraint(fields=["store", "weekday", "opens"], name="opening_hours_once"),
            models.CheckConstraint(condition=Q(closes__gt=F("opens")), name="opening_hours_in_order"),
        ]

    def __str__(self) -> str:
        return f"{self.get_weekday_display()} {self.opens:%H:%M}–{self.closes:%H:%M}"


class OpeningException(models.Model):
    """A date with other hours: a holiday, its eve, a stock-taking. Several rows are several periods."""

    note_en: str
    note_he: str | None

    store = models.ForeignKey(
        Store, on_delete=models.CASCADE, related_name="exceptions", verbose_name=_("store")
    )
    date = models.DateField(_("date"))
    closed = models.BooleanField(_("closed all day"), default=False)
    opens = models.TimeField(_("opens"), null=True, blank=True)
    closes = models.TimeField(_("closes"), null=True, blank=True)
    note = CleanLine(_("note"), max_length=120, blank=True)

    class Meta:
        verbose_name = _("exception to the opening hours")
        verbose_name_plural = _("exceptions to the opening hours")
        ordering = ["store", "date", "opens"]
        indexes = [models.Index(fields=["store", "date"], name="opening_exception_day")]
        constraints = [
            models.CheckConstraint(
                condition=Q(closed=True, opens__isnull=True, closes__isnull=True)
                | Q(closed=False, opens__isnull=False, closes__gt=F("opens")),
                name="opening_exception_closed_or_hours",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.date}"

    def clean(self) -> None:
        """Check what the database constraint requires, with a message for staff."""
        if self.closed and (self.opens or self.closes):
            raise ValidationError(_("A closed day has no hours."))
        if not self.closed and not (self.opens and self.closes and self.opens < self.closes):
            raise ValidationError(
                _("Give an opening time before the closing time, or mark the day as closed.")
            )
