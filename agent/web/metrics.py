"""The figures of the site for Prometheus: counts and ages from the database, and the breakers of this process.

What is in the database is the same whichever process answers, so nothing has to be gathered from the others. No figure
and no label names a person, a medicine or a conversation.
"""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.db.models import Count, Min, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from agent.conversation import spending
from agent.models import Run
from pharmacy_site.lib.breaker import breakers
from prescriptions.dead_letters import dead_letters, notifications_stuck
from prescriptions.handoffs.sla import SlaState, sla_state
from prescriptions.handoffs.sweep import deadlines_late
from prescriptions.models import AuditCheck, Handoff, Notification, RefillRequest
from prescriptions.outbox import notifications_due
from prescriptions.refill.states import State
from prescriptions.switches import board

_HOUR: Final = timedelta(hours=1)
_WAITING: Final = (Notification.State.PENDING, Notification.State.SENDING)
_OPEN_SLA: Final = (SlaState.PENDING, SlaState.IMMINENT, SlaState.BREACHING)


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Return the figures to whoever sends `Authorization: Bearer <METRICS_KEY>`; without that key set there is no such page."""
    if not settings.METRICS_KEY:
        return HttpResponseNotFound(content_type="text/plain")
    given = request.headers.get("Authorization", "")
    if not constant_time_compare(given.encode(), f"Bearer {settings.METRICS_KEY}".encode()):
        refused = HttpResponse(status=401, content_type="text/plain")
        refused["WWW-Authenticate"] = "Bearer"
        return refused
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Figures())
    response = HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)
    response["Cache-Control"] = "no-store"
    return response


class Figures(Collector):
    """Reads every figure when it is asked for."""

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Return nothing: to describe them, registering would read them all once more."""
        return ()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the figures."""
        yield from _outbox()
        yield from _work()
        yield from _models()
        broken = AuditCheck.objects.filter(pk=1).exclude(broken="").count()
        yield _one("pharmacy_audit_broken", "Whether the last check found the audit log broken.", broken)
        off = board.read()
        yield _by(
            "pharmacy_switched_off",
            "Whether operators have switched this off.",
            "what",
            {"model": off.model_off, "dispensing": off.dispensing_off, "chat": off.chat_closed},
        )
        yield _by("pharmacy_breaker_open", "Whether this process leaves a system alone.", "name", breakers())


def _outbox() -> Iterator[GaugeMetricFamily]:
    now = timezone.now()
    waiting = dict.fromkeys(_WAITING, 0) | _counts(Notification.objects.filter(state__in=_WAITING), "state")
    yield _by("pharmacy_outbox_messages", "Messages that are to be sent.", "state", waiting)
    oldest = notifications_due().aggregate(oldest=Min("due_at"))["oldest"]
    age = max(0.0, (now - oldest).total_seconds()) if oldest else 0.0
    yield _one("pharmacy_outbox_oldest_seconds", "For how long the oldest message has been due.", age)
    yield _one("pharmacy_outbox_stuck", "Messages due for two minutes.", notifications_stuck().count())
    yield _one("pharmacy_dead_letters", "Messages that were given up.", dead_letters().count())
    yield _one("pharmacy_deadlines_late", "Deadlines that no sweep takes.", deadlines_late().count())


def _work() -> Iterator[GaugeMetricFamily]:
    now = timezone.now()
    standing = dict.fromkeys(map(str, _OPEN_SLA), 0)
    for handoff in Handoff.objects.filter(closed_at=None).iterator():
        standing[str(sla_state(handoff, now))] += 1
    yield _by("pharmacy_handoffs_open", "Open hand-offs by how they stand.", "sla", standing)
    open_refills = RefillRequest.objects.filter(outcome=None, is_confirmed=True)
    refills = dict.fromkeys(map(str, State), 0) | _counts(open_refills, "state")
    yield _by("pharmacy_refills_open", "Open refill requests by state.", "state", refills)


def _models() -> Iterator[GaugeMetricFamily]:
    recent = Run.objects.filter(created_at__gt=timezone.now() - _HOUR)
    runs = dict.fromkeys(map(str, Run.State), 0) | _counts(recent, "state")
    yield _by("pharmacy_runs_last_hour", "Answers begun in the last hour.", "state", runs)
    yield _by(
        "pharmacy_fallbacks_last_hour",
        "Answers of the last hour that the offline model gave instead of the language model.",
        "reason",
        _counts(recent.exclude(fallback=""), "fallback"),
    )
    spending.day.read()
    tokens, cost = spending.day.spent
    yield _one("pharmacy_tokens_last_day", "Tokens of the language model in the last 24 hours.", tokens)
    yield _one("pharmacy_cost_last_day_dollars", "What these tokens cost.", float(cost))


def _counts(
    rows: "QuerySet[Run] | QuerySet[Notification] | QuerySet[RefillRequest]", field: str
) -> dict[str, int]:
    found = rows.order_by().values_list(field).annotate(number=Count("pk"))
    return {str(value): number for value, number in found}


def _one(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=value)


def _by(name: str, text: str, label: str, values: "dict[str, int] | dict[str, bool]") -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=[label])
    for key, value in values.items():
        family.add_metric([str(key)], value)
    return family
