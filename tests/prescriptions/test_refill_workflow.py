"""Every way of a refill through the seven states, and what people do with it afterwards."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.utils import timezone

from inventory.models import Medication, StockLevel
from prescriptions.audit import Access, audit_verify
from prescriptions.connectors.simulated import fault_set
from prescriptions.errors import (
    DeliveryAddressMissing,
    PrescriptionNotFound,
    RefillAlreadyOpen,
    RefillChangedMeanwhile,
    RefillRefused,
)
from prescriptions.models import (
    AuditEvent,
    Handoff,
    LabRule,
    Patient,
    Prescription,
    RefillRequest,
    SimulatedAllergy,
    SimulatedLab,
    SimulatedOrder,
)
from prescriptions.refill.reservations import reservations_expire
from prescriptions.refill.selectors import path_of, replayed, status_of, status_said
from prescriptions.refill.services import (
    refill_cancel,
    refill_collected,
    refill_decide,
    refill_ready,
    refill_returned,
    refill_submit,
    refill_walk,
)
from prescriptions.refill.states import BREAKERS, Reason
from prescriptions.refill.sweep import refills_reconcile, refills_sweep, refills_take_up

pytestmark = pytest.mark.django_db
Submit = Callable[..., RefillRequest]

HAPPY = ["Collect_Refill_Request", "Rx_Safety_Check", "Backend_Check", "Refill_Dispensed"]
TO_A_PERSON = ["PA_Approval_Needed", "Escalate_Handoff", "Escalation_Complete"]
UNSAFE = [*HAPPY[:2], *TO_A_PERSON]
STOPPED = [*HAPPY[:3], *TO_A_PERSON]
PHARMACIST = Access(who="user:7", where="admin")
PHYSICIAN = Access(who="user:8", where="admin")


def fresh(request: RefillRequest) -> RefillRequest:
    return RefillRequest.objects.select_related("patient", "prescription__medication", "handoff").get(
        pk=request.pk
    )


def packs(medication: int, store: int = 1) -> int:
    return StockLevel.objects.get(store_id=store, medication_id=medication).quantity


def late(request: RefillRequest, **ago: Any) -> None:
    """Let so much time have passed since the order was sent and the row was changed."""
    then = timezone.now() - timedelta(**ago)
    RefillRequest.objects.filter(pk=request.pk).update(order_at=then, updated_at=then)


class TestDispensed:
    def test_davids_metformin_is_dispensed_once(self, demo: None, submit: Submit) -> None:
        request = submit(2)
        assert (request.state, request.outcome, request.reason) == ("Refill_Dispensed", "dispensed", "")
        assert path_of(fresh(request)) == HAPPY and replayed(request) == "Refill_Dispensed"
        prescription = Prescription.objects.get(pk=2)
        assert (prescription.refills_left, prescription.status) == (4, "active")
        assert prescription.last_filled_on == timezone.localdate()
        assert packs(4) == 4
        assert [order.key for order in SimulatedOrder.objects.all()] == [request.order_key]
        assert mail.outbox == []  # sent after the commit, which this test never makes
        assert audit_verify() is None
        assert refill_walk(request).version == request.version

    @pytest.mark.parametrize(("language", "word"), [("en", "sent for preparation"), ("he", "נשלח להכנה")])
    def test_the_customer_reads_that_it_is_prepared_and_checked(
        self, refill: RefillRequest, language: Any, word: str
    ) -> None:
        assert word in status_said(refill, language) and refill.number in status_said(refill, language)

    def test_a_delivery_comes_from_the_online_store(self, demo: None, submit: Submit) -> None:
        assert submit(2, None).outcome == "dispensed" and packs(4) == 4

    def test_without_an_address_on_file_nothing_is_delivered(self, demo: None, submit: Submit) -> None:
        Patient.objects.update(address="")
        with pytest.raises(DeliveryAddressMissing):
            submit(2, None)
        assert not RefillRequest.objects.exists() and Prescription.objects.get(pk=2).status == "active"

    def test_a_part_of_the_quantity_lasts_a_part_of_the_days(self, demo: None, submit: Submit) -> None:
        request = submit(2, quantity=30)
        assert (request.days_supply, request.outcome) == (15, "dispensed")

    def test_ready_and_collected(self, refill: RefillRequest) -> None:
        with pytest.raises(RefillRefused):
            refill_collected(refill, access=PHARMACIST)
        assert status_of(refill_ready(refill, access=PHARMACIST)) == "ready"
        assert refill_ready(refill, access=PHARMACIST).fulfilment == "ready"
        with pytest.raises(RefillRefused, match="too_late"):
            refill_cancel(refill, access=PHARMACIST)
        assert status_of(refill_collected(refill, access=PHARMACIST)) == "collected"
        with pytest.raises(RefillRefused):
            refill_returned(refill, access=PHARMACIST)

    def test_a_returned_refill_gives_everything_back(self, refill: RefillRequest) -> None:
        refill_ready(refill, access=PHARMACIST)
        for _ in range(2):
            refill_returned(refill, access=PHARMACIST)
        prescription = Prescription.objects.get(pk=2)
        assert (prescription.refills_left, packs(4)) == (5, 5)
        assert prescription.last_filled_on == timezone.localdate() - timedelta(days=29)
        assert fresh(refill).outcome == "dispensed" and status_of(fresh(refill)) == "returned"

    def test_a_refill_is_cancelled_until_it_is_prepared(self, refill: RefillRequest) -> None:
        for _ in range(2):
            refill_cancel(refill, access=PHARMACIST)
        assert (Prescription.objects.get(pk=2).refills_left, packs(4)) == (5, 5)
        assert SimulatedOrder.objects.get().state == "cancelled"
        assert (fresh(refill).outcome, fresh(refill).fulfilment) == ("cancelled", "")

    def test_the_patient_is_written_to_without_the_name_of_the_medicine(
        self, demo: None, submit: Submit, django_capture_on_commit_callbacks: Any
    ) -> None:
        with django_capture_on_commit_callbacks(execute=True):
            refill_ready(submit(8), access=PHARMACIST)
        assert [message.to for message in mail.outbox] == [["amit.peretz@example.com"]] * 2
        assert "מוכן" in mail.outbox[1].body
        text = "".join(message.subject + message.body for message in mail.outbox).casefold()
        assert "metformin" not in text and "מטפורמין" not in text


class TestEscalated:
    @pytest.mark.parametrize(
        ("prescription", "reason", "path", "contact"),
        [
            (17, "major_interaction", UNSAFE, "pharmacist"),
            (16, "major_interaction", UNSAFE, "pharmacist"),
            (12, "direct_allergy", UNSAFE, "pharmacist"),
            (5, "direct_allergy", UNSAFE, "pharmacist"),
            (15, "controlled_substance", UNSAFE, "physician"),
            (13, "controlled_substance", UNSAFE, "physician"),
            (7, "allergy_unknown", UNSAFE, "pharmacist"),
            (4, "early", UNSAFE, "pharmacist"),
            (3, "not_refillable", UNSAFE, "pharmacist"),
            (1, "acute_antibiotic", UNSAFE, "pharmacist"),
            (14, "prior_authorisation", STOPPED, "pharmacist"),
        ],
    )
    def test_the_demos_cases_reach_the_right_person(
        self, demo: None, submit: Submit, prescription: int, reason: str, path: list[str], contact: str
    ) -> None:
        before = list(StockLevel.objects.values_list("pk", "quantity").order_by("pk"))
        request = fresh(submit(prescription))
        assert (request.state, request.outcome, request.reason) == ("Escalation_Complete", None, reason)
        assert path_of(request) == path
        assert request.handoff and (request.handoff.contact, request.handoff.state) == (contact, "open")
        assert request.handoff.patient == request.patient and request.number in request.handoff.summary
        assert {
            "request",
            "findings",
            "prescription",
            "history",
            "allergies",
            "note",
            "path",
            "stock",
            "verification",
        } <= set(request.handoff.package)
        assert request.handoff.package["verification"] == {"how": "system", "at": None}
        assert not SimulatedOrder.objects.exists()
        assert before == list(StockLevel.objects.values_list("pk", "quantity").order_by("pk"))
        for language in ("en", "he"):
            assert request.number in request.handoff.package["note"][language]
            assert request.number in status_said(request, language)  # type: ignore[arg-type]

    def test_what_is_said_of_a_schedule_ii_medicine(self, demo: None, submit: Submit) -> None:
        request = submit(15)
        assert "your doctor must issue a new prescription" in status_said(request, "en")
        assert "מרשם חדש" in status_said(request, "he")

    def test_an_early_refill_names_the_date(self, demo: None, submit: Submit) -> None:
        first = (timezone.localdate() + timedelta(days=18)).isoformat()  # 23 of 30 days, filled 5 days ago
        assert first in status_said(submit(4), "en")

    @pytest.mark.parametrize("breaker", BREAKERS)
    @pytest.mark.parametrize("prescription", [2, 8])
    def test_each_breaker_of_the_collection_escalates(
        self, demo: None, submit: Submit, breaker: Reason, prescription: int
    ) -> None:
        request = fresh(submit(prescription, breakers=[breaker]))
        assert (request.reason, path_of(request)) == (str(breaker), UNSAFE)
        assert request.language == ("en" if prescription == 2 else "he")
        assert request.handoff is not None
        if breaker == Reason.IDENTITY_FAILED:
            assert set(request.handoff.package) == {"request", "path", "contact", "routing", "note"}

    def test_too_little_stock_escalates_and_an_approval_does_not_put_any_there(
        self, demo: None, submit: Submit
    ) -> None:
        request = submit(2, 101)
        assert (request.reason, path_of(fresh(request))) == ("out_of_stock", STOPPED)
        request = refill_decide(fresh(request), "approve", access=PHARMACIST, role="pharmacist")
        assert (request.reason, request.walk, request.outcome) == ("out_of_stock", 2, None)
        assert Handoff.objects.filter(state="open").count() == 1

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda: SimulatedLab.objects.filter(mrn="10000101").delete(),
            lambda: SimulatedLab.objects.filter(mrn="10000101").update(value=20),
            lambda: SimulatedLab.objects.filter(mrn="10000101").update(taken_on="2001-01-01"),
        ],
    )
    def test_a_missing_low_or_old_laboratory_value_escalates(
        self, demo: None, submit: Submit, spoil: Callable[[], object]
    ) -> None:
        assert LabRule.objects.exists()
        spoil()
        request = submit(2)
        assert (request.reason, request.contact) == ("labs", "physician")

    def test_an_allergy_that_only_the_health_record_knows_counts(self, demo: None, submit: Submit) -> None:
        SimulatedAllergy.objects.create(mrn="10000101", ingredient_key="metformin")
        assert submit(2).reason == "direct_allergy"

    def test_an_allergy_that_nothing_can_be_compared_with_escalates(self, demo: None, submit: Submit) -> None:
        SimulatedAllergy.objects.create(mrn="10000101", drug_class="moonstone")
        assert submit(2).reason == "allergy_unknown"

    def test_a_schedule_without_a_rule_escalates_for_good(self, demo: None, submit: Submit) -> None:
        Medication.objects.filter(pk=4).update(schedule="V")
        from prescriptions.models import ScheduleRule

        ScheduleRule.objects.all().delete()
        assert submit(2).reason == "controlled_substance"

    @pytest.mark.parametrize("mode", ["down", "slow", "garbage", "commit_then_drop"])
    def test_without_the_health_record_nothing_passes(
        self, demo: None, fast: list[float], submit: Submit, mode: str
    ) -> None:
        fault_set("ehr", mode, 9)
        request = submit(2)
        assert (request.reason, path_of(fresh(request))) == ("backend_unavailable", UNSAFE)
        assert sum(fast) <= 12

    def test_a_check_that_raises_escalates(
        self, demo: None, submit: Submit, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: Any) -> None:
            raise ValueError("x")

        monkeypatch.setattr("prescriptions.refill.steps.facts_collect", fail)
        assert submit(2).reason == "check_failed"


class TestDecisions:
    def test_prior_authorisation_needs_the_insurers_reference(self, demo: None, submit: Submit) -> None:
        request = fresh(submit(14))
        with pytest.raises(RefillRefused, match="reference_needed"):
            refill_decide(request, "approve", access=PHARMACIST, role="pharmacist")
        request = refill_decide(
            fresh(request), "approve", access=PHARMACIST, role="pharmacist", reference="PA-77"
        )
        assert (request.outcome, request.walk) == ("dispensed", 2)
        assert path_of(fresh(request)) == [*STOPPED, "Backend_Check", "Refill_Dispensed"]
        assert fresh(request).handoff.state == "decided"  # type: ignore[union-attr]
        again = refill_decide(
            fresh(request), "approve", access=PHARMACIST, role="pharmacist", reference="PA-77"
        )
        assert again.version == request.version and SimulatedOrder.objects.count() == 1

    def test_a_physician_signs_schedule_iii_after_a_fresh_sign_in(self, demo: None, submit: Submit) -> None:
        Prescription.objects.filter(pk=15).update(status="cancelled")
        request = fresh(submit(13))
        for role, is_fresh, code in [
            ("pharmacist", True, "role"),
            ("technician", True, "role"),
            ("administrator", True, "role"),
            ("physician", False, "fresh_sign_in_needed"),
        ]:
            with pytest.raises(RefillRefused, match=code):
                refill_decide(request, "approve", access=PHYSICIAN, role=role, is_fresh=is_fresh)
        request = refill_decide(request, "approve", access=PHYSICIAN, role="physician", is_fresh=True)
        assert request.outcome == "dispensed"

    def test_nobody_approves_schedule_ii(self, demo: None, submit: Submit) -> None:
        Prescription.objects.filter(pk=15).update(refills_left=3)
        request = fresh(submit(15))
        with pytest.raises(RefillRefused, match="new_prescription_needed"):
            refill_decide(request, "approve", access=PHYSICIAN, role="physician", is_fresh=True)
        assert not SimulatedOrder.objects.exists()
        request = refill_decide(request, "deny", access=PHYSICIAN, role="physician")
        assert request.outcome == "denied" and Prescription.objects.get(pk=15).status == "active"

    def test_nobody_approves_their_own_request(self, demo: None, submit: Submit) -> None:
        request = fresh(submit(17, access=PHARMACIST))
        with pytest.raises(RefillRefused, match="own_request"):
            refill_decide(request, "approve", access=PHARMACIST, role="pharmacist")

    def test_a_new_finding_stops_the_second_walk(self, demo: None, submit: Submit) -> None:
        request = fresh(submit(17))
        SimulatedAllergy.objects.create(mrn="10000124", drug_class="nsaid")
        request = refill_decide(request, "approve", access=PHARMACIST, role="pharmacist")
        assert (request.reason, request.walk, request.outcome) == ("direct_allergy", 2, None)
        request = refill_decide(fresh(request), "approve", access=PHARMACIST, role="pharmacist")
        assert (request.walk, request.outcome) == (3, "dispensed")

    def test_the_quantity_is_changed(self, demo: None, submit: Submit) -> None:
        request = fresh(submit(17))
        with pytest.raises(RefillRefused, match="quantity"):
            refill_decide(request, "change_quantity", access=PHARMACIST, role="pharmacist", quantity=31)
        request = refill_decide(request, "change_quantity", access=PHARMACIST, role="pharmacist", quantity=15)
        assert (request.quantity, request.days_supply, request.outcome) == (15, 5, "dispensed")

    def test_asking_leaves_it_open(self, demo: None, submit: Submit) -> None:
        request = fresh(submit(17))
        refill_decide(request, "ask", access=PHARMACIST, role="pharmacist")
        assert fresh(request).outcome is None and fresh(request).handoff.state == "open"  # type: ignore[union-attr]

    def test_a_denied_request_is_over_and_may_be_repeated(self, demo: None, submit: Submit) -> None:
        request = fresh(submit(17))
        for _ in range(2):
            refill_decide(fresh(request), "deny", access=PHARMACIST, role="pharmacist", reason="risk")
        with pytest.raises(RefillRefused, match="not_waiting"):
            refill_decide(fresh(request), "approve", access=PHARMACIST, role="pharmacist")
        assert "was not approved" in status_said(fresh(request), "en")
        assert "לא אושרה" in status_said(fresh(request), "he")
        assert submit(17).number != request.number

    def test_who_decides_on_an_outdated_row_is_refused_and_changes_nothing(
        self, demo: None, submit: Submit
    ) -> None:
        submitted = submit(17)
        outdated = fresh(submitted)
        refill_decide(fresh(submitted), "ask", access=PHYSICIAN, role="physician")
        with pytest.raises(RefillChangedMeanwhile):
            refill_decide(outdated, "deny", access=PHARMACIST, role="pharmacist")
        assert (fresh(submitted).outcome, fresh(submitted).version) == (None, outdated.version + 1)

    def test_closing_ends_the_request_and_its_handoff(self, demo: None, submit: Submit) -> None:
        request = refill_decide(fresh(submit(17)), "close", access=PHARMACIST, role="pharmacist")
        assert (request.outcome, Prescription.objects.get(pk=17).status) == ("closed", "active")
        assert (Handoff.objects.get().state, Handoff.objects.get().closed_by) == ("closed", PHARMACIST.who)

    def test_an_escalated_request_is_cancelled(self, demo: None, submit: Submit) -> None:
        request = refill_cancel(submit(17), access=PHARMACIST)
        assert (request.outcome, Prescription.objects.get(pk=17).status) == ("cancelled", "active")


class TestOneRequest:
    def test_a_second_request_learns_the_number_of_the_first(self, demo: None, submit: Submit) -> None:
        first = submit(17)
        with pytest.raises(RefillAlreadyOpen) as refusal:
            submit(17)
        assert refusal.value.number == first.number
        assert Prescription.objects.get(pk=17).status == "refill_pending"

    def test_another_patients_prescription_is_not_found(self, demo: None) -> None:
        with pytest.raises(PrescriptionNotFound):
            refill_submit(
                patient=Patient.objects.get(mrn="10000101"),
                prescription_id=17,
                store=None,
                access=Access(who="key:1", where="tests"),
                language="en",
            )
        assert not RefillRequest.objects.exists()

    def test_whoever_asks_again_at_once_learns_the_number_of_the_dispensed_one(
        self, refill: RefillRequest, submit: Submit
    ) -> None:
        with pytest.raises(RefillAlreadyOpen) as refusal:
            submit(2)
        assert refusal.value.number == refill.number and RefillRequest.objects.count() == 1
        refill_cancel(refill, access=PHARMACIST)
        assert submit(2).outcome == "dispensed"

    def test_after_a_refill_the_next_is_too_early(self, refill: RefillRequest, submit: Submit) -> None:
        RefillRequest.objects.update(updated_at=timezone.now() - timedelta(minutes=16))
        assert submit(2).reason == "early"

    def test_a_split_quantity_is_no_way_round(self, demo: None, submit: Submit) -> None:
        assert submit(2, quantity=60, days_supply=15).reason == "quantity"
        assert submit(8, quantity=61).reason == "quantity"


class TestOrders:
    def test_a_lost_answer_is_looked_up_and_counts(
        self, demo: None, fast: list[float], submit: Submit
    ) -> None:
        fault_set("dispenser", "commit_then_drop")
        assert submit(2).outcome == "dispensed"
        assert SimulatedOrder.objects.count() == 1 and fast == [2.0]

    def test_a_refusal_gives_everything_back(self, demo: None, submit: Submit) -> None:
        fault_set("dispenser", "refuse")
        request = submit(2)
        assert (request.reason, request.state) == ("order_refused", "Escalation_Complete")
        assert (Prescription.objects.get(pk=2).refills_left, packs(4)) == (5, 5)
        request = refill_decide(fresh(request), "approve", access=PHARMACIST, role="pharmacist")
        assert request.outcome == "dispensed" and packs(4) == 4

    def test_a_dispenser_that_is_down_escalates(self, demo: None, submit: Submit) -> None:
        fault_set("dispenser", "down")
        request = submit(2)
        assert (request.reason, packs(4)) == ("backend_unavailable", 5)
        assert Prescription.objects.get(pk=2).refills_left == 5

    @pytest.mark.parametrize("mode", ["slow", "garbage"])
    def test_an_order_without_an_answer_waits_and_is_sent_again_under_its_key(
        self, demo: None, fast: list[float], submit: Submit, mode: str
    ) -> None:
        fault_set("dispenser", mode)
        request = submit(2)
        assert (request.state, request.order_state, request.outcome) == ("Backend_Check", "unknown", None)
        assert (Prescription.objects.get(pk=2).refills_left, packs(4)) == (4, 4)
        late(request, minutes=1)
        refills_sweep()
        assert (fresh(request).outcome, SimulatedOrder.objects.count()) == ("dispensed", 1)

    def test_after_ten_minutes_a_person_looks_and_everything_stays_taken(
        self, demo: None, fast: list[float], submit: Submit
    ) -> None:
        fault_set("dispenser", "slow", 4)
        request = submit(2)
        late(request, minutes=11)
        assert refills_take_up() == 1
        request = fresh(request)
        assert (request.reason, request.order_state) == ("order_unknown", "unknown")
        assert (Prescription.objects.get(pk=2).refills_left, packs(4)) == (4, 4)
        fault_set("dispenser", "none")
        assert refill_decide(request, "approve", access=PHARMACIST, role="pharmacist").outcome == "dispensed"
        assert SimulatedOrder.objects.count() == 1

    def test_denying_an_order_of_unknown_outcome_takes_it_back_first(
        self, demo: None, fast: list[float], submit: Submit
    ) -> None:
        fault_set("dispenser", "slow", 4)
        request = submit(2)
        late(request, minutes=11)
        refills_take_up()
        fault_set("dispenser", "down")
        with pytest.raises(RefillRefused, match="dispenser_unavailable"):
            refill_decide(fresh(request), "deny", access=PHARMACIST, role="pharmacist")
        request = refill_decide(fresh(request), "deny", access=PHARMACIST, role="pharmacist")
        assert (request.outcome, Prescription.objects.get(pk=2).refills_left, packs(4)) == ("denied", 5, 5)

    def test_reconciliation_finds_an_order_that_was_carried_out_after_all(
        self, demo: None, fast: list[float], submit: Submit
    ) -> None:
        fault_set("dispenser", "slow", 4)
        request = submit(2)
        late(request, minutes=11)
        refills_take_up()
        fault_set("dispenser", "none")
        SimulatedOrder.objects.create(key=request.order_key, medication_id=4, units=60)
        assert refills_reconcile().only_theirs == []
        assert fresh(request).outcome == "dispensed"
        assert Handoff.objects.get().state == "decided"  # nobody needs to look any more

    def test_reconciliation_reports_each_difference_once(self, refill: RefillRequest) -> None:
        SimulatedOrder.objects.all().delete()
        SimulatedOrder.objects.create(key="stray", medication_id=4, units=60)
        late(refill, minutes=5)
        for _ in range(2):
            found = refills_reconcile()
            assert (found.only_theirs, found.only_ours) == (["stray"], [refill.order_key])
        assert Handoff.objects.count() == 2

    def test_an_order_that_is_accepted_while_our_record_is_read_is_no_difference(
        self, demo: None, fast: list[float], submit: Submit
    ) -> None:
        fault_set("dispenser", "slow", 4)
        request = submit(2)
        fault_set("dispenser", "none")
        SimulatedOrder.objects.create(key=request.order_key, medication_id=4, units=60)

        def accepted_after(execute: Any, sql: str, *rest: Any) -> Any:
            """Another process takes the answer in as soon as accepted orders were read."""
            result = execute(sql, *rest)
            if "refillrequest" in sql and "order_state" in sql and sql.startswith("SELECT"):
                accepted.append(sql)
                if len(accepted) == 2:  # the first looks for escalated ones
                    RefillRequest.objects.filter(pk=request.pk).update(
                        order_state="accepted", outcome="dispensed", state="Refill_Dispensed"
                    )
            return result

        accepted: list[str] = []
        with connection.execute_wrapper(accepted_after):
            assert refills_reconcile().only_theirs == []
        assert len(accepted) >= 2 and not Handoff.objects.exists()

    def test_after_five_failures_nothing_is_sent_any_more(
        self, demo: None, fast: list[float], submit: Submit
    ) -> None:
        fault_set("ehr", "slow", 100)
        for _ in range(7):
            request = submit(2)
            assert request.reason == "backend_unavailable"
            refill_cancel(request, access=PHARMACIST)
        assert fast == [2.0] * 5


class TestReservations:
    def test_an_expired_reservation_is_put_back_once(
        self, demo: None, submit: Submit, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("prescriptions.refill.steps.orders.order_send", _crash)
        with pytest.raises(_Crash):
            submit(2)
        request = RefillRequest.objects.get()
        assert (request.state, packs(4)) == ("Backend_Check", 4)
        assert reservations_expire() == 0
        request.reservations.update(expires_at=timezone.now())
        assert (reservations_expire(), reservations_expire(), packs(4)) == (1, 0, 5)
        monkeypatch.undo()
        assert (refill_walk(request).outcome, packs(4)) == ("dispensed", 4)


class _Crash(Exception):
    pass


def _crash(*_: Any) -> None:
    raise _Crash


@pytest.mark.parametrize(
    "place",
    [
        "prescriptions.refill.steps.safety_check",
        "prescriptions.refill.steps.stock_reserve",
        "prescriptions.refill.steps.orders.order_send",
        "prescriptions.refill.orders._submit",
        "prescriptions.refill.steps._dispense",
        "prescriptions.refill.steps.contact_find",
        "prescriptions.refill.steps.handoff_write",
    ],
)
@pytest.mark.parametrize("prescription", [2, 14])
def test_a_walk_that_crashed_is_taken_up_and_happens_once(
    demo: None, submit: Submit, monkeypatch: pytest.MonkeyPatch, place: str, prescription: int
) -> None:
    """B5, small: whatever step dies, the sweep brings the request to the same end."""
    with monkeypatch.context() as patch:
        patch.setattr(place, _crash)
        with suppress(_Crash):
            submit(prescription)
    request = RefillRequest.objects.get()
    late(request, minutes=1)
    refills_sweep()
    late(request, minutes=1)
    refills_sweep()
    request = fresh(request)
    assert replayed(request) == request.state
    if prescription == 2 and request.outcome:
        assert (request.outcome, SimulatedOrder.objects.count(), packs(4)) == ("dispensed", 1, 4)
        assert Prescription.objects.get(pk=2).refills_left == 4
    else:
        assert (request.state, request.outcome) == ("Escalation_Complete", None)
        assert Handoff.objects.filter(state="open").count() == 1
    assert AuditEvent.objects.filter(what="refill_submitted").count() == 1
