"""Medications, their ingredients, leaflets, stock, interactions, and the derived index by which names are found.

Columns called `folded` hold a name in the form in which names are compared (`pharmacy_site.lib.text`): with blanks
(`fold`) in the search index, without (`compact`) in the alias tables.
"""

from decimal import Decimal

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from pharmacy_site.lib.fields import LONGEST_NAME, LONGEST_TEXT, CleanLine, CleanText
from pharmacy_site.lib.text import compact, ltr

NAME_LENGTH = 200
FOLDED_LENGTH = 255
WORD_LENGTH = 32
"""The longest word that the typo index holds."""


class Category(models.Model):
    """A group of products as customers name it: pain relievers, antibiotics."""

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


class Ingredient(models.Model):
    """An active ingredient; interactions and allergies are about these, never about brands."""

    name_en: str
    name_he: str | None
    display_en: str
    display_he: str | None

    key = CleanLine(
        _("key"), max_length=NAME_LENGTH, unique=True, help_text=_("Canonical English name in lower case.")
    )
    name = CleanLine(_("name"), max_length=NAME_LENGTH)
    display = CleanLine(
        _("shown as"),
        max_length=NAME_LENGTH,
        blank=True,
        help_text=_("For example “Paracetamol (Acetaminophen)”; empty: the name."),
    )
    classes = models.JSONField(
        _("drug classes"),
        default=list,
        blank=True,
        help_text=_("For allergies: penicillin, sulfonamide, nsaid …"),
    )
    assessed = models.BooleanField(
        _("interactions assessed"),
        default=False,
        help_text=_("Whether “no interaction listed” means anything for this ingredient."),
    )

    class Meta:
        verbose_name = _("ingredient")
        verbose_name_plural = _("ingredients")
        ordering = ["key"]

    def __str__(self) -> str:
        return str(self.name)


class IngredientAlias(models.Model):
    """Another name or a salt of an ingredient (acetaminophen = paracetamol)."""

    ingredient = models.ForeignKey(
        Ingredient, on_delete=models.CASCADE, related_name="aliases", verbose_name=_("ingredient")
    )
    text = CleanLine(_("as people write it"), max_length=NAME_LENGTH)
    folded = models.CharField(_("folded"), max_length=FOLDED_LENGTH, unique=True, editable=False)

    class Meta:
        verbose_name = _("ingredient alias")
        verbose_name_plural = _("ingredient aliases")

    def __str__(self) -> str:
        return self.text

    def clean(self) -> None:
        """Refuse a name that already means an ingredient, in words rather than as a broken constraint."""
        folded = compact(self.text)[:FOLDED_LENGTH]
        if IngredientAlias.objects.filter(folded=folded).exclude(pk=self.pk).exists():
            raise ValidationError({"text": _("This name already belongs to an ingredient.")})

    def save(self, *args: object, **kwargs: object) -> None:
        """Store the alias together with its folded form."""
        self.folded = compact(self.text)[:FOLDED_LENGTH]
        super().save(*args, **kwargs)  # type: ignore[arg-type]


class Medication(models.Model):
    """A product as it stands on the shelf: one name, form, strength and pack."""

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
        # Set apart, or "875 mg + 125 mg" is read backwards beside a Hebrew name.
        return f"{self.name} {ltr(self.strength)}" if self.strength else str(self.name)


class MedicationIngredient(models.Model):
    """How much of one ingredient a product holds."""

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
    """What the leaflet on file says about one subject, with its source and date."""

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


class StockLevel(models.Model):
    """How many packs of a product one store has; a row with 0 says "carried, none left"."""

    store = models.ForeignKey(
        "stores.Store",
        on_delete=models.PROTECT,
        related_name="stock",
        verbose_name=_("store"),
        db_index=False,
    )
    medication = models.ForeignKey(
        Medication,
        on_delete=models.PROTECT,
        related_name="stock",
        verbose_name=_("medication"),
        db_index=False,
    )
    quantity = models.PositiveIntegerField(_("packs"), default=0)
    restock_on = models.DateField(_("restock expected on"), null=True, blank=True)
    low_threshold = models.PositiveIntegerField(
        _("low at"), default=10, help_text=_("This many packs or fewer are called “low”.")
    )
    version = models.PositiveIntegerField(_("version"), default=0, editable=False)
    updated_at = models.DateTimeField(_("changed at"), auto_now=True)

    class Meta:
        verbose_name = _("stock level")
        verbose_name_plural = _("stock levels")
        ordering = ["store", "medication"]
        constraints = [
            models.UniqueConstraint(fields=["store", "medication"], name="stock_level_once"),
            models.CheckConstraint(condition=Q(quantity__gte=0), name="stock_level_not_negative"),
        ]
        # "Is it in stock anywhere" and "who has it" read this alone.
        indexes = [models.Index(fields=["medication", "quantity"], name="stock_level_of_medication")]

    def __str__(self) -> str:
        return f"{self.medication}: {self.quantity}"


