"""The checks of a refill, one by one, without a database."""

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

from prescriptions.refill.contacts import contact_by_rules, may_decide
from prescriptions.refill.safety import (
    CHECKS,
    PRIORITY,
    Check,
    Facts,
    Lab,
    Limits,
    Schedule,
    can_be_refilled_from,
    coverage_check,
    safety_check,
    stopping,
)
from prescriptions.refill.states import Reason
from prescriptions.refill.wording import staff_note

TODAY = date(2026, 3, 1)
GOOD = Facts(
    today=TODAY,
    born=date(1980, 3, 1),
    quantity=60,
    days_supply=30,
    is_active=True,
    refills_left=1,
    expires_on=TODAY,
    issued_on=TODAY - timedelta(days=30),
    prescribed_quantity=60,
    prescribed_days=30,
    last_filled_on=TODAY - timedelta(days=23),
    has_allergies=False,
    allergies_asked_on=TODAY - timedelta(days=400),
)
LAB = Lab(
    "egfr",
    365,
    at_least=Decimal(30),
    at_most=Decimal(200),
    value=Decimal(30),
    taken_on=TODAY - timedelta(days=365),
)
III = Schedule("III", True, "physician", 180)


def test_what_is_in_order_passes() -> None:
    checks = safety_check(GOOD)
    assert {one.level for one in checks} == {"pass"}
    assert [one.name for one in checks] == list(CHECKS)
    assert stopping(checks, ()) == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"is_active": False}, Reason.NOT_REFILLABLE),
        ({"expires_on": TODAY - timedelta(days=1)}, Reason.NOT_REFILLABLE),
        ({"refills_left": 0}, Reason.NOT_REFILLABLE),
        ({"has_allergies": True, "allergy_matches": [("ingredient", "x")]}, Reason.DIRECT_ALLERGY),
        ({"has_allergies": True, "allergy_matches": [("class", "x")]}, Reason.DIRECT_ALLERGY),
        ({"has_allergies": True, "allergy_matches": [("related", "x")]}, Reason.RELATED_ALLERGY),
        ({"has_allergies": True, "allergies_unassessed": True}, Reason.ALLERGY_UNKNOWN),
        ({"allergies_asked_on": None}, Reason.ALLERGY_UNKNOWN),
        ({"interactions": [("avoid", 15)]}, Reason.MAJOR_INTERACTION),
        ({"interactions": [("caution", 20), ("avoid", 15)]}, Reason.MAJOR_INTERACTION),
        ({"interactions_unassessed": True}, Reason.INTERACTION_UNKNOWN),
        ({"same_ingredient": [3]}, Reason.DUPLICATE_THERAPY),
        ({"quantity": 61}, Reason.QUANTITY),
        ({"days_supply": 31}, Reason.QUANTITY),
        ({"days_supply": 29}, Reason.QUANTITY),
        ({"quantity": 30, "days_supply": 14}, Reason.QUANTITY),
        ({"quantity": 0}, Reason.QUANTITY),
        ({"prescribed_quantity": 0}, Reason.QUANTITY),
        ({"limits": Limits(most_units=59)}, Reason.QUANTITY),
        ({"limits": Limits(most_days=29)}, Reason.QUANTITY),
        ({"limits": Limits(minimum_age=47)}, Reason.AGE),
        ({"limits": Limits(minimum_age=46), "born": date(1980, 3, 2)}, Reason.AGE),
        ({"limits": Limits(maximum_age=45)}, Reason.AGE),
        ({"labs": [replace(LAB, value=None)]}, Reason.LABS),
        ({"labs": [replace(LAB, taken_on=None)]}, Reason.LABS),
        ({"labs": [LAB, replace(LAB, value=Decimal("29.99"))]}, Reason.LABS),
        ({"labs": [replace(LAB, value=Decimal(201))]}, Reason.LABS),
        ({"labs": [replace(LAB, taken_on=TODAY - timedelta(days=366))]}, Reason.LABS),
        ({"last_filled_on": TODAY - timedelta(days=22)}, Reason.EARLY),
        ({"last_filled_on": TODAY + timedelta(days=1)}, Reason.EARLY),
        ({"schedule_name": "III"}, Reason.CONTROLLED_SUBSTANCE),
        ({"schedule_name": "III", "schedule": III}, Reason.CONTROLLED_SUBSTANCE),
        ({"schedule_name": "V", "schedule": Schedule("V", True, "pharmacist")}, Reason.CONTROLLED_SUBSTANCE),
        ({"acute_antibiotic": True}, Reason.ACUTE_ANTIBIOTIC),
    ],
)
def test_each_fact_stops_the_refill_by_itself(changes: dict[str, Any], reason: Reason) -> None:
    stops = stopping(safety_check(replace(GOOD, **changes)), ())
    assert stops[0].reason == reason
    assert {one.reason for one in stops} <= {reason, Reason.EARLY}  # a controlled one is also early at 75 %


