"""The staff's view of patients, hand-offs and the audit log; whoever looks at a patient is in that log."""

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.forms import BaseModelFormSet, ModelForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import action

from prescriptions import accounts_admin  # noqa: F401  (registering accounts is its import)
from prescriptions.audit import audit_record, audit_verify
from prescriptions.handoffs import handoff_close
from prescriptions.models import Allergy, AuditEvent, Handoff, Notification, Patient, Prescription


def _actor(request: HttpRequest) -> str:
    return f"user:{request.user.pk}"


def _key(row: Model) -> int | str:
    """A row's key as the audit log holds it."""
    return row.pk if isinstance(row.pk, int) else str(row.pk)


class ReadOnly(ModelAdmin):
    """Rows that nobody writes by hand."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class PatientData(ModelAdmin):
    """Rows about a patient: each page shown, and each one refused, is recorded."""

    def patient_of(self, row: Any) -> Patient | None:
        """Return the patient a row is about."""
        patient: Patient | None = row.patient
        return patient

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        response = self._seen(
            request, None, lambda: super(PatientData, self).changelist_view(request, extra_context)
        )
        if isinstance(response, TemplateResponse) and response.context_data and "cl" in response.context_data:
            ids = [_key(row) for row in response.context_data["cl"].result_list]
            self._record(request, "listed", detail={"rows": ids})
        return response

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        return self._seen(
            request,
            object_id,
            lambda: super(PatientData, self).changeform_view(request, object_id, form_url, extra_context),
        )

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return self._seen(
            request,
            object_id,
            lambda: super(PatientData, self).history_view(request, object_id, extra_context),
        )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        found: tuple[QuerySet[Any], bool] = super().get_search_results(request, queryset, search_term)
        if request.resolver_match and request.resolver_match.url_name == "autocomplete":
            self._record(request, "searched")
        return found

    def _seen(
        self, request: HttpRequest, object_id: str | None, show: Callable[[], HttpResponse]
    ) -> HttpResponse:
        try:
            response = show()
        except PermissionDenied:
            self._record(request, "refused")
            raise
        if object_id and (row := self.get_object(request, object_id)) is not None:
            verb = "viewed" if request.method == "GET" else "submitted"
            self._record(request, verb, patient=self.patient_of(row), detail={"row": _key(row)})
        return response

    def _record(
        self,
        request: HttpRequest,
        verb: str,
        patient: Patient | None = None,
        detail: dict[str, Any] | None = None,
    ) -> None:
        what = f"{self.opts.model_name}_{verb}"
        audit_record(who=_actor(request), what=what, where="admin", patient=patient, detail=detail)


class AllergyInline(TabularInline):
    """A patient's allergens, each an ingredient or a class."""

    model = Allergy
    extra = 0
    raw_id_fields = ["ingredient"]


@admin.register(Patient)
class PatientAdmin(PatientData):
    """Patients; clinical staff keep contacts and allergies, nobody adds or removes a patient by hand."""

    list_display = ["mrn", "name", "language", "allergy_status", "allergies_recorded_on"]
    list_filter = ["allergy_status", "language"]
    search_fields = ["mrn", "name_en", "name_he", "email", "phone"]
    fields = [
        "mrn",
        ("name_en", "name_he"),
        ("email", "phone"),
        ("born", "language"),
        ("allergy_status", "allergies_recorded_on"),
    ]
    readonly_fields = ["mrn"]
    inlines = [AllergyInline]

    def patient_of(self, row: Any) -> Patient:
        patient: Patient = row
        return patient

    def save_model(self, request: HttpRequest, obj: Any, form: "ModelForm[Any]", change: bool) -> None:
        super().save_model(request, obj, form, change)
        self._record(request, "edited", patient=obj, detail={"fields": list(form.changed_data)})

    def save_formset(
        self, request: HttpRequest, form: Any, formset: "BaseModelFormSet[Any, Any]", change: bool
    ) -> None:
        super().save_formset(request, form, formset, change)
        if formset.has_changed():
            self._record(request, "allergies_edited", patient=form.instance)


@admin.register(Prescription)
class PrescriptionAdmin(PatientData, ReadOnly):
    """Prescriptions as they are on file; their state is changed by refills, never by hand."""

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


@admin.register(Handoff)
class HandoffAdmin(PatientData):
    """Customers who were promised a person."""

    list_display = ["number", "state", "reason", "language", "patient", "created_at", "closed_at"]
    list_filter = ["state", "reason", "language"]
    list_select_related = ["patient"]
    search_fields = ["number", "conversation_id"]
    fields = [
        "number",
        "state",
        "reason",
        "language",
        "patient",
        "conversation",
        "summary",
        "created_at",
        "closed_at",
        "closed_by",
    ]
    readonly_fields = fields
    actions = ["close"]

    @admin.display(description=_("conversation"))
    def conversation(self, row: Handoff) -> str:
        """The way to the conversation, which may have been deleted meanwhile."""
        if row.conversation_id is None:
            return "-"
        url = reverse("admin:agent_conversation_change", args=[row.conversation_id])
        return format_html('<a href="{}">{}</a>', url, str(row.conversation_id)[:8])

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    @admin.action(description=_("Close the selected hand-offs"), permissions=["change"])
    def close(self, request: HttpRequest, queryset: QuerySet[Handoff]) -> None:
        """Close what is still open among the selected rows."""
        closed = sum(handoff_close(handoff=row, actor=_actor(request)) for row in queryset)
        text = ngettext("%(count)d hand-off closed.", "%(count)d hand-offs closed.", closed)
        self.message_user(request, text % {"count": closed}, messages.SUCCESS)


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnly):
    """The audit log, with a button that walks the chain."""

    list_display = ["number", "at", "who", "what", "where", "why", "patient_number"]
    list_filter = ["what", "where", "at"]
    search_fields = ["who", "what"]
    fields = ["number", "at", "who", "what", "where", "why", "how", "patient_number", "detail", "hash"]
    readonly_fields = fields
    actions_list: Sequence[str] = ["verify"]
    show_full_result_count = False

    @admin.display(description=_("patient"), ordering="patient_id")
    def patient_number(self, row: AuditEvent) -> int | None:
        """Return the patient's key: the log names nobody."""
        return row.patient_id

    @action(description=_("Check the chain"), permissions=["view"])  # type: ignore[untyped-decorator]
    def verify(self, request: HttpRequest) -> HttpResponse:
        """Walk the log and say whether it is as it was written."""
        found = audit_verify()
        if found is None:
            self.message_user(request, _("The audit log is as it was written."), messages.SUCCESS)
        else:
            text = _("The audit log is broken at line %(number)d.") % {"number": found.number}
            self.message_user(request, text, messages.ERROR)
        return redirect("admin:prescriptions_auditevent_changelist")


@admin.register(Notification)
class NotificationAdmin(ReadOnly):
    """What was sent to whom and when; never its text, which may hold a code."""

    list_display = ["id", "kind", "channel", "state", "attempts", "created_at", "sent_at"]
    list_filter = ["state", "kind"]
    fields = ["kind", "channel", "recipient", "language", "state", "attempts", "created_at", "sent_at"]
    readonly_fields = fields
