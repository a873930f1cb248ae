"""Show refill requests to staff, and let them mark what is prepared, cancel, and request one for a patient.

What waits for a decision is decided on the page of its hand-off (`prescriptions/admin/handoffs.py`).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import uuid4

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.timesince import timesince
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from pharmacy_site.lib.admin import ReadOnly, actor_of
from pharmacy_site.lib.text import Language, as_language
from prescriptions.admin.base import PatientData
from prescriptions.admin.refill_filters import ReasonFilter, StatusFilter
from prescriptions.admin.refill_forms import REFUSALS, PatientForm, RequestForm, place_chosen
from prescriptions.audit import Access
from prescriptions.cases.refill_page import contact_shown, refill_page, status_shown
from prescriptions.errors import (
    DeliveryAddressMissing,
    PatientNotFound,
    PrescriptionNotFound,
    RefillAlreadyOpen,
    RefillChangedMeanwhile,
    RefillRefused,
)
from prescriptions.models import Patient, RefillRequest
from prescriptions.refill import services
from prescriptions.refill.selectors import status_of
from prescriptions.refill.wording import reason_text
from prescriptions.selectors import patient_get, prescriptions_for

_DECIDE: Final = "prescriptions.decide_refillrequest"
_FULFIL: Final = "prescriptions.fulfil_refillrequest"
_FOLDER: Final = "admin/prescriptions/refillrequest"
_Outcome, _Fulfilment = RefillRequest.Outcome, RefillRequest.Fulfilment
_FULFIL_BY: Final[Mapping[str, Callable[..., RefillRequest]]] = {
    "ready": services.refill_ready,
    "collected": services.refill_collected,
    "returned": services.refill_returned,
}


@admin.register(RefillRequest)
class RefillRequestAdmin(PatientData, ReadOnly):
    """Refill requests; their rows are changed by services only. Who may not see patients sees what is prepared."""

    list_display = [
        *("number_shown", "patient_number", "medicine", "status", "reason_shown", "contact_shown", "age"),
    ]
    list_filter = [StatusFilter, ReasonFilter]
    list_select_related = ["patient", "prescription__medication", "contact_person", "store", "handoff"]
    search_fields = ["number", "=patient__mrn"]
    ordering = ["-pk"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[RefillRequest]:
        rows: QuerySet[RefillRequest] = super().get_queryset(request)
        rows = rows.select_related(*self.list_select_related)
        return rows if _sees_patients(request) else rows.filter(outcome=_Outcome.DISPENSED)

    @admin.display(description=_("number"), ordering="pk")
    def number_shown(self, row: RefillRequest) -> str:
        return row.number

    @admin.display(description=_("patient"), ordering="patient__mrn")
    def patient_number(self, row: RefillRequest) -> str:
        """Return the number: a list shows no names."""
        return row.patient.mrn

    @admin.display(description=_("medication"), ordering="prescription__medication")
    def medicine(self, row: RefillRequest) -> str:
        return str(row.prescription.medication)

    @admin.display(description=_("status"))
    def status(self, row: RefillRequest) -> str:
        return status_shown(row, _language())

    @admin.display(description=_("reason"), ordering="reason")
    def reason_shown(self, row: RefillRequest) -> str:
        return reason_text(row.reason, _language())

    @admin.display(description=_("contact"), ordering="contact")
    def contact_shown(self, row: RefillRequest) -> str:
        return contact_shown(row, _language())

    @admin.display(description=_("age"), ordering="requested_at")
    def age(self, row: RefillRequest) -> str:
        """Return how long ago it was requested."""
        return timesince(row.requested_at, depth=1)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("prescriptions.add_refillrequest")

    # -- One request -------------------------------------------------------------------------------------------
    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show one request with what the reader may do about it, or do it; both are recorded."""
        return self._shown(request, object_id, lambda: self._one(request, object_id))

    def _one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        row = self.get_object(request, object_id)
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        if row is None:
            missing: HttpResponse = self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
            return missing
        if request.method == "POST":
            self._act(request, row, str(request.POST.get("act", "")))
            return redirect(request.path)
        sees_patients = _sees_patients(request)
        page = refill_page(row, _language(), with_patient=sees_patients)
        if page.address and not sees_patients:
            self._record(request, "address_viewed", patient=row.patient, detail={"row": row.pk})
        context = {
            "page": page,
            "acts": _acts(request, row),
            "sees_patients": sees_patients,
            "handoff": row.handoff if sees_patients else None,
            "waits": sees_patients and _is_at_handoff(row),
        }
        return self._rendered(request, "page", row.number, {**context, "original": row})

    def _act(self, request: HttpRequest, row: RefillRequest, act: str) -> None:
        """Call the service and tell what became of it."""
        if not request.user.has_perm(_FULFIL if act in _FULFIL_BY else _DECIDE):
            raise PermissionDenied
        access = Access(who=actor_of(request), where="admin")
        try:
            if act in _FULFIL_BY:
                _FULFIL_BY[act](row, access=access)
                self.message_user(request, _("Recorded."), messages.SUCCESS)
            elif act == "cancel" and _is_at_handoff(row):
                self._refused(request, row, "at_handoff")
            elif act == "cancel":
                services.refill_cancel(row, access=access)
                self.message_user(request, _("The request was cancelled."), messages.SUCCESS)
        except RefillRefused as refusal:
            self._refused(request, row, refusal.code)
        except RefillChangedMeanwhile:
            self._refused(request, row, "changed")

    def _refused(self, request: HttpRequest, row: RefillRequest, code: str) -> None:
        text = REFUSALS.get(code, REFUSALS["changed"])
        self.message_user(request, text, messages.ERROR)
        self._record(request, "refused", patient=row.patient, detail={"row": row.pk, "code": code})

    # -- A request for a patient -------------------------------------------------------------------------------
    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Ask for the patient, then for the refill, and request it in the name of whoever fills the form."""
        if not self.has_add_permission(request):
            self._record(request, "refused")
            raise PermissionDenied
        access = Access(who=actor_of(request), where="admin")
        patients = PatientForm(request.POST or None)
        form = patient = None
        if request.method == "POST" and patients.is_valid():
            try:
                patient = patient_get(patients.cleaned_data["mrn"].strip(), access=access)
            except PatientNotFound:
                patients.add_error("mrn", _("There is no such patient."))
            else:
                prescriptions = prescriptions_for(patient, access=access)
                is_sent = "prescription" in request.POST
                initial = {"mrn": patient.mrn, "key": uuid4()}
                form = RequestForm(patient, prescriptions, request.POST if is_sent else None, initial=initial)
                if is_sent and form.is_valid() and (made := self._submitted(form, patient, access)):
                    return redirect("admin:prescriptions_refillrequest_change", made.pk)
        context = {"patients": patients, "form": form, "patient": patient, "add": True}
        return self._rendered(request, "request", _("Request a refill for a patient"), context)

    def _submitted(self, form: RequestForm, patient: Patient, access: Access) -> RefillRequest | None:
        values = form.cleaned_data
        place = place_chosen(values["pickup"])
        try:
            return services.refill_submit(
                patient=patient,
                prescription_id=values["prescription"],
                store=place.store if place else None,
                access=access,
                language=as_language(patient.language),
                quantity=values["quantity"],
                days_supply=values["days_supply"],
                submit_key=f"{access.who}:{values['key']}",
            )
        except RefillAlreadyOpen as refusal:
            text = _("A refill of this prescription is already requested: %(number)s.")
            form.add_error("prescription", text % {"number": refusal.number})
        except PrescriptionNotFound:
            form.add_error("prescription", _("There is no such prescription of this patient."))
        except DeliveryAddressMissing:
            form.add_error("pickup", _("No delivery: the patient has no address on file."))
        return None

    def _rendered(
        self, request: HttpRequest, name: str, title: Any, context: Mapping[str, Any]
    ) -> HttpResponse:
        whole = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": title,
            "media": self.media,
            "has_view_permission": True,
            "list_url": reverse("admin:prescriptions_refillrequest_changelist"),
            **context,
        }
        return TemplateResponse(request, f"{_FOLDER}/{name}.html", whole)


def _language() -> Language:
    return as_language(get_language() or "en")


def _sees_patients(request: HttpRequest) -> bool:
    return request.user.has_perm("prescriptions.view_patient")


def _is_at_handoff(row: RefillRequest) -> bool:
    """Return whether the request waits at an open hand-off, where whoever has claimed it decides."""
    return row.outcome is None and row.handoff is not None and not row.handoff.is_over


def _acts(request: HttpRequest, row: RefillRequest) -> list[tuple[str, Any]]:
    """Return what may be done with the packs now, with the buttons' texts."""
    found: list[tuple[str, Any]] = []
    status = status_of(row)
    if request.user.has_perm(_FULFIL):
        if status == "preparing":
            found.append(("ready", _("Mark as ready")))
        if status == "ready":
            found += [("collected", _("Mark as collected")), ("returned", _("Put back: not collected"))]
    can_cancel = request.user.has_perm(_DECIDE) and not _is_at_handoff(row)
    if can_cancel and (row.outcome is None or status == "preparing"):
        found.append(("cancel", _("Cancel the request")))
    return found
