"""Edit stock by store in the admin: every change is a movement, and nobody overwrites a change they have not seen."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin

from inventory.admin.searching import SearchByName
from inventory.errors import StockChangedMeanwhile
from inventory.models import StockLevel, StockMove
from inventory.services import MOST_PACKS, stock_set
from pharmacy_site.lib.admin import ReadOnly, actor_of


class AvailabilityFilter(admin.SimpleListFilter):
    """Filter by out of stock, low, or neither."""

    title = _("availability")
    parameter_name = "availability"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        return [("out", _("out of stock")), ("low", _("low")), ("enough", _("enough"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        match self.value():
            case "out":
                return queryset.filter(quantity=0)
            case "low":
                return queryset.filter(quantity__gt=0, quantity__lte=F("low_threshold"))
            case "enough":
                return queryset.filter(quantity__gt=F("low_threshold"))
        return queryset


class StockForm(forms.ModelForm):  # type: ignore[type-arg]
    """Form for a level; the version that the user saw is posted with it, under the row's number."""

    class Meta:
        model = StockLevel
        fields = ["store", "medication", "quantity", "restock_on", "low_threshold"]

    def clean_quantity(self) -> int:
        quantity: int = self.cleaned_data["quantity"]
        if quantity > MOST_PACKS:
            raise forms.ValidationError(_("That is more than any store holds."))
        return quantity

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if self.instance.pk and "quantity" in self.changed_data:
            seen = self.data.get(f"seen-{self.instance.pk}", "")
            if seen != str(self.instance.version):
                # The instance was read for this request and does not have the typed quantity yet.
                self.add_error("quantity", _changed_meanwhile(self.instance.quantity))
        return cleaned


@admin.register(StockLevel)
class StockLevelAdmin(SearchByName, ModelAdmin):
    """Stock levels, edited in the list: choose a store in the filter, type the counts, save."""

    medication_column = "medication"
    form = StockForm
    list_display = ["medication", "store", "state", "quantity", "restock_on", "low_threshold", "updated_at"]
    list_editable = ["quantity", "restock_on", "low_threshold"]
    list_filter = ["store", AvailabilityFilter]
    list_select_related = ["store", "medication"]
    list_per_page = 50
    show_full_result_count = False
    ordering = ["store", "medication"]
    autocomplete_fields = ["store", "medication"]
    fields = ["store", "medication", "state", "quantity", "restock_on", "low_threshold", "updated_at"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["state", "updated_at", *(["store", "medication"] if obj else [])]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse: a product that a store no longer carries has 0 packs, and its movements stay."""
        return False

    def get_changelist_form(self, request: HttpRequest, **kwargs: Any) -> Any:
        return super().get_changelist_form(request, **{"form": StockForm, **kwargs})

    @admin.display(description=_("state"))
    def state(self, level: StockLevel) -> SafeString:
        """Return "out of stock", "low" or nothing, with a hidden field for the version that the user sees."""
        if not level.pk:
            return SafeString("–")
        word = gettext("out of stock") if level.quantity == 0 else ""
        if 0 < level.quantity <= level.low_threshold:
            word = gettext("low")
        return format_html('<input type="hidden" name="seen-{}" value="{}">{}', level.pk, level.version, word)

    def save_model(self, request: HttpRequest, obj: StockLevel, form: Any, change: bool) -> None:
        """Change the quantity through the service, which writes a movement; dates and thresholds need none."""
        quantity = form.cleaned_data.get("quantity", obj.quantity)
        if not change or "quantity" in form.changed_data:
            seen = int(request.POST[f"seen-{obj.pk}"]) if change else None
            try:
                level = stock_set(
                    store=obj.store,
                    medication=obj.medication,
                    quantity=quantity,
                    actor=actor_of(request),
                    reason=StockMove.Reason.COUNT,
                    expected_version=seen,
                )
            except StockChangedMeanwhile as changed:
                # Between the check of the form and now.
                self.message_user(request, _changed_meanwhile(changed.current.quantity), messages.ERROR)
                return
            obj.pk, obj.version, obj.quantity = level.pk, level.version, level.quantity
            obj._state.adding = False
        StockLevel.objects.filter(pk=obj.pk).update(
            restock_on=form.cleaned_data.get("restock_on"), low_threshold=form.cleaned_data["low_threshold"]
        )


@admin.register(StockMove)
class StockMoveAdmin(SearchByName, ReadOnly):
    """Stock movements; read-only here, and the database refuses changes as well."""

    medication_column = "medication"
    list_display = ["at", "store", "medication", "delta", "quantity_after", "reason", "actor", "note"]
    list_display_links = ["at"]
    list_filter = ["store", "reason"]
    list_select_related = ["store", "medication"]
    list_per_page = 50
    show_full_result_count = False


def _changed_meanwhile(packs: int) -> str:
    return gettext("Changed meanwhile: there are %(packs)d packs now. Yours was not saved; look again.") % {
        "packs": packs
    }
