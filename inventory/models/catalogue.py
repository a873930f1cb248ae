"""Define products as the catalogue lists them: categories, medications, their names, contents and leaflets."""

from decimal import Decimal

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from inventory.models.ingredients import Ingredient
from inventory.models.lengths import FOLDED_LENGTH, NAME_LENGTH
from pharmacy_site.lib.fields import LONGEST_NAME, LONGEST_TEXT, CleanLine, CleanText
from pharmacy_site.lib.text import compact, ltr


class Category(models.Model):
    """A group of products by the name that customers use: pain relievers, antibiotics."""

    name_en: str
    name_he: str | None

    slug = models.SlugField(_("slug"), unique=True)
    name = CleanLine(_("name"), max_length=NAME_LENGTH, longest=LONGEST_NAME)
    atc_prefixes = models.JSONField(
        _("ATC codes"),
        default=list,
        blank=True,
        help_text=_("Beginnings of ATC codes that imports put here."),
    )

    class Meta:
        verbose_name = _("category")
        verbose_name_plural = _("categories")
        ordering = ["slug"]

    def __str__(self) -> str:
        return str(self.name)


class CategoryAlias(models.Model):
    """Another name for a category."""

    category = models.ForeignKey(
        Category, on_delete=models.CASCADE, related_name="aliases", verbose_name=_("category")
    )
    text = CleanLine(_("as people write it"), max_length=NAME_LENGTH, longest=LONGEST_NAME)
    folded = models.CharField(_("folded"), max_length=FOLDED_LENGTH, editable=False)

    class Meta:
        verbose_name = _("category alias")
        verbose_name_plural = _("category aliases")
        constraints = [
            models.UniqueConstraint(fields=["folded", "category"], name="category_alias_once"),
        ]

    def __str__(self) -> str:
        return self.text

    def save(self, *args: object, **kwargs: object) -> None:
        """Store the alias together with its folded form."""
        self.folded = compact(self.text)[:FOLDED_LENGTH]
        super().save(*args, **kwargs)  # type: ignore[arg-type]


class Medication(models.Model):
    """A product that can be sold: one name, form, strength and pack size."""

    class Release(models.TextChoices):
        IMMEDIATE = "immediate", _("immediate release")
        EXTENDED = "extended", _("extended release")
        DELAYED = "delayed", _("delayed release")

    class Schedule(models.TextChoices):
        NONE = "", _("not controlled")
        II = "II", "II"
        III = "III", "III"
        IV = "IV", "IV"
        V = "V", "V"

    class Substitution(models.TextChoices):
        ALLOWED = "allowed", _("allowed")
        PHARMACIST_ONLY = "pharmacist_only", _("a pharmacist decides")

    name_en: str
    name_he: str | None
    generic_name_en: str
    generic_name_he: str | None

    name = CleanLine(_("name"), max_length=NAME_LENGTH, longest=LONGEST_NAME)
    generic_name = CleanLine(_("generic name"), max_length=NAME_LENGTH, blank=True)
    form = CleanLine(_("form"), max_length=60, help_text=_("One English word: tablet, capsule, syrup."))
    release = models.CharField(
        _("release"), max_length=10, choices=Release.choices, default=Release.IMMEDIATE
    )
    strength = CleanLine(_("strength"), max_length=200, blank=True, help_text=_("As shown: 20 mg."))
    pack_size = models.PositiveIntegerField(_("pack size"), null=True, blank=True)
    pack_unit = CleanLine(_("pack unit"), max_length=30, blank=True)
    category = models.ForeignKey(
        Category,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="medications",
        verbose_name=_("category"),
    )
    rx_required = models.BooleanField(_("prescription required"), default=False)
    schedule = models.CharField(_("schedule"), max_length=3, choices=Schedule.choices, default="", blank=True)
    substitution = models.CharField(
        _("substitution"), max_length=20, choices=Substitution.choices, default=Substitution.ALLOWED
    )
    prior_authorization = models.BooleanField(_("prior authorisation"), default=False)
    acute_antibiotic = models.BooleanField(_("antibiotic for an acute illness"), default=False)
    price = models.DecimalField(
        _("price"),
        max_digits=9,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(Decimal(0))],
    )
    external_id = CleanLine(
        _("external number"),
        max_length=40,
        unique=True,
        null=True,
        blank=True,
        help_text=_("DIN or the like."),
    )
    company = CleanLine(_("company"), max_length=120, blank=True)
    is_active = models.BooleanField(_("active"), default=True)

    ingredients: "models.ManyToManyField[Ingredient, MedicationIngredient]" = models.ManyToManyField(
        Ingredient, through="MedicationIngredient", related_name="medications", verbose_name=_("ingredients")
    )

    class Meta:
        verbose_name = _("medication")
        verbose_name_plural = _("medications")
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(price__isnull=True) | Q(price__gte=0), name="medication_price_not_negative"
            ),
        ]

    def __str__(self) -> str:
        # Isolated, or "875 mg + 125 mg" is shown backwards beside a Hebrew name.
        return f"{self.name} {ltr(self.strength)}" if self.strength else str(self.name)


