"""Check one refill by the rules: each check answers pass, warn, block or unknown, with its evidence. Pure.

It takes facts and returns checks; `prescriptions.refill.evidence` collects the facts. A check that raises is unknown,
and unknown never counts as a pass. Codes and numbers only: the checks are stored and shown to staff.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final, Literal

from prescriptions.refill.states import Reason

Level = Literal["pass", "warn", "block", "unknown"]
Match = tuple[Literal["ingredient", "class", "related"], str]


@dataclass(frozen=True)
class Lab:
    """A rule for a laboratory value, and the newest value on record; `value` None: there is none."""

    code: str
    not_older_than_days: int
    at_least: Decimal | None = None
    at_most: Decimal | None = None
    value: Decimal | None = None
    taken_on: date | None = None


@dataclass(frozen=True)
class Schedule:
    """How a controlled medicine is refilled; `decided_by` is the role that must agree."""

    name: str
    is_refillable: bool
    decided_by: str
    most_days_since_issue: int | None = None


@dataclass(frozen=True)
class Limits:
    """The most that one refill may be; None is no limit."""

    most_units: int | None = None
    most_days: int | None = None
    minimum_age: int | None = None
    maximum_age: int | None = None


@dataclass(frozen=True)
class Facts:
    """All that the checks look at, read at one moment.

    `allergies_asked_on` is the date of "no known allergies"; without a date an empty list of allergies is unknown.
    `interactions` are pairs of the requested product ("avoid" or "caution", the other product's id);
    `schedule` is None for a product that is not controlled, and a schedule without a rule has `schedule_name` only.
    """

    today: date
    born: date
    quantity: int
    days_supply: int
    is_active: bool
    refills_left: int
    expires_on: date
    issued_on: date
    prescribed_quantity: int
    prescribed_days: int
    last_filled_on: date | None
    has_allergies: bool
    allergies_asked_on: date | None
    allergy_matches: Sequence[Match] = ()
    allergies_unassessed: bool = False
    interactions: Sequence[tuple[Literal["avoid", "caution"], int]] = ()
    interactions_unassessed: bool = False
    same_ingredient: Sequence[int] = ()
    same_class: Sequence[int] = ()
    labs: Sequence[Lab] = ()
    limits: Limits = field(default_factory=Limits)
    schedule_name: str = ""
    schedule: Schedule | None = None
    acute_antibiotic: bool = False
    needs_authorisation: bool = False
    insured_units: int | None = None
    early_percent: int = 75
    early_percent_controlled: int = 90


@dataclass(frozen=True)
class Check:
    """The result of one check.

    `escalates`: a person must see it, also a warning (a cross-class allergy). `is_final`: no decision of a person
    lets it pass (Schedule II). `key` names the finding, so that a decision covers this one and no new one.
    """

    name: str
    level: Level
    reason: Reason | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    escalates: bool = False
    is_final: bool = False
    decided_by: str = ""

    @property
    def key(self) -> str:
        """Return the finding's name: the check, its level and its evidence."""
        parts = ",".join(f"{name}={value}" for name, value in sorted(self.evidence.items()))
        return f"{self.name}:{self.level}:{parts}"

    def as_json(self) -> dict[str, Any]:
        """Return the check as it is stored and shown to staff."""
        return {
            "name": self.name,
            "level": self.level,
            "reason": None if self.reason is None else str(self.reason),
            "evidence": dict(self.evidence),
            "escalates": self.escalates,
            "is_final": self.is_final,
            "decided_by": self.decided_by,
            "key": self.key,
        }


def safety_check(facts: Facts) -> list[Check]:
    """Return all checks, the most serious reason first as `PRIORITY` has them."""
    found = []
    for name, check in CHECKS.items():
        try:
            found += check(facts)
        except Exception:
            # Whatever a check cannot compute, a person must see; the error's text may hold personal data.
            found.append(_unknown(name, Reason.CHECK_FAILED))
    return sorted(found, key=lambda one: PRIORITY.index(one.reason) if one.reason else len(PRIORITY))


def can_be_refilled_from(last_filled_on: date, days_supply: int, percent: int) -> date:
    """Return the first day on which so much of the supply is used."""
    return last_filled_on + timedelta(days=-(-days_supply * percent // 100))


def _pass(name: str, **evidence: Any) -> Check:
    return Check(name, "pass", evidence=evidence)


def _block(name: str, reason: Reason, **evidence: Any) -> Check:
    return Check(name, "block", reason, evidence, escalates=True)


def _new_prescription(why: str) -> Check:
    """Return the block that nobody's decision lifts: without a valid prescription there is nothing to refill."""
    return Check("prescription", "block", Reason.NOT_REFILLABLE, {"why": why}, escalates=True, is_final=True)


def _unknown(name: str, reason: Reason, **evidence: Any) -> Check:
    return Check(name, "unknown", reason, evidence, escalates=True)


def _prescription(facts: Facts) -> list[Check]:
    if not facts.is_active or facts.expires_on < facts.today:
        return [_new_prescription("not_active")]
    if facts.refills_left < 1:
        return [_new_prescription("no_refills")]
    return [_pass("prescription", refills_left=facts.refills_left)]


def _allergy(facts: Facts) -> list[Check]:
    found = [
        Check("allergy", "warn", Reason.RELATED_ALLERGY, {"related": name}, escalates=True)
        if kind == "related"
        else _block("allergy", Reason.DIRECT_ALLERGY, **{str(kind): name})
        for kind, name in facts.allergy_matches
    ]
    if facts.allergies_unassessed:
        found.append(_unknown("allergy", Reason.ALLERGY_UNKNOWN, why="unassessed"))
    if not facts.has_allergies and facts.allergies_asked_on is None:
        found.append(_unknown("allergy", Reason.ALLERGY_UNKNOWN, why="never_asked"))
    return found or [_pass("allergy")]


def _interactions(facts: Facts) -> list[Check]:
    found = [
        _block("interactions", Reason.MAJOR_INTERACTION, medication=other)
        if level == "avoid"
        else Check("interactions", "warn", evidence={"medication": other})
        for level, other in facts.interactions
    ]
    if facts.interactions_unassessed:
        found.append(_unknown("interactions", Reason.INTERACTION_UNKNOWN))
    return found or [_pass("interactions")]


def _duplicates(facts: Facts) -> list[Check]:
    found = [
        _block("duplicate", Reason.DUPLICATE_THERAPY, medication=other) for other in facts.same_ingredient
    ]
    found += [Check("duplicate", "warn", evidence={"same_class": other}) for other in facts.same_class]
    return found or [_pass("duplicate")]


def _quantity(facts: Facts) -> list[Check]:
    limits = facts.limits
    if facts.quantity < 1 or facts.days_supply < 1 or not facts.prescribed_quantity:
        return [_unknown("quantity", Reason.QUANTITY, why="not_on_file")]
    if facts.quantity > facts.prescribed_quantity or facts.days_supply > facts.prescribed_days:
        return [_block("quantity", Reason.QUANTITY, why="more_than_prescribed")]
    # More units a day than prescribed, however few days they are for.
    if facts.quantity * facts.prescribed_days > facts.prescribed_quantity * facts.days_supply:
        return [_block("quantity", Reason.QUANTITY, why="dose")]
    if limits.most_units is not None and facts.quantity > limits.most_units:
        return [_block("quantity", Reason.QUANTITY, most_units=limits.most_units)]
    if limits.most_days is not None and facts.days_supply > limits.most_days:
        return [_block("quantity", Reason.QUANTITY, most_days=limits.most_days)]
    return [_pass("quantity")]


def _labs(facts: Facts) -> list[Check]:
    return [_lab(rule, facts.today) for rule in facts.labs] or [_pass("labs")]


def _lab(rule: Lab, today: date) -> Check:
    if rule.value is None or rule.taken_on is None:
        return _unknown("labs", Reason.LABS, code=rule.code, why="missing")
    if rule.taken_on > today or not rule.value.is_finite():
        return _unknown("labs", Reason.LABS, code=rule.code, why="impossible")
    if today - rule.taken_on > timedelta(days=rule.not_older_than_days):
        return _unknown("labs", Reason.LABS, code=rule.code, why="too_old")
    low = rule.at_least is not None and rule.value < rule.at_least
    high = rule.at_most is not None and rule.value > rule.at_most
    if low or high:
        return _block("labs", Reason.LABS, code=rule.code, why="low" if low else "high")
    return _pass("labs", code=rule.code)


def _early(facts: Facts) -> list[Check]:
    if facts.last_filled_on is None:
        return [_pass("early")]
    percent = facts.early_percent_controlled if facts.schedule_name else facts.early_percent
    first = can_be_refilled_from(facts.last_filled_on, facts.prescribed_days, percent)
    if facts.today < first:
        return [_block("early", Reason.EARLY, possible_from=first.isoformat())]
    return [_pass("early")]


def _age(facts: Facts) -> list[Check]:
    birthday_to_come = (facts.today.month, facts.today.day) < (facts.born.month, facts.born.day)
    age = facts.today.year - facts.born.year - birthday_to_come
    low, high = facts.limits.minimum_age, facts.limits.maximum_age
    if (low is not None and age < low) or (high is not None and age > high):
        return [_block("age", Reason.AGE, minimum=low, maximum=high)]
    return [_pass("age")]


def _schedule(facts: Facts) -> list[Check]:
    rule = facts.schedule
    if not facts.schedule_name:
        return [_pass("schedule")]
    if rule is None:
        return [
            _unknown("schedule", Reason.CONTROLLED_SUBSTANCE, schedule=facts.schedule_name, why="no_rule")
        ]
    evidence: dict[str, Any] = {"schedule": rule.name}
    is_old = (
        rule.most_days_since_issue is not None
        and (facts.today - facts.issued_on).days > rule.most_days_since_issue
    )
    if not rule.is_refillable or is_old:
        evidence["why"] = "new_prescription"
    return [
        Check(
            "schedule",
            "block",
            Reason.CONTROLLED_SUBSTANCE,
            evidence,
            escalates=True,
            is_final="why" in evidence,
            decided_by=rule.decided_by,
        )
    ]


def _antibiotic(facts: Facts) -> list[Check]:
    if facts.acute_antibiotic:
        return [Check("antibiotic", "warn", Reason.ACUTE_ANTIBIOTIC, escalates=True)]
    return [_pass("antibiotic")]


def stopping(checks: Sequence[Check], covered: Collection[str]) -> list[Check]:
    """Return the findings that a person must decide and no decision covers yet; a final one is never covered."""
    return [one for one in checks if one.escalates and (one.is_final or one.key not in covered)]


def coverage_check(facts: Facts) -> list[Check]:
    """Check what the insurer asks for; Backend_Check asks this, after the safety checks."""
    if facts.needs_authorisation:
        return [_block("coverage", Reason.PRIOR_AUTHORISATION)]
    if facts.insured_units is not None and facts.quantity > facts.insured_units:
        return [_block("coverage", Reason.PRIOR_AUTHORISATION, most_units=facts.insured_units)]
    return [_pass("coverage")]


CHECKS: Final[Mapping[str, Callable[[Facts], list[Check]]]] = {
    "prescription": _prescription,
    "allergy": _allergy,
    "interactions": _interactions,
    "duplicate": _duplicates,
    "quantity": _quantity,
    "labs": _labs,
    "early": _early,
    "age": _age,
    "schedule": _schedule,
    "antibiotic": _antibiotic,
}

PRIORITY: Final = (
    Reason.IDENTITY_FAILED,
    Reason.DIRECT_ALLERGY,
    Reason.CONTROLLED_SUBSTANCE,
    Reason.MAJOR_INTERACTION,
    Reason.BACKEND_UNAVAILABLE,
    Reason.LOW_CONFIDENCE,
    Reason.MAX_ATTEMPTS,
    Reason.NOT_REFILLABLE,
    Reason.CHECK_FAILED,
    Reason.ALLERGY_UNKNOWN,
    Reason.RELATED_ALLERGY,
    Reason.INTERACTION_UNKNOWN,
    Reason.DUPLICATE_THERAPY,
    Reason.QUANTITY,
    Reason.AGE,
    Reason.LABS,
    Reason.ACUTE_ANTIBIOTIC,
    Reason.EARLY,
    Reason.PRIOR_AUTHORISATION,
    Reason.OUT_OF_STOCK,
    Reason.ORDER_REFUSED,
    Reason.ORDER_UNKNOWN,
)
"""Which reason a request is said to have when there are several; all findings are in the hand-off."""
