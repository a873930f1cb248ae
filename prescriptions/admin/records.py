"""Show the audit log, which is read-only: names, roles, record numbers and plain words; who saw a patient; export."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action

from pharmacy_site.lib.admin import ReadOnly, actor_of
from prescriptions.admin.base import PatientData
from prescriptions.audit import AuditDetail, audit_record
from prescriptions.audit.reading import exported, lines_about
from prescriptions.audit.watching import audit_check
from prescriptions.audit.wording import Worded, worded
from prescriptions.models import AuditEvent, Patient


class AboutPatient(admin.SimpleListFilter):
    """Only lines about one patient, whose page has a button for it."""

    title = _("patient")
    parameter_name = "patient"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """Return the patient that is asked for; nobody else is offered."""
        asked = request.GET.get(self.parameter_name, "")
        patient = Patient.objects.filter(pk=int(asked)).first() if asked.isdecimal() else None
        return [(asked, patient.mrn)] if patient else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[AuditEvent]) -> QuerySet[AuditEvent]:
        """Keep the lines about the patient."""
        value = self.value()
        return lines_about(queryset, int(value)) if value and value.isdecimal() else queryset


@admin.register(AuditEvent)
class AuditEventAdmin(PatientData, ReadOnly):
    """The audit log; each look at it is a line, too."""

    list_display = ["number", "at", "who_shown", "role_shown", "what_shown", "where", "mrn_shown"]
    list_filter = [AboutPatient, "what", "where", "at"]
    search_fields = ["who", "what"]
    fields = [
        *("number", "at", "who_shown", "role_shown", "who", "what_shown", "what"),
        *("where", "why", "how", "mrn_shown", "detail", "key_id", "hash"),
    ]
    readonly_fields = fields
    actions = ["export"]
    actions_list: Sequence[str] = ["verify"]
    show_full_result_count = False

    def patient_of(self, row: Any) -> Patient | None:
        """Return the patient, unless they were erased."""
        return Patient.objects.filter(pk=row.patient_id).first() if row.patient_id else None

    def _listed(self, rows: Iterable[Any]) -> AuditDetail:
        found = list(rows)
        patients = {row.patient_id for row in found if row.patient_id is not None}
        return {"rows": [row.pk for row in found], "patients": sorted(patients)}

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the lines, each with its words."""
        response = super().changelist_view(request, extra_context)
        if isinstance(response, TemplateResponse) and response.context_data and "cl" in response.context_data:
            rows = response.context_data["cl"].result_list
            for row, words in zip(rows, worded(rows).values(), strict=True):
                row.words = words
        return response

    @admin.display(description=_("who"), ordering="who")
    def who_shown(self, row: AuditEvent) -> str:
        """Return the name of a member of staff, or what kind of caller it was."""
        return _words(row).who

    @admin.display(description=_("role today"))
    def role_shown(self, row: AuditEvent) -> str:
        return _words(row).role

    @admin.display(description=_("what"), ordering="what")
    def what_shown(self, row: AuditEvent) -> str:
        return _words(row).what

    @admin.display(description=_("record number"), ordering="patient_id")
    def mrn_shown(self, row: AuditEvent) -> str:
        """Return the patient's record number; names are on the patient's page."""
        return _words(row).mrn

    @admin.action(description=_("Export the selected lines (CSV)"), permissions=["view"])
    def export(self, request: HttpRequest, queryset: QuerySet[AuditEvent]) -> HttpResponse:
        """Return the lines as a file, and record that they were exported."""
        numbers = list(queryset.order_by("number").values_list("number", flat=True))
        asked = request.GET.get("patient", "")
        patient = Patient.objects.filter(pk=int(asked)).first() if asked.isdecimal() else None
        audit_record(
            who=actor_of(request),
            what="auditevent_exported",
            where="admin",
            patient=patient,
            detail={"lines": len(numbers), "first": numbers[0], "last": numbers[-1]} if numbers else {},
        )
        # Not streamed: ASGI would gather the pieces of a synchronous one as well.
        response = HttpResponse(exported(queryset), content_type="text/csv; charset=utf-8")
        name = f"audit-{timezone.now():%Y%m%dT%H%M%SZ}.csv"
        response["Content-Disposition"] = f'attachment; filename="{name}"'
        return response

    @action(description=_("Check the log"), permissions=["view"])  # type: ignore[untyped-decorator]
    def verify(self, request: HttpRequest) -> HttpResponse:
        """Verify chain, head and anchors, and report the first broken line, if there is one."""
        broken = audit_check()
        if broken is None:
            self.message_user(request, _("The audit log is as it was written."), messages.SUCCESS)
        else:
            text = _("The audit log is broken at line %(number)d.") % {"number": broken.number}
            self.message_user(request, f"{text} ({broken.kind})", messages.ERROR)
        return redirect("admin:prescriptions_auditevent_changelist")


def _words(row: Any) -> Worded:
    if not hasattr(row, "words"):
        row.words = worded([row])[row.pk]
    found: Worded = row.words
    return found
