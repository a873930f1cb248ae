"""Find the role that decides an escalated request, by rules, and say who may decide what. Pure.

A model may propose another contact (`prescriptions.refill.central`); `roles_for` limits what it may propose.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from prescriptions.refill.safety import Check
from prescriptions.refill.states import Reason
from prescriptions.staff_roles import PHARMACIST, PHYSICIAN

DECIDERS: Final = (PHARMACIST, PHYSICIAN)
_CLINICAL: Final = frozenset({Reason.LABS, Reason.AGE})
"""Reasons that need a physician's judgement, whatever else was found."""
_PHARMACY_ONLY: Final = frozenset(
    {
        Reason.OUT_OF_STOCK,
        Reason.ORDER_REFUSED,
        Reason.ORDER_UNKNOWN,
        Reason.BACKEND_UNAVAILABLE,
        Reason.LOW_CONFIDENCE,
        Reason.IDENTITY_FAILED,
        Reason.MAX_ATTEMPTS,
    }
)
"""Reasons that no physician is disturbed for."""


@dataclass(frozen=True)
class Contact:
    """A role, a code that says why it is the one, and the number of the person on call, None when nobody is."""

    role: str
    why: str
    person: int | None = None


def contact_by_rules(reason: Reason, findings: Sequence[Check]) -> Contact:
    """Return who all findings together need: a physician if one of them needs one's signature or judgement, else a pharmacist."""
    needed = [
        Contact(one.decided_by, f"schedule_{one.evidence.get('schedule', '')}")
        for one in findings
        if one.decided_by
    ]
    reasons = [reason, *(one.reason for one in findings if one.escalates and one.reason)]
    needed += [Contact(PHYSICIAN, str(one)) for one in reasons if one in _CLINICAL]
    needed.append(Contact(PHARMACIST, str(reason)))
    # The first of the strictest: what was found first says why.
    return max(needed, key=lambda contact: contact.role == PHYSICIAN)


def roles_for(reason: Reason, findings: Sequence[Check]) -> tuple[str, ...]:
    """Return the roles that may be chosen, the one of the rules first; a physician may judge what a pharmacist may."""
    role = contact_by_rules(reason, findings).role
    is_fixed = any(one.decided_by for one in findings) or reason in _PHARMACY_ONLY
    return (role,) if is_fixed or role == PHYSICIAN else (role, PHYSICIAN)


def may_decide(role: str, contact: str) -> bool:
    """Return whether a role may approve what waits for this contact: a physician everything, a pharmacist their own."""
    return role == PHYSICIAN or (role == PHARMACIST and contact != PHYSICIAN)
