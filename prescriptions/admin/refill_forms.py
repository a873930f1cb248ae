"""The form by which staff request a refill for a patient, and the sentences of what is refused about refills."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from prescriptions.models import Patient, Prescription
from prescriptions.refill.collection import Pickup
from stores.models import Store

DELIVERY: Final = "delivery"


REFUSALS: Final[Mapping[str, Promise]] = {
    "no_such_decision": _("There is no such decision."),
    "not_waiting": _("This request no longer waits for a decision."),
    "role": _("Your group may not decide this request."),
    "own_request": _("Nobody decides a request of their own."),
    "new_prescription_needed": _("This needs a new prescription; no decision replaces it."),
    "fresh_sign_in_needed": _("For a controlled medicine, enter your password again first."),
    "reference_needed": _("Enter the reference of the insurer's authorisation."),
    "place_needed": _("The customer named no place. Choose where it is picked up."),
    "place_fixed": _("The customer named the place, and it has enough in stock. It is not changed here."),
    "place_stock": _("There is not enough in stock where you want it picked up."),
    "no_address": _("No delivery: the patient has no address on file."),
    "quantity": _("The quantity must be at least 1 and at most what was prescribed."),
    "order_out": _("The order was sent, and nobody knows yet what became of it. Its quantity is not changed now."),
    "too_late": _("It is too late to cancel: it is prepared already, or has ended."),
    "dispenser_unavailable": _("The dispenser does not answer, so the order cannot be taken back now. Try again later."),
    "not_preparing": _("This refill is not in preparation."),
    "not_ready": _("This refill is not marked as ready."),
    "at_handoff": _("This request waits at a hand-off: decide or close it there."),
    "changed": _("Somebody else changed this request meanwhile. This is how it is now."),
}  # fmt: skip
"""What staff read when a service refuses, by the code of RefillRefused."""


class PatientForm(forms.Form):
    """For whom a refill is requested."""

    mrn = forms.CharField(label=_("medical record number"), max_length=8, widget=UnfoldAdminTextInputWidget)


class RequestForm(forms.Form):
    """Which refill is requested for this patient; empty values are the prescription's."""

    # The same form sent twice is one request.
    key = forms.UUIDField(widget=forms.HiddenInput)
    mrn = forms.CharField(widget=forms.HiddenInput, max_length=8)
    prescription = forms.TypedChoiceField(label=_("prescription"), coerce=int, widget=UnfoldAdminSelectWidget)
    quantity = forms.IntegerField(
        label=_("quantity"), required=False, min_value=1, max_value=10_000, widget=UnfoldAdminIntegerFieldWidget,
        help_text=_("Empty: as prescribed."),
    )  # fmt: skip
    days_supply = forms.IntegerField(
        label=_("days of supply"), required=False, min_value=1, max_value=365, widget=UnfoldAdminIntegerFieldWidget,
        help_text=_("Empty: as prescribed."),
    )  # fmt: skip
    pickup = forms.ChoiceField(label=_("pick-up"), widget=UnfoldAdminSelectWidget)

    def __init__(
        self, patient: Patient, prescriptions: list[Prescription], *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        numbered = [(row.pk, f"{row.pk} · {row.medication} · {row.quantity}") for row in prescriptions]
        stores = place_choices(Store.objects.filter(is_active=True).order_by("pk"), bool(patient.address))
        if not patient.address:
            self.fields["pickup"].help_text = _("No delivery: the patient has no address on file.")
        self.fields["prescription"].choices = numbered  # type: ignore[attr-defined]
        self.fields["pickup"].choices = stores  # type: ignore[attr-defined]


def place_choices(stores: Iterable[Store], can_deliver: bool) -> list[tuple[str, str]]:
    """Return where a refill can be picked up, as a select has it."""
    choices = [(str(store.pk), str(store)) for store in stores]
    return [*choices, (DELIVERY, str(_("delivery to the address on file")))] if can_deliver else choices


def place_chosen(value: str | None) -> Pickup | None:
    """Return the place that was chosen in such a select; None when none was."""
    if not value:
        return None
    return Pickup(None if value == DELIVERY else Store.objects.get(pk=int(value)))
