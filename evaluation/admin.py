"""Show evaluations to staff: the figures of each run, and every conversation with the judge's findings."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from evaluation.models import Evaluation, EvaluationTrial
from evaluation.report import shares
from pharmacy_site.lib.admin import ReadOnly


class Passed(admin.SimpleListFilter):
    """Filter trials by passed, failed, or failed by a veto."""

    title = _("result")
    parameter_name = "result"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("passed", _("passed")), ("failed", _("failed")), ("vetoed", _("vetoed"))]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[EvaluationTrial]
    ) -> QuerySet[EvaluationTrial]:
        match self.value():
            case "passed":
                return queryset.filter(score=1)
            case "failed":
                return queryset.filter(score=0)
            case "vetoed":
                return queryset.exclude(vetoes=[])
        return queryset


@admin.register(Evaluation)
class EvaluationAdmin(ReadOnly):
    """Runs of `manage.py evaluate`."""

    list_display = ["created_at", "model", "pass_1", "pass_4", "without_veto", "scenarios"]
    list_filter = ["model", "created_at"]
    ordering = ["-pk"]
    date_hierarchy = "created_at"
    fields = ["created_at", "model", "options", "figures"]
    readonly_fields = fields

    @admin.display(description="pass^1")
    def pass_1(self, row: Evaluation) -> str:
        return _share(row, "pass^1")

    @admin.display(description="pass^4")
    def pass_4(self, row: Evaluation) -> str:
        return _share(row, "pass^4")

    @admin.display(description=_("without veto"))
    def without_veto(self, row: Evaluation) -> str:
        return _share(row, "vetoes_pass^1")

    @admin.display(description=_("scenarios"))
    def scenarios(self, row: Evaluation) -> int:
        return int(row.totals.get("all", {}).get("scenarios", 0))

    @admin.display(description=_("figures"))
    def figures(self, row: Evaluation) -> SafeString:
        """Return the run's figures as a table by family and language."""
        return render_to_string("admin/evaluation/figures.html", {"lines": list(shares(row.totals))})


@admin.register(EvaluationTrial)
class EvaluationTrialAdmin(ReadOnly):
    """Conversations of an evaluation, in the customer's view."""

    list_display = ["scenario", "family", "language", "trial", "score", "evaluation", "turns", "latency_ms"]
    list_filter = ["family", "language", Passed, "evaluation"]
    list_select_related = ["evaluation"]
    search_fields = ["scenario", "transcript"]
    ordering = ["-evaluation_id", "family", "scenario", "trial"]
    fields = [
        *(
            "evaluation",
            "scenario",
            "family",
            "language",
            "trial",
            "score",
            "findings",
            "turns",
            "latency_ms",
        ),
        *("tokens", "cost", "conversation"),
    ]
    readonly_fields = fields

    @admin.display(description=_("what was wrong"))
    def findings(self, row: EvaluationTrial) -> SafeString:
        """Return the vetoes and problems, one per paragraph."""
        lines = [*(f"veto: {veto}" for veto in row.vetoes), *row.problems]
        return format_html_join("", '<p dir="auto">{}</p>', ((line,) for line in lines))

    @admin.display(description=_("transcript"))
    def conversation(self, row: EvaluationTrial) -> SafeString:
        """Return every message in order, each with its own text direction."""
        return render_to_string("admin/evaluation/transcript.html", {"lines": row.transcript})


def _share(row: Evaluation, name: str) -> str:
    value = row.totals.get("all", {}).get(name)
    return "–" if value is None else f"{value:.2f}"
