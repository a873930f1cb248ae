"""Edit stores and localities in the admin; names have a tab for each language."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from modeltranslation.admin import TabbedTranslationAdmin, TranslationTabularInline
from unfold.admin import TabularInline

from pharmacy_site.lib.admin import Recorded
from stores.admin_forms import NamesFormSet
from stores.models import (
    Locality,
    LocalityName,
    OpeningException,
    OpeningHours,
    SiteAnswer,
    Store,
    StoreAlias,
)


class NamesInline(TabularInline):
    """Names that staff added; the model itself maintains those that follow from the official name."""

    formset = NamesFormSet
    fields = ["text"]
    extra = 1
    tab = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows.filter(derived=False)


class LocalityNameInline(NamesInline):
    model = LocalityName


class StoreAliasInline(NamesInline):
    model = StoreAlias


class OpeningHoursInline(TabularInline):
    model = OpeningHours
    extra = 0
    tab = True


class OpeningExceptionInline(TranslationTabularInline[OpeningException, Store], TabularInline):
    model = OpeningException
    fields = ["date", "closed", "opens", "closes", "note"]
    ordering = ["-date", "opens"]
    extra = 0
    tab = True


@admin.register(Locality)
class LocalityAdmin(Recorded, TabbedTranslationAdmin[Locality]):
    """Towns that customers name."""

    list_display = ["name_en", "name_he", "country", "is_prominent"]
    list_display_links = ["name_en", "name_he"]
    list_filter = ["is_prominent", "country"]
    search_fields = ["slug", "name_en", "name_he"]
    prepopulated_fields = {"slug": ("name",)}
    inlines = [LocalityNameInline]


@admin.register(Store)
class StoreAdmin(Recorded, TabbedTranslationAdmin[Store]):
    """Branches and the online store, with their hours."""

    list_display = ["id", "name_en", "name_he", "kind", "locality", "phone", "is_active"]
    list_display_links = ["id", "name_en", "name_he"]
    list_filter = ["kind", "is_active"]
    list_select_related = ["locality"]
    search_fields = ["=id", "name_en", "name_he", "address_en", "address_he"]
    autocomplete_fields = ["locality"]
    fieldsets = [
        (None, {"fields": ["id", "name", "kind", "is_active"]}),
        (_("Place"), {"fields": ["locality", "address", "lat", "lng", "phone"]}),
    ]
    inlines = [StoreAliasInline, OpeningHoursInline, OpeningExceptionInline]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """Make the number read-only once it is saved: stock, movements and hand-offs refer to it."""
        return [*super().get_readonly_fields(request, obj), *(["id"] if obj else [])]


@admin.register(SiteAnswer)
class SiteAnswerAdmin(Recorded, TabbedTranslationAdmin[SiteAnswer]):
    """What customers are told about parking, deliveries and the like; the subjects are those that the chat recognises."""

    list_display = ["topic_shown", "text_en", "text_he", "offer"]
    fields = ["topic", "text", "offer"]
    readonly_fields = ["topic"]

    @admin.display(description=_("subject"), ordering="topic")
    def topic_shown(self, answer: SiteAnswer) -> str:
        """Return the subject in the reader's language."""
        return str(answer)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return False: each subject has its one answer already."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: without the row customers would get no answer on its subject."""
        return False
