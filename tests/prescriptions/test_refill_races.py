"""Refills that are requested at the same moment (B1, B3, small): one is dispensed, and no pack is given twice."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from threading import Barrier
from uuid import uuid4

import pytest
from django.db import connections
from django.utils import timezone

from inventory.models import StockLevel
from prescriptions.audit import Access, audit_verify
from prescriptions.errors import RefillAlreadyOpen
from prescriptions.models import (
    Handoff,
    Patient,
    Prescription,
    RefillRequest,
    SimulatedLab,
    SimulatedOrder,
    StockReservation,
)
from prescriptions.refill.graph import graph
from prescriptions.refill.reservations import reservations_expire, stock_reserve
from prescriptions.refill.selectors import replayed
from prescriptions.refill.services import refill_decide
from prescriptions.refill.states import END_STATES, State

pytestmark = pytest.mark.django_db(transaction=True)
Submit = Callable[..., RefillRequest]


def at_once(count: int, work: Callable[[int], object]) -> list[object]:
    """Run `work` in threads that start together; what each returned, or the class of what it raised."""
    barrier = Barrier(count)
    graph()

    def run(number: int) -> object:
        barrier.wait(timeout=20)
        try:
            return work(number)
        except Exception as error:
            return type(error)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def test_of_many_requests_of_one_refill_one_is_dispensed(demo_committed: None, submit: Submit) -> None:
    Prescription.objects.filter(pk=2).update(refills_left=1)
    results = at_once(24, lambda _: submit(2).outcome)
    assert (results.count("dispensed"), results.count(RefillAlreadyOpen)) == (1, 23)
    assert RefillRequest.objects.filter(outcome="dispensed").count() == 1
    assert (Prescription.objects.get(pk=2).refills_left, SimulatedOrder.objects.count()) == (0, 1)
    assert RefillRequest.objects.count() == 1
    assert audit_verify() is None


@pytest.mark.parametrize("packs", [1, 3])
def test_the_last_packs_are_dispensed_once(demo_committed: None, submit: Submit, packs: int) -> None:
    today = timezone.localdate()
    StockLevel.objects.filter(store_id=1, medication_id=4).update(quantity=packs)
    like = Prescription.objects.get(pk=2)
    numbers = []
    for number in range(8):
        patient = Patient.objects.create(
            mrn=f"2000000{number}",
            name_en="Test Person",
            email=f"person{number}@example.com",
            born=date(1980, 1, 1),
            allergy_status="none_known",
            allergies_recorded_on=today,
        )
        SimulatedLab.objects.create(mrn=patient.mrn, code="egfr", value=90, taken_on=today)
        like.pk, like.patient = None, patient
        like.save(force_insert=True)
        numbers.append(like.pk)
    results = at_once(8, lambda number: submit(numbers[number]).outcome)
    assert (results.count("dispensed"), results.count(None)) == (packs, 8 - packs)
    assert StockLevel.objects.get(store_id=1, medication_id=4).quantity == 0
    assert SimulatedOrder.objects.count() == packs
    assert set(RefillRequest.objects.filter(outcome=None).values_list("reason", flat=True)) == {
        "out_of_stock"
    }
    assert Handoff.objects.count() == 8 - packs
    for row in RefillRequest.objects.all():
        assert replayed(row) == row.state and State(row.state) in END_STATES


def test_reservations_that_are_over_are_given_back_once_by_several_sweeps(
    demo_committed: None, submit: Submit
) -> None:
    """B3: all packs of a store are reserved by requests whose process has died; 15 minutes later they are there again."""
    request = submit(17)
    level = StockLevel.objects.get(store_id=1, medication_id=4)
    packs, over = level.quantity, timezone.now() - timedelta(seconds=1)
    for _ in range(packs):
        request.pk, request.number, request.order_key = None, uuid4().hex, uuid4().hex
        request.outcome, request.state = "closed", "Escalation_Complete"
        request.prescription_id = 2
        request.save(force_insert=True)
        assert stock_reserve(RefillRequest.objects.get(pk=request.pk))
    level.refresh_from_db()
    assert level.quantity == 0 and reservations_expire() == 0
    StockReservation.objects.update(expires_at=over)
    given_back = at_once(6, lambda _: reservations_expire())
    level.refresh_from_db()
    assert (sum(given_back), level.quantity) == (packs, packs)  # type: ignore[arg-type]
    assert not StockReservation.objects.exclude(state="released").exists()


def test_of_many_decisions_one_counts(demo_committed: None, submit: Submit) -> None:
    pk = submit(17).pk

    def decide(number: int) -> object:
        request = RefillRequest.objects.select_related("patient", "prescription__medication").get(pk=pk)
        decision = "approve" if number % 2 else "deny"
        access = Access(who=f"user:{number}", where="admin")
        return refill_decide(request, decision, access=access, role="pharmacist").outcome

    results = at_once(8, decide)
    outcome = RefillRequest.objects.get(pk=pk).outcome
    assert outcome in {"dispensed", "denied"} and outcome in results
    assert SimulatedOrder.objects.filter(state="accepted").count() == (outcome == "dispensed")
    assert Handoff.objects.get().state == "decided"
    assert Prescription.objects.get(pk=17).refills_left == 3 - (outcome == "dispensed")
