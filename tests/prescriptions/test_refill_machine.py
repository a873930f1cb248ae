"""Random events on refill requests (B6, small): no illegal state, nothing lost or doubled, and the record replays."""

import contextlib
import os
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from refill_invariants import all_packs, broken
from served_site import IN_CI, ON_POSTGRESQL

from prescriptions.audit import Access
from prescriptions.connectors.registry import connectors
from prescriptions.connectors.simulated import FAULTS, fault_set
from prescriptions.errors import (
    DeliveryAddressMissing,
    RefillAlreadyOpen,
    RefillChangedMeanwhile,
    RefillRefused,
)
from prescriptions.models import (
    Prescription,
    RefillRequest,
    SimulatedOrder,
    StockReservation,
)
from prescriptions.refill import services
from prescriptions.refill.selectors import status_said
from prescriptions.refill.sweep import refills_sweep
from stores.models import Store

pytestmark = pytest.mark.django_db

# `make test-faults` plays more.
EXAMPLES = int(os.environ.get("FAULTS_EXAMPLES", "25" if IN_CI and ON_POSTGRESQL else "8"))
CLINICIAN = Access(who="key:1", where="tests")
STAFF = Access(who="user:8", where="admin")
# Metformin that goes through, ibuprofen beside warfarin, codeine, prior authorisation, oxycodone.
PRESCRIPTIONS = (2, 8, 17, 13, 14, 15)
REFUSALS = (RefillRefused, RefillChangedMeanwhile, RefillAlreadyOpen)
# Where a process may die between two transactions, or between one and a call of another system.
PLACES = (
    "stock_reserve",
    "orders.order_send",
    "orders._submit",
    "_dispense",
    "contact_find",
    "handoff_write",
)


class Dead(Exception):
    """The process has died here."""


def dies(*_: Any, **__: Any) -> None:
    raise Dead


class Refills(RuleBasedStateMachine):
    """Customers, staff, two unreliable systems, and time."""

    def __init__(self) -> None:
        super().__init__()
        self.rolled_back = transaction.atomic()
        self.rolled_back.__enter__()
        connectors.cache_clear()
        Prescription.objects.filter(pk__in=PRESCRIPTIONS).update(refills_left=2)
        self.ended: dict[int, str] = {}
        self.packs = all_packs()

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.rolled_back.__exit__(None, None, None)

    def request(self, number: int) -> RefillRequest | None:
        rows = list(RefillRequest.objects.select_related("patient", "handoff", "prescription__medication"))
        return rows[number % len(rows)] if rows else None

    def act(self, work: Any, number: int, *args: Any, **more: Any) -> None:
        row = self.request(number)
        if row is None:
            return
        with contextlib.suppress(REFUSALS):
            work(row, *args, access=STAFF, **more)

    def requested(self, prescription: int, store: int | None, key: str | None = None) -> RefillRequest:
        row = Prescription.objects.select_related("patient").get(pk=prescription)
        return services.refill_submit(
            patient=row.patient,
            prescription_id=prescription,
            store=Store.objects.get(pk=store) if store else None,
            access=CLINICIAN,
            language="he",
            submit_key=key,
        )

    @rule(prescription=st.sampled_from(PRESCRIPTIONS), store=st.sampled_from([1, 101, None]))
    def submit(self, prescription: int, store: int | None) -> None:
        try:
            self.requested(prescription, store)
        except RefillAlreadyOpen as refusal:
            assert RefillRequest.objects.filter(prescription=prescription, number=refusal.number).exists()
        except DeliveryAddressMissing:
            row = Prescription.objects.select_related("patient").get(pk=prescription)
            assert store is None and not row.patient.address

    @rule(prescription=st.sampled_from(PRESCRIPTIONS), name=st.sampled_from("ab"))
    def submit_twice_under_one_key(self, prescription: int, name: str) -> None:
        key = f"key:1:{name}-{prescription}"
        with contextlib.suppress(RefillAlreadyOpen):
            assert self.requested(prescription, 1, key).pk == self.requested(prescription, 1, key).pk
        assert RefillRequest.objects.filter(submit_key=key).count() <= 1

    @rule(prescription=st.sampled_from(PRESCRIPTIONS), place=st.sampled_from(PLACES))
    def die_in_a_walk(self, prescription: int, place: str) -> None:
        with pytest.MonkeyPatch.context() as patch, contextlib.suppress(Dead, RefillAlreadyOpen):
            patch.setattr(f"prescriptions.refill.steps.{place}", dies)
            self.requested(prescription, 1)

    @rule(number=st.integers(0, 9))
    def walk(self, number: int) -> None:
        row = self.request(number)
        if row:
            services.refill_walk(row)

    @rule(
        number=st.integers(0, 9),
        decision=st.sampled_from(["approve", "deny", "ask", "change_quantity", "close"]),
        role=st.sampled_from(["physician", "pharmacist", "technician"]),
        fresh=st.booleans(),
    )
    def decide(self, number: int, decision: str, role: str, fresh: bool) -> None:
        more = {"role": role, "is_fresh": fresh, "quantity": 1, "reference": "PA-1"}
        self.act(services.refill_decide, number, decision, **more)

    @rule(
        number=st.integers(0, 9),
        work=st.sampled_from(
            [
                services.refill_cancel,
                services.refill_ready,
                services.refill_collected,
                services.refill_returned,
            ]
        ),
    )
    def fulfil(self, number: int, work: Any) -> None:
        self.act(work, number)

    @rule(system=st.sampled_from(["ehr", "dispenser"]), mode=st.sampled_from([*FAULTS, "none"]))
    def break_down(self, system: str, mode: str) -> None:
        fault_set(system, mode, 2)

    @rule()
    def late_answer(self) -> None:
        """The dispenser carries out what it got late."""
        for row in RefillRequest.objects.filter(order_state="unknown"):
            SimulatedOrder.objects.get_or_create(
                key=row.order_key, defaults={"medication_id": 4, "units": row.quantity}
            )

    @precondition(lambda self: RefillRequest.objects.exists())
    @rule(minutes=st.sampled_from([1, 11, 16]))
    def time_passes(self, minutes: int) -> None:
        then = timezone.now() - timedelta(minutes=minutes)
        RefillRequest.objects.update(updated_at=then)
        RefillRequest.objects.filter(order_at__isnull=False).update(order_at=then)
        StockReservation.objects.update(expires_at=then + timedelta(minutes=15))
        connectors.cache_clear()
        refills_sweep()

    @invariant()
    def nothing_is_lost_doubled_or_illegal(self) -> None:
        assert broken(dict.fromkeys(PRESCRIPTIONS, 2), self.packs) == []
        for row in RefillRequest.objects.all():
            assert status_said(row, "en") and status_said(row, "he")

    @invariant()
    def what_has_ended_stays_so(self) -> None:
        for row in RefillRequest.objects.exclude(outcome=None):
            before = self.ended.get(row.pk)
            assert before in {None, row.outcome} or (before, row.outcome) == ("dispensed", "cancelled")
            self.ended[row.pk] = str(row.outcome)
        assert not RefillRequest.objects.filter(pk__in=self.ended, outcome=None).exists()

    @invariant()
    def nothing_controlled_passes_alone(self) -> None:
        done = RefillRequest.objects.filter(outcome="dispensed")
        assert not done.filter(prescription__in=[15]).exists()
        for row in done.filter(prescription__in=[13, 14, 17]):
            assert row.transitions.filter(event="approved").exists()


def test_random_events(demo: None, fast: list[float]) -> None:
    run_state_machine_as_test(
        Refills,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=20,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