@pytest.mark.parametrize(
    "changes",
    [
        {"interactions": [("caution", 20)]},
        {"same_class": [20]},
        {"has_allergies": True, "allergies_asked_on": None},
        {"quantity": 30, "days_supply": 15},
        {"limits": Limits(60, 30, 46, 46)},
        {"labs": [LAB]},
        {"last_filled_on": None},
    ],
)
def test_what_is_only_a_warning_or_at_the_limit_goes_on(changes: dict[str, Any]) -> None:
    assert stopping(safety_check(replace(GOOD, **changes)), ()) == []


@pytest.mark.parametrize(
    ("days", "percent", "first"), [(30, 75, 23), (30, 90, 27), (28, 75, 21), (10, 90, 9), (1, 75, 1)]
)
def test_the_first_day_of_the_next_refill(days: int, percent: int, first: int) -> None:
    assert can_be_refilled_from(TODAY, days, percent) == TODAY + timedelta(days=first)


def test_a_controlled_medicine_waits_longer() -> None:
    facts = replace(GOOD, schedule_name="III", schedule=III)
    assert {one.reason for one in safety_check(facts)} == {None, Reason.CONTROLLED_SUBSTANCE, Reason.EARLY}
    later = replace(facts, last_filled_on=TODAY - timedelta(days=27))
    assert Reason.EARLY not in {one.reason for one in safety_check(later)}


@pytest.mark.parametrize(
    "changes",
    [
        {"schedule_name": "II", "schedule": Schedule("II", False, "physician")},
        {"schedule_name": "III", "schedule": III, "issued_on": TODAY - timedelta(days=181)},
        {"refills_left": 0},
        {"is_active": False},
    ],
)
def test_a_new_prescription_is_needed_whatever_is_decided(changes: dict[str, Any]) -> None:
    checks = safety_check(replace(GOOD, **changes))
    assert stopping(checks, [one.key for one in checks])


def test_a_decision_covers_what_was_seen_and_nothing_else() -> None:
    seen = safety_check(replace(GOOD, interactions=[("avoid", 15)]))
    keys = [one.key for one in seen]
    assert stopping(seen, keys) == []
    now = safety_check(replace(GOOD, interactions=[("avoid", 15), ("avoid", 16)]))
    assert [one.evidence for one in stopping(now, keys)] == [{"medication": 16}]


def test_a_check_that_raises_is_unknown() -> None:
    broken = replace(GOOD, interactions=[("avoid",)])  # type: ignore[list-item]
    (stop,) = stopping(safety_check(broken), ())
    assert (stop.name, stop.level, stop.reason) == ("interactions", "unknown", Reason.CHECK_FAILED)


def test_the_insurer_is_asked_separately() -> None:
    assert stopping(coverage_check(GOOD), ()) == []
    for changes in ({"needs_authorisation": True}, {"insured_units": 59}):
        (stop,) = stopping(coverage_check(replace(GOOD, **changes)), ())  # type: ignore[arg-type]
        assert stop.reason == Reason.PRIOR_AUTHORISATION


def test_every_reason_has_a_rank_and_words_in_both_languages() -> None:
    assert sorted(PRIORITY) == sorted(Reason)
    english = {staff_note("R-1", "pharmacist", [str(reason)], "en") for reason in Reason}
    hebrew = {staff_note("R-1", "pharmacist", [str(reason)], "he") for reason in Reason}
    assert len(english) == len(hebrew) == len(Reason) and english.isdisjoint(hebrew)


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_contact_who_may_decide(reason: Reason) -> None:
    contact = contact_by_rules(reason, [])
    assert may_decide(contact.role, contact.role) and may_decide("physician", contact.role)
    assert not any(may_decide(role, contact.role) for role in ("technician", "auditor", "administrator", ""))


def test_the_schedules_rule_names_the_contact() -> None:
    finding = Check(
        "schedule", "block", Reason.CONTROLLED_SUBSTANCE, {"schedule": "III"}, decided_by="physician"
    )
    contact = contact_by_rules(Reason.DIRECT_ALLERGY, [finding])
    assert (contact.role, contact.why) == ("physician", "schedule_III")
    assert not may_decide("pharmacist", contact.role)
