"""Refills that are asked about hours and days after their steps: the times on their cards are proven by the rows."""

from datetime import timedelta

import pytest
from django.utils import timezone
from talking import Talk

from prescriptions.audit import Access
from prescriptions.models import Patient, RefillRequest
from prescriptions.refill import services
from stores.models import Store

pytestmark = pytest.mark.usefixtures("demo_committed")
DAVID, LEAH = "10000101", "10000124"
METFORMIN, IBUPROFEN = 2, 17
_now = timezone.now


def requested(mrn: str, prescription_id: int) -> RefillRequest:
    return services.refill_submit(
        patient=Patient.objects.get(mrn=mrn),
        prescription_id=prescription_id,
        store=Store.objects.get(pk=1),
        access=Access(who="chat:1", where="chat"),
        language="en",
    )


def clock_move(monkeypatch: pytest.MonkeyPatch, hours: float) -> None:
    monkeypatch.setattr(timezone, "now", lambda: _now() + timedelta(hours=hours))


def times_of(talk: Talk) -> list[str]:
    return [step["time"] for card in talk.payload["cards"] for step in card["data"]["steps"] if step["time"]]


@pytest.mark.parametrize("hours", [7.3, 74.4])
@pytest.mark.parametrize(
    ("language", "asks"),
    [
        ("en", "Where is my refill?"),
        ("en", "what's the status of {number}"),
        ("he", "איפה הניפוק שלי?"),
        ("he", "מה הסטטוס של {number}"),
    ],
)
@pytest.mark.parametrize("ending", ["dispensed", "cancelled", "with_person"])
def test_a_refill_is_told_with_the_times_of_its_steps_however_old_they_are(
    monkeypatch: pytest.MonkeyPatch, ending: str, language: str, asks: str, hours: float
) -> None:
    mrn = LEAH if ending == "with_person" else DAVID
    request = requested(mrn, IBUPROFEN if ending == "with_person" else METFORMIN)
    if ending == "cancelled":
        services.refill_cancel(request, access=Access(who="chat:1", where="chat"))
    assert ending in (request.outcome, "with_person")
    made = timezone.localtime(request.transitions.order_by("version")[0].at)
    clock_move(monkeypatch, hours)
    talk = Talk(language, mrn)
    text = talk.say(asks.format(number=request.number))
    assert request.number in text
    assert f"{made:%d.%m.%Y %H:%M}" in times_of(talk)


def test_a_refill_is_told_with_each_of_its_times(monkeypatch: pytest.MonkeyPatch) -> None:
    first = requested(DAVID, METFORMIN)
    clock_move(monkeypatch, 3.4)
    services.refill_ready(first, access=Access(who="user:900", where="admin"))
    clock_move(monkeypatch, 29.9)
    talk = Talk("en", DAVID)
    assert first.number in talk.say("Where is my refill?")
    received, ready = times_of(talk)[0], times_of(talk)[-1]
    assert received != ready and received.split()[1] != ready.split()[1]
