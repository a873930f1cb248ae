"""The tables of README section 1: one stored status, two vocabularies, and what may be refilled."""

import logging
from collections.abc import Callable

import pytest
from django.utils import timezone

from inventory.models import Medication
from prescriptions.audit import Access
from prescriptions.eligibility import (
    can_refill,
    prescription_verify,
    refill_is_pending,
    refill_reason,
    status_is_known,
    status_s0,
    status_s1,
)
from prescriptions.models import AuditEvent, Patient, Prescription

ASKING = Access(who="key:1", where="tool:prescription_verify")
Prescribe = Callable[..., Prescription]


@pytest.mark.parametrize(
    ("stored", "refills", "days", "s0", "s1", "may", "reason"),
    [
        ("active", 2, 10, "active", "active", True, "2 refill(s) available"),
        ("active", 2, 0, "active", "active", True, "2 refill(s) available"),
        ("active", 2, -1, "expired", "expired", False, "Prescription is expired"),
        ("active", 0, 10, "active", "active", False, "No refills remaining"),
        ("completed", 0, 10, "completed", "expired", False, "Prescription is completed"),
        ("expired", 1, -10, "expired", "expired", False, "Prescription is expired"),
        ("cancelled", 3, 10, "expired", "cancelled", False, "Prescription is expired"),
        ("refill_pending", 1, 10, "active", "refill_pending", True, "1 refill(s) available"),
        ("on_hold", 1, 10, "expired", "expired", False, "Prescription is expired"),
    ],
)
def test_status_in_both_vocabularies(
    david: Patient,
    amoxicillin: Medication,
    prescribe: Prescribe,
    stored: str,
    refills: int,
    days: int,
    s0: str,
    s1: str,
    may: bool,
    reason: str,
) -> None:
    row = prescribe(david, amoxicillin, stored, refills, days)
    assert (status_s0(row), status_s1(row), can_refill(row), refill_reason(row)) == (s0, s1, may, reason)
    assert refill_is_pending(row) == (stored == "refill_pending")
    assert status_is_known(row) == (stored != "on_hold")


def test_unknown_status_is_logged_without_personal_data(
    david: Patient, amoxicillin: Medication, prescribe: Prescribe, caplog: pytest.LogCaptureFixture
) -> None:
    row = prescribe(david, amoxicillin, "on hold for David")
    with caplog.at_level(logging.WARNING):
        status_s0(row)
    assert [record.getMessage() for record in caplog.records] == [
        f"prescription {row.pk} has an unknown status"
    ]


@pytest.mark.parametrize(
    ("stored", "refills", "intent", "valid", "status", "remaining", "step"),
    [
        ("active", 2, "refill", True, "active", 2, "allow_refill_request"),
        ("active", 0, "refill", True, "active", 0, "cannot_proceed"),
        ("active", 0, "new", True, "active", 0, "allow_refill_request"),
        ("expired", 1, "refill", False, "expired", 1, "cannot_proceed"),
        ("expired", 1, "new", False, "expired", 1, "cannot_proceed"),
        ("completed", 3, "refill", False, "expired", 0, "cannot_proceed"),
        ("cancelled", 1, "refill", False, "cancelled", 1, "cannot_proceed"),
        ("refill_pending", 1, "refill", True, "refill_pending", 1, "cannot_proceed"),
        ("refill_pending", 1, "new", True, "refill_pending", 1, "cannot_proceed"),
        ("on_hold", 1, "refill", False, "expired", 1, "cannot_proceed"),
    ],
)
def test_verify_returns_the_facts_and_the_next_step(
    david: Patient,
    amoxicillin: Medication,
    prescribe: Prescribe,
    stored: str,
    refills: int,
    intent: str,
    valid: bool,
    status: str,
    remaining: int,
    step: str,
) -> None:
    row = prescribe(david, amoxicillin, stored, refills)
    found = prescription_verify(david, amoxicillin, intent, access=ASKING)  # type: ignore[arg-type]
    assert found.rx_required
    assert (found.has_valid_rx, found.rx_status, found.refills_remaining) == (valid, status, remaining)
    assert (found.next_step, found.expires_at, found.prescription) == (step, row.expires_on, row)


def test_verify_without_a_prescription_on_file(
    david: Patient, rachel: Patient, amoxicillin: Medication, ibuprofen: Medication, prescribe: Prescribe
) -> None:
    prescribe(rachel, amoxicillin)  # another patient's does not count
    needed = prescription_verify(david, amoxicillin, "refill", access=ASKING)
    assert needed.rx_required
    assert (needed.next_step, needed.has_valid_rx, needed.rx_status) == ("request_rx_details", False, None)
    free = prescription_verify(david, ibuprofen, "refill", access=ASKING)
    assert not free.rx_required
    assert (free.next_step, free.has_valid_rx, free.rx_status) == ("allow_refill_request", False, None)
    assert (free.expires_at, free.refills_remaining) == (None, 0)


def test_verify_takes_the_best_of_several(
    david: Patient, amoxicillin: Medication, metformin: Medication, prescribe: Prescribe
) -> None:
    prescribe(david, amoxicillin, "active", 0, 300)
    prescribe(david, amoxicillin, "cancelled", 5, 400)
    prescribe(david, amoxicillin, "active", 1, 20)
    best = prescribe(david, amoxicillin, "active", 1, 40)
    prescribe(david, metformin, "active", 9, 500)
    found = prescription_verify(david, amoxicillin, "refill", access=ASKING)
    assert found.prescription == best
    assert found.next_step == "allow_refill_request"


def test_verify_leaves_an_audit_line(david: Patient, amoxicillin: Medication, prescribe: Prescribe) -> None:
    row = prescribe(david, amoxicillin)
    prescription_verify(david, amoxicillin, "refill", access=ASKING)
    event = AuditEvent.objects.get()
    assert (event.who, event.where, event.what) == ("key:1", "tool:prescription_verify", "prescriptions_read")
    assert event.patient_id == david.pk
    assert event.detail == {"prescriptions": [row.pk]}
    assert abs((timezone.now() - event.at).total_seconds()) < 60
