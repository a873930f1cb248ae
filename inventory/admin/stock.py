"""Edit stock by store in the admin: every change is a movement, and nobody overwrites a change they have not seen."""

from collections.abc import Callable, Iterable
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from inventory.admin.searching import SearchByName
from inventory.errors import StockChangedMeanwhile
from inventory.models import StockLevel, StockMove
from inventory.services import MOST_PACKS, Shelf, stock_set
from pharmacy_site.lib.admin import ReadOnly, Recorded, actor_of


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
    """Form for a level; the version of the whole row that the user saw is posted with it, under the row's number."""

    class Meta:
        model = StockLevel
        fields = ["store", "medication", "quantity", "restock_on", "low_threshold"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # What counts as changed is what the person changed, also when somebody else stored the same number meanwhile.
        for name in ("quantity", "restock_on", "low_threshold"):
            if name in self.fields:
                self.fields[name].show_hidden_initial = True

    def clean_quantity(self) -> int:
        quantity: int = self.cleaned_data["quantity"]
        if quantity > MOST_PACKS:
            raise forms.ValidationError(_("That is more than any store holds."))
        return quantity

    def clean(self) -> dict[str, Any]:
        """Refuse any change of a row that somebody else changed after this person saw it."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if self.instance.pk and self.changed_data:
            seen = self.data.get(f"seen-{self.instance.pk}", "")
            current = StockLevel.objects.get(pk=self.instance.pk)
            if seen != str(current.version):
                self.add_error("quantity", _changed_meanwhile(current))
        return cleaned


@admin.register(StockLevel)
class StockLevelAdmin(SearchByName, Recorded):
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

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return self._refused_whole(
            lambda: super(StockLevelAdmin, self).changelist_view(request, extra_context)
        )

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        return self._refused_whole(
            lambda: super(StockLevelAdmin, self).changeform_view(request, object_id, form_url, extra_context)
        )

    def save_model(self, request: HttpRequest, obj: StockLevel, form: Any, change: bool) -> None:
        """Save the whole row through the service, under the version that was seen. Raises StockChangedMeanwhile."""
        stored = stock_set(
            store=obj.store,
            medication=obj.medication,
            quantity=form.cleaned_data.get("quantity", obj.quantity),
            actor=actor_of(request),
            reason=StockMove.Reason.COUNT,
            expected_version=int(request.POST[f"seen-{obj.pk}"]) if change else None,
            shelf=Shelf(form.cleaned_data.get("restock_on"), form.cleaned_data["low_threshold"]),
        )
        obj.pk, obj.version, obj.quantity = stored.pk, stored.version, stored.quantity
        obj._state.adding = False

    @staticmethod
    def _refused_whole(show: Callable[[], HttpResponse]) -> HttpResponse:
        """Show a page whose save lost against another one once more: its form then says what changed, and nothing else.

        The save came between the check of the form and the UPDATE, and was undone with its lines in the logs.
        """
        try:
            return show()
        except StockChangedMeanwhile:
            return show()


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


def _changed_meanwhile(level: StockLevel) -> str:
    found = {"packs": level.quantity, "low": level.low_threshold}
    if level.restock_on is None:
        return (
            gettext(
                "Changed meanwhile: there are %(packs)d packs now, low at %(low)d. Yours was not saved; look again."
            )
            % found
        )
    return gettext(
        "Changed meanwhile: there are %(packs)d packs now, low at %(low)d, more expected on %(day)s. "
        "Yours was not saved; look again."
    ) % {**found, "day": date_format(level.restock_on, "SHORT_DATE_FORMAT")}
