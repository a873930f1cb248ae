"""Show patients and prescriptions to clinical staff."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.forms import BaseModelFormSet, ModelForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _
from unfold.admin import TabularInline
from unfold.decorators import action

from pharmacy_site.lib.admin import ReadOnly
from prescriptions.admin.base import PatientData
from prescriptions.models import Allergy, Patient, Prescription


class AllergyInline(TabularInline):
    """A patient's allergens, each an ingredient or a class of ingredients."""

    model = Allergy
    extra = 0
    raw_id_fields = ["ingredient"]


@admin.register(Patient)
class PatientAdmin(PatientData):
    """Patients; clinical staff edit contacts and allergies, nobody adds or removes a patient by hand."""

    list_display = ["mrn", "name", "language", "allergy_status", "allergies_recorded_on"]
    list_filter = ["allergy_status", "language"]
    search_fields = ["mrn", "name_en", "name_he", "email", "phone"]
    fields = [
        "mrn",
        ("name_en", "name_he"),
        ("email", "phone"),
        "address",
        ("born", "language"),
        ("allergy_status", "allergies_recorded_on"),
    ]
    readonly_fields = ["mrn"]
    inlines = [AllergyInline]
    actions_detail: Sequence[str] = ["who_saw"]

    def has_who_saw_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        """Return whether somebody reads the audit log."""
        return request.user.has_perm("prescriptions.view_auditevent")

    @action(description=_("Who saw this patient"), permissions=["who_saw"])  # type: ignore[untyped-decorator]
    def who_saw(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Go to the lines of the audit log about this patient."""
        address = reverse("admin:prescriptions_auditevent_changelist")
        return redirect(f"{address}?{urlencode({'patient': object_id})}")

    def patient_of(self, row: Any) -> Patient:
        patient: Patient = row
        return patient

    def save_model(self, request: HttpRequest, obj: Any, form: "ModelForm[Any]", change: bool) -> None:
        """Save the patient and record which fields were edited."""
        super().save_model(request, obj, form, change)
        self._record(request, "edited", patient=obj, detail={"fields": list(form.changed_data)})

    def save_formset(
        self, request: HttpRequest, form: Any, formset: "BaseModelFormSet[Any, Any]", change: bool
    ) -> None:
        """Save the allergies and record that they were edited."""
        super().save_formset(request, form, formset, change)
        if formset.has_changed():
            self._record(request, "allergies_edited", patient=form.instance)


@admin.register(Prescription)
class PrescriptionAdmin(PatientData, ReadOnly):
    """Prescriptions on file; refills change their state, staff never do by hand."""

    list_display = ["id", "patient", "medication", "refills_left", "status", "issued_on", "expires_on"]
    list_filter = ["status", "expires_on"]
    list_select_related = ["patient", "medication"]
    search_fields = ["=id", "=patient__mrn", "medication__name_en", "medication__name_he"]
    fields = [
        "patient",
        "medication",
        ("status", "refills_left"),
        ("directions_en", "directions_he"),
        ("quantity", "days_supply", "last_filled_on"),
        ("prescriber", "issued_on", "expires_on"),
    ]
