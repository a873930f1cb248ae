"""Find the role that decides an escalated request, by rules, and say who may decide what. Pure.

A model may propose a contact later (`ContactChooser`); these rules check what it proposes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from prescriptions.refill.safety import Check
from prescriptions.refill.states import Reason

PHARMACIST: Final = "pharmacist"
PHYSICIAN: Final = "physician"
DECIDERS: Final = (PHARMACIST, PHYSICIAN)
_CLINICAL: Final = frozenset({Reason.LABS, Reason.AGE})


@dataclass(frozen=True)
class Contact:
    """A role, and a code that says why it is the one."""

    role: str
    why: str


class ContactChooser(Protocol):
    """Chooses the contact for a reason and the findings behind it."""

    def __call__(self, reason: Reason, findings: Sequence[Check]) -> Contact:
        """Return the contact."""


def contact_by_rules(reason: Reason, findings: Sequence[Check]) -> Contact:
    """Return a physician for what needs one's signature or judgement, else a pharmacist."""
    for one in findings:
        if one.decided_by:
            return Contact(one.decided_by, f"schedule_{one.evidence.get('schedule', '')}")
    if reason in _CLINICAL:
        return Contact(PHYSICIAN, str(reason))
    return Contact(PHARMACIST, str(reason))


def may_decide(role: str, contact: str) -> bool:
    """Return whether a role may approve what waits for this contact: a physician everything, a pharmacist their own."""
    return role == PHYSICIAN or (role == PHARMACIST and contact != PHYSICIAN)
