"""Define active ingredients, their other names, and the interactions on file between two of them."""

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from inventory.models.lengths import FOLDED_LENGTH, NAME_LENGTH
from pharmacy_site.lib.fields import LONGEST_TEXT, CleanLine, CleanText
from pharmacy_site.lib.text import compact


class Ingredient(models.Model):
    """An active ingredient; interactions and allergies refer to ingredients, never to brands."""

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
    """Another name of an ingredient, or a salt of it (acetaminophen = paracetamol)."""

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
        """Refuse a name that already belongs to an ingredient, with a message instead of a constraint error."""
        folded = compact(self.text)[:FOLDED_LENGTH]
        if IngredientAlias.objects.filter(folded=folded).exclude(pk=self.pk).exists():
            raise ValidationError({"text": _("This name already belongs to an ingredient.")})

    def save(self, *args: object, **kwargs: object) -> None:
        """Store the alias together with its folded form."""
        self.folded = compact(self.text)[:FOLDED_LENGTH]
        super().save(*args, **kwargs)  # type: ignore[arg-type]


class Interaction(models.Model):
    """An interaction on file between two ingredients; the lower id is always `ingredient_a`."""

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