class MedicationIngredient(models.Model):
    """One ingredient of a product and its strength."""

    medication = models.ForeignKey(
        Medication, on_delete=models.CASCADE, related_name="contents", verbose_name=_("medication")
    )
    ingredient = models.ForeignKey(
        Ingredient, on_delete=models.PROTECT, related_name="contents", verbose_name=_("ingredient")
    )
    strength = CleanLine(_("strength"), max_length=80, blank=True)
    amount = models.DecimalField(_("amount"), max_digits=18, decimal_places=6, null=True, blank=True)
    unit = CleanLine(_("unit"), max_length=30, blank=True)
    position = models.PositiveSmallIntegerField(_("position"), default=0)

    class Meta:
        verbose_name = _("ingredient of a medication")
        verbose_name_plural = _("ingredients of a medication")
        ordering = ["medication", "position", "id"]
        constraints = [
            models.UniqueConstraint(fields=["medication", "ingredient"], name="medication_ingredient_once"),
        ]

    def __str__(self) -> str:
        return f"{self.ingredient} {self.strength}".rstrip()


class MedicationAlias(models.Model):
    """Another name of a product: a trade name, a spelling."""

    medication = models.ForeignKey(
        Medication, on_delete=models.CASCADE, related_name="aliases", verbose_name=_("medication")
    )
    text = CleanLine(_("as people write it"), max_length=NAME_LENGTH, longest=LONGEST_NAME)
    language = models.CharField(_("language"), max_length=2, blank=True)

    class Meta:
        verbose_name = _("medication alias")
        verbose_name_plural = _("medication aliases")
        constraints = [
            models.UniqueConstraint(fields=["medication", "text"], name="medication_alias_once"),
        ]

    def __str__(self) -> str:
        return self.text


class LeafletSection(models.Model):
    """The text of a product's leaflet about one subject, with its source and date."""

    class Kind(models.TextChoices):
        USE = "use", _("what it is used for")
        DOSAGE = "dosage", _("dosage")
        MINIMUM_AGE = "minimum_age", _("minimum age")
        PREGNANCY = "pregnancy", _("pregnancy")
        BREASTFEEDING = "breastfeeding", _("breastfeeding")
        DRIVING = "driving", _("driving")
        FOOD_ALCOHOL = "food_alcohol", _("food and alcohol")
        STORAGE = "storage", _("storage")
        MISSED_DOSE = "missed_dose", _("missed dose")
        SIDE_EFFECTS = "side_effects", _("side effects")
        WARNINGS = "warnings", _("warnings")
        EXCIPIENTS = "excipients", _("inactive ingredients")

    text_en: str
    text_he: str | None
    source_en: str
    source_he: str | None

    medication = models.ForeignKey(
        Medication, on_delete=models.CASCADE, related_name="leaflet", verbose_name=_("medication")
    )
    kind = models.CharField(_("subject"), max_length=20, choices=Kind.choices)
    text = CleanText(_("text"), longest=LONGEST_TEXT)
    source = CleanLine(_("source"), max_length=200, blank=True)
    updated_on = models.DateField(_("as of"), null=True, blank=True)

    class Meta:
        verbose_name = _("leaflet section")
        verbose_name_plural = _("leaflet sections")
        ordering = ["medication", "id"]
        constraints = [
            models.UniqueConstraint(fields=["medication", "kind"], name="leaflet_section_once"),
        ]

    def __str__(self) -> str:
        return str(self.get_kind_display())
