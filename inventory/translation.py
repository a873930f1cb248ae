"""Declare which fields of the inventory exist in each language."""

from modeltranslation.translator import TranslationOptions, register

from inventory.models import Category, Ingredient, LeafletSection, Medication


@register(Category)
class CategoryTranslation(TranslationOptions):
    """A category's name."""

    fields = ("name",)


@register(Ingredient)
class IngredientTranslation(TranslationOptions):
    """An ingredient's name, and how it is shown to customers."""

    fields = ("name", "display")


@register(Medication)
class MedicationTranslation(TranslationOptions):
    """A product's name and its generic name."""

    fields = ("name", "generic_name")


@register(LeafletSection)
class LeafletSectionTranslation(TranslationOptions):
    """A leaflet section's text and its source."""

    fields = ("text", "source")
