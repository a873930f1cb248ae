"""Record every look at patient data: the base class of all admin pages that show it."""

from collections.abc import Callable, Iterable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.admin import ModelAdmin

from pharmacy_site.lib.admin import actor_of
from prescriptions.audit import AuditDetail, audit_record
from prescriptions.models import Patient


class PatientData(ModelAdmin):
    """Admin of a table about patients: each page shown, and each page refused, is one line of the audit log."""

    def patient_of(self, row: Any) -> Patient | None:
        """Return the patient whom a row is about."""
        patient: Patient | None = row.patient
        return patient

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the list and record which rows were listed."""
        response = self._shown(
            request, None, lambda: super(PatientData, self).changelist_view(request, extra_context)
        )
        if isinstance(response, TemplateResponse) and response.context_data and "cl" in response.context_data:
            rows = list(response.context_data["cl"].result_list)
            self._record(request, "listed", detail=self._listed(rows))
        return response

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show or submit one row's form and record it."""
        return self._shown(
            request,
            object_id,
            lambda: super(PatientData, self).changeform_view(request, object_id, form_url, extra_context),
        )

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show one row's history and record it."""
        return self._shown(
            request,
            object_id,
            lambda: super(PatientData, self).history_view(request, object_id, extra_context),
        )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search, and record a search of the autocomplete fields: its results are shown on no page of ours."""
        result: tuple[QuerySet[Any], bool] = super().get_search_results(request, queryset, search_term)
        if request.resolver_match and request.resolver_match.url_name == "autocomplete":
            self._record(request, "searched")
        return result

    def _listed(self, rows: Iterable[Any]) -> AuditDetail:
        """Return the keys of rows that a page lists, and of the patients whom they are about."""
        found = list(rows)
        patients = {patient.pk for row in found if (patient := self.patient_of(row)) is not None}
        return {"rows": [_key(row) for row in found], "patients": sorted(patients)}

    def _shown(
        self, request: HttpRequest, object_id: str | None, show: Callable[[], HttpResponse]
    ) -> HttpResponse:
        """Return the page that `show` makes, and record that it was shown or refused."""
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
        detail: AuditDetail | None = None,
    ) -> None:
        what = f"{self.opts.model_name}_{verb}"
        audit_record(who=actor_of(request), what=what, where="admin", patient=patient, detail=detail)


def _key(row: Model) -> int | str:
    """Return a row's key as the audit log stores it."""
    return row.pk if isinstance(row.pk, int) else str(row.pk)