class StockMove(models.Model):
    """One change of a stock level, with who and why; the database refuses to change or delete it."""

    class Reason(models.TextChoices):
        COUNT = "count", _("counted")
        DELIVERY = "delivery", _("delivery")
        SALE = "sale", _("sale")
        DISPENSED = "dispensed", _("dispensed")
        RETURN = "return", _("returned")
        TRANSFER = "transfer", _("transfer")
        EXPIRED = "expired", _("expired or damaged")
        IMPORT = "import", _("import")
        DEMO = "demo", _("demo data")
        CORRECTION = "correction", _("correction")

    store = models.ForeignKey(
        "stores.Store", on_delete=models.PROTECT, related_name="stock_moves", verbose_name=_("store")
    )
    medication = models.ForeignKey(
        Medication, on_delete=models.PROTECT, related_name="stock_moves", verbose_name=_("medication")
    )
    delta = models.IntegerField(_("change"))
    quantity_after = models.PositiveIntegerField(_("packs afterwards"))
    reason = models.CharField(_("reason"), max_length=20, choices=Reason.choices)
    actor = models.CharField(_("by"), max_length=150, help_text=_("A user's name, or “system:import”."))
    note = CleanLine(_("note"), max_length=300, blank=True)
    at = models.DateTimeField(_("at"), auto_now_add=True)

    class Meta:
        verbose_name = _("stock movement")
        verbose_name_plural = _("stock movements")
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.delta:+d}"


class Interaction(models.Model):
    """What is on file about two ingredients taken together; the lower id is always `ingredient_a`."""

    class Level(models.TextChoices):
        CAUTION = "caution", _("caution")
        AVOID = "avoid", _("avoid")

    ingredient_a = models.ForeignKey(
        Ingredient, on_delete=models.PROTECT, related_name="interactions_a", verbose_name=_("ingredient")
    )
    ingredient_b = models.ForeignKey(
        Ingredient,
        on_delete=models.PROTECT,
        related_name="interactions_b",
        verbose_name=_("other ingredient"),
    )
    level = models.CharField(_("level"), max_length=10, choices=Level.choices)
    source_text = CleanText(
        _("text of the source"),
        blank=True,
        longest=LONGEST_TEXT,
        help_text=_("For staff, never shown to customers."),
    )
    sources = CleanLine(_("sources"), max_length=200, blank=True)

    class Meta:
        verbose_name = _("interaction")
        verbose_name_plural = _("interactions")
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["ingredient_a", "ingredient_b"], name="interaction_once"),
            models.CheckConstraint(
                condition=Q(ingredient_a__lt=F("ingredient_b")), name="interaction_ingredients_in_order"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.ingredient_a} – {self.ingredient_b}"


# -- The search index: derived, rebuilt by inventory.search, never edited. -----------------------------------------


class SearchTerm(models.Model):
    """One distinct folded name; exact names are looked up in `compact`, parts of names in `folded`."""

    folded = models.CharField(max_length=FOLDED_LENGTH, unique=True)
    compact = models.CharField(max_length=FOLDED_LENGTH)

    class Meta:
        verbose_name = _("search term")
        verbose_name_plural = _("search terms")
        # Not db_index: that would add a second index on PostgreSQL, for prefixes, which nothing reads.
        indexes = [models.Index(fields=["compact"], name="search_term_compact")]

    def __str__(self) -> str:
        return self.folded


class MedicationTerm(models.Model):
    """That a medication is called so, and in which way (the strongest, if several)."""

    class Kind(models.IntegerChoices):
        NAME = 0, _("name")
        ALIAS = 1, _("alias")
        INGREDIENT = 2, _("ingredient")
        BRAND = 3, _("first word of a name")

    medication = models.ForeignKey(Medication, on_delete=models.CASCADE, related_name="terms")
    term = models.ForeignKey(SearchTerm, on_delete=models.CASCADE, related_name="uses", db_index=False)
    kind = models.PositiveSmallIntegerField(choices=Kind.choices)

    class Meta:
        verbose_name = _("term of a medication")
        verbose_name_plural = _("terms of medications")
        constraints = [
            models.UniqueConstraint(fields=["term", "medication"], name="medication_term_once"),
        ]

    def __str__(self) -> str:
        return str(self.get_kind_display())


class SearchWord(models.Model):
    """One distinct word (or whole name without blanks) that a typo may be meant for."""

    text = models.CharField(max_length=WORD_LENGTH)

    class Meta:
        verbose_name = _("search word")
        verbose_name_plural = _("search words")
        constraints = [models.UniqueConstraint(fields=["text"], name="search_word_once")]

    def __str__(self) -> str:
        return self.text


class WordDeletion(models.Model):
    """A word with one letter left out: two words one typo apart share one of these.

    Derived, read from the variant to the word only, and the largest table: neither a constraint nor an index from the
    word, which would make each deleted word a scan.
    """

    word = models.ForeignKey(
        SearchWord, on_delete=models.DO_NOTHING, related_name="deletions", db_index=False, db_constraint=False
    )
    variant = models.CharField(max_length=WORD_LENGTH)

    class Meta:
        verbose_name = _("deletion of a word")
        verbose_name_plural = _("deletions of words")
        indexes = [models.Index(fields=["variant", "word"], name="word_deletion_variant")]

    def __str__(self) -> str:
        return self.variant
