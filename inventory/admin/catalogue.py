"""Edit medications, ingredients, categories and interactions in the admin; names have a tab for each language."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from modeltranslation.admin import TabbedTranslationAdmin, TranslationStackedInline
from unfold.admin import StackedInline, TabularInline

from inventory.admin.searching import SearchByName
from inventory.index import index_forget, index_rebuild
from inventory.models import (
    Category,
    CategoryAlias,
    Ingredient,
    IngredientAlias,
    Interaction,
    LeafletSection,
    Medication,
    MedicationAlias,
    MedicationIngredient,
)
from pharmacy_site.lib.admin import Recorded
from stores.admin_forms import NamesFormSet


class ContentsInline(TabularInline):
    model = MedicationIngredient
    fields = ["ingredient", "strength", "amount", "unit", "position"]
    autocomplete_fields = ["ingredient"]
    extra = 0
    tab = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows.select_related("ingredient")


class MedicationAliasInline(TabularInline):
    model = MedicationAlias
    formset = NamesFormSet
    fields = ["text", "language"]
    extra = 1
    tab = True


class LeafletInline(TranslationStackedInline[LeafletSection, Medication], StackedInline):
    model = LeafletSection
    fields = ["kind", "text", "source", "updated_on"]
    extra = 0
    tab = True


@admin.register(Medication)
class MedicationAdmin(SearchByName, Recorded, TabbedTranslationAdmin[Medication]):
    """Products with their aliases, ingredients and leaflet; saving one updates the search index."""

    list_display = [
        "name_en",
        "name_he",
        "form",
        "strength",
        "company",
        "rx_required",
        "schedule",
        "is_active",
    ]
    list_display_links = ["name_en", "name_he"]
    list_filter = ["rx_required", "schedule", "substitution", "category", "is_active"]
    list_per_page = 50
    show_full_result_count = False
    fieldsets = [
        (None, {"fields": ["name", "generic_name", "category", "is_active"]}),
        (_("Product"), {"fields": [("form", "release", "strength"), ("pack_size", "pack_unit"), "price"]}),
        (_("Register"), {"fields": [("external_id", "company")]}),
        (
            _("Rules"),
            {
                "fields": [
                    ("rx_required", "schedule"),
                    "substitution",
                    ("prior_authorization", "acute_antibiotic"),
                ]
            },
        ),
    ]
    inlines = [ContentsInline, MedicationAliasInline, LeafletInline]

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Save the inlines, then index the product again."""
        super().save_related(request, form, formsets, change)
        index_rebuild([form.instance.pk])

    def delete_model(self, request: HttpRequest, obj: Medication) -> None:
        index_forget([obj.pk])
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Medication]) -> None:
        index_forget(queryset.values_list("pk", flat=True))
        super().delete_queryset(request, queryset)


class IngredientAliasInline(TabularInline):
    model = IngredientAlias
    formset = NamesFormSet
    fields = ["text"]
    extra = 1


@admin.register(Ingredient)
class IngredientAdmin(Recorded, TabbedTranslationAdmin[Ingredient]):
    """Ingredients with their other names; saving one updates the search index of every product that contains it."""

    list_display = ["key", "name_en", "name_he", "classes", "assessed"]
    list_filter = ["assessed"]
    list_per_page = 50
    search_fields = ["key", "name_en", "name_he", "aliases__text"]
    inlines = [IngredientAliasInline]

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Save the aliases, then index the products with this ingredient again."""
        super().save_related(request, form, formsets, change)
        index_rebuild(
            Medication.objects.filter(contents__ingredient=form.instance).values_list("pk", flat=True)
        )


class CategoryAliasInline(TabularInline):
    model = CategoryAlias
    formset = NamesFormSet
    fields = ["text"]
    extra = 1


@admin.register(Category)
class CategoryAdmin(Recorded, TabbedTranslationAdmin[Category]):
    """Categories with the names that customers use for them."""

    list_display = ["name_en", "name_he", "slug", "products"]
    list_display_links = ["name_en", "name_he"]
    search_fields = ["slug", "name_en", "name_he", "aliases__text"]
    prepopulated_fields = {"slug": ("name",)}
    inlines = [CategoryAliasInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        counted: QuerySet[Any] = rows.annotate(_products=Count("medications"))
        return counted

    @admin.display(description=_("products"), ordering="_products")
    def products(self, category: Any) -> int:
        return int(category._products)


class InteractionForm(forms.ModelForm):  # type: ignore[type-arg]
    """Form for a pair in any order; it is stored with the lower id first, so that it can exist only once."""

    class Meta:
        model = Interaction
        fields = ["ingredient_a", "ingredient_b", "level", "source_text", "sources"]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        first, second = cleaned.get("ingredient_a"), cleaned.get("ingredient_b")
        if first and second:
            if first == second:
                raise forms.ValidationError(_("An interaction is between two different ingredients."))
            if first.pk > second.pk:
                cleaned["ingredient_a"], cleaned["ingredient_b"] = second, first
        return cleaned


@admin.register(Interaction)
class InteractionAdmin(Recorded):
    """Interactions between pairs of ingredients."""

    form = InteractionForm
    list_display = ["ingredient_a", "ingredient_b", "level", "sources"]
    list_display_links = ["ingredient_a", "ingredient_b"]
    list_filter = ["level"]
    list_select_related = ["ingredient_a", "ingredient_b"]
    list_per_page = 50
    search_fields = [
        f"{side}__{name}"
        for side in ("ingredient_a", "ingredient_b")
        for name in ("key", "name_en", "name_he")
    ]
    autocomplete_fields = ["ingredient_a", "ingredient_b"]
