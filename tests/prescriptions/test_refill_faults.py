"""A health record and a dispenser that are dead, slow, flapping or answer nonsense (B8): nothing passes, one person hears of it."""

from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from prescriptions.audit import Access
from prescriptions.connectors.protocols import (
    ConnectorDown,
    ConnectorGarbage,
    ConnectorTimeout,
    HealthRecord,
    LabValue,
)
from prescriptions.connectors.registry import connectors
from prescriptions.connectors.simulated import SimulatedDispenser, SimulatedEHR, fault_set
from prescriptions.models import Handoff, RefillRequest, SimulatedOrder
from prescriptions.refill.services import refill_cancel, refill_walk
from prescriptions.refill.sweep import refills_sweep

pytestmark = pytest.mark.django_db
Submit = Callable[..., RefillRequest]
STAFF = Access(who="user:7", where="admin")


def raised(error: Exception) -> Callable[..., Any]:
    def answer(*_: Any) -> None:
        raise error

    return answer


def egfr(value: Any, taken_on: Any) -> HealthRecord:
    return HealthRecord(labs={"egfr": LabValue(value, taken_on)})


def today() -> date:
    return timezone.localdate()


NONSENSE: dict[str, Callable[..., Any]] = {
    "dead": raised(ConnectorDown("x")),
    "slow": raised(ConnectorTimeout("x")),
    "wrong JSON": raised(ConnectorGarbage("x")),
    "a driver's error": raised(ValueError("Expecting value: line 1 column 1")),
    "a connection's error": raised(ConnectionResetError()),
    "200 with HTML": lambda *_: "<html>busy</html>",
    "nothing": lambda *_: None,
    "a list": lambda *_: [],
    "labs of text": lambda *_: HealthRecord(labs="egfr"),  # type: ignore[arg-type]
    "a value of text": lambda *_: egfr("90", today()),
    "no number": lambda *_: egfr(Decimal("NaN"), today()),
    "no end": lambda *_: egfr(Decimal("Infinity"), today()),
    "a date of text": lambda *_: egfr(Decimal(90), "yesterday"),
    "tomorrow's value": lambda *_: egfr(Decimal(90), today() + timedelta(days=1)),
    "allergies of numbers": lambda *_: HealthRecord(
        labs={"egfr": LabValue(Decimal(90), today())}, allergy_classes=(7,)  # type: ignore[arg-type]
    ),
}  # fmt: skip


@pytest.mark.parametrize("answer", NONSENSE.values(), ids=NONSENSE)
def test_nothing_passes_without_a_health_record_that_can_be_read(
    demo: None, submit: Submit, monkeypatch: pytest.MonkeyPatch, answer: Callable[..., Any]
) -> None:
    monkeypatch.setattr(SimulatedEHR, "record", answer)
    request = submit(2)
    assert (request.state, request.outcome) == ("Escalation_Complete", None)
    # Neither repeated walks nor sweeps tell another person.
    RefillRequest.objects.update(updated_at=timezone.now() - timedelta(minutes=1))
    refills_sweep()
    refill_walk(request)
    assert Handoff.objects.count() == 1 and not SimulatedOrder.objects.exists()


@pytest.mark.parametrize("calls", ["ok down", "down ok", "down down"])
def test_a_flapping_health_record_escalates_once(
    demo: None, submit: Submit, monkeypatch: pytest.MonkeyPatch, calls: str
) -> None:
    """Both the safety checks and those before the order ask it; each of them stops the request alone."""
    original, answers = SimulatedEHR.record, iter(calls.split())

    def flapping(self: SimulatedEHR, mrn: str) -> HealthRecord:
        if next(answers) == "down":
            raise ConnectorDown("x")
        return original(self, mrn)

    monkeypatch.setattr(SimulatedEHR, "record", flapping)
    request = submit(2)
    assert (request.reason, request.outcome) == ("backend_unavailable", None)
    assert Handoff.objects.count() == 1 and not SimulatedOrder.objects.exists()


def test_the_breaker_opens_after_five_failures_and_tries_once_after_thirty_seconds(
    demo: None, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    works, original = False, SimulatedEHR.record

    def record(self: SimulatedEHR, mrn: str) -> HealthRecord:
        calls.append(mrn)
        if works:
            return original(self, mrn)
        raise ValueError("<html>")

    def request() -> RefillRequest:
        row = submit(2)
        refill_cancel(row, access=STAFF)
        return row

    monkeypatch.setattr(SimulatedEHR, "record", record)
    now = 1_000.0
    breaker = connectors().ehr.breaker  # type: ignore[attr-defined]
    monkeypatch.setattr(breaker, "_clock", lambda: now)
    for _ in range(8):
        assert request().reason == "backend_unavailable"
    assert len(calls) == 5
    now += 29.9
    assert request().reason == "backend_unavailable" and len(calls) == 5
    now += 0.1
    assert request().reason == "backend_unavailable" and len(calls) == 6  # one trial, which failed
    now += 29.9
    assert request().reason == "backend_unavailable" and len(calls) == 6
    now += 0.1
    works = True
    assert submit(2).outcome == "dispensed" and len(calls) == 8


@pytest.mark.parametrize("answer", [None, "shipped", "<html>", 0], ids=repr)
def test_an_order_is_not_sent_again_because_its_status_cannot_be_read(
    demo: None, submit: Submit, monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    fault_set("dispenser", "garbage", 2)
    request = submit(2)
    sent: list[str] = []
    monkeypatch.setattr(SimulatedDispenser, "status", lambda *_: answer)
    monkeypatch.setattr(SimulatedDispenser, "submit", lambda _, order: sent.append(order.key))
    refill_walk(request)
    request.refresh_from_db()
    assert (request.state, request.order_state, sent) == ("Backend_Check", "unknown", [])


@pytest.mark.parametrize("error", [ValueError("<html>"), ConnectionResetError()], ids=repr)
def test_whatever_the_dispensers_driver_raises_the_order_may_have_been_carried_out(
    demo: None, submit: Submit, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(SimulatedDispenser, "submit", raised(error))
    request = submit(2)
    assert (request.state, request.order_state) == ("Backend_Check", "unknown")
    monkeypatch.undo()
    RefillRequest.objects.update(updated_at=timezone.now() - timedelta(minutes=1))
    refills_sweep()
    request.refresh_from_db()
    assert (request.outcome, SimulatedOrder.objects.count()) == ("dispensed", 1)
