"""Let the person who claimed a hand-off decide it: refills by their own service, all others by those of hand-offs."""

from collections.abc import Mapping
from typing import Final

from django.contrib.auth.models import User
from django.db import models
from django.utils.translation import gettext_lazy as _

from prescriptions.audit import Access
from prescriptions.cases.queue import person_name
from prescriptions.errors import HandoffRefused, HandoffTaken, RefillChangedMeanwhile
from prescriptions.handoffs.rights import is_own
from prescriptions.handoffs.services import handoff_close, handoff_extend, handoff_pass_on
from prescriptions.models import Handoff, RefillRequest
from prescriptions.refill.collection import Pickup
from prescriptions.refill.contacts import DECIDERS
from prescriptions.refill.services import refill_decide
from prescriptions.refill.states import State
from prescriptions.roles import roles_of
from prescriptions.staff_roles import LADDER, PHYSICIAN


class Decision(models.TextChoices):
    """What may be done with a claimed hand-off; the first four only with a refill."""

    APPROVE = "approve", _("Approve")
    CHANGE_QUANTITY = "change_quantity", _("Approve with another quantity")
    ASK = "ask", _("Ask the customer")
    DENY = "deny", _("Deny")
    PASS_ON = "pass_on", _("Pass on")
    CLOSE = "close", _("Close")


class DecisionReason(models.TextChoices):
    """Why; a code, which the audit log may hold."""

    REVIEWED = "reviewed", _("reviewed and acceptable")
    PRESCRIBER_CONFIRMED = "prescriber_confirmed", _("the prescriber confirmed it")
    AUTHORISED = "authorised", _("the insurer authorised it")
    STOCK = "stock", _("as much as is in stock")
    UNSAFE = "unsafe", _("not safe with what is on record")
    TOO_EARLY = "too_early", _("too early")
    NEW_PRESCRIPTION = "new_prescription", _("a new prescription is needed")
    PRESCRIBER_REFUSED = "prescriber_refused", _("the prescriber refused it")
    NOT_AUTHORISED = "not_authorised", _("the insurer did not authorise it")
    NOT_IDENTIFIED = "not_identified", _("it is not certain who asks")
    OTHER = "other", _("another reason")


_OF_REFILLS: Final = frozenset({Decision.APPROVE, Decision.CHANGE_QUANTITY, Decision.ASK, Decision.DENY})
_Reason, _Outcome = DecisionReason, Handoff.Outcome
REASONS: Final[Mapping[str, tuple[DecisionReason, ...]]] = {
    Decision.APPROVE: (_Reason.REVIEWED, _Reason.PRESCRIBER_CONFIRMED, _Reason.AUTHORISED, _Reason.OTHER),
    Decision.CHANGE_QUANTITY: (
        *(_Reason.REVIEWED, _Reason.STOCK, _Reason.PRESCRIBER_CONFIRMED),
        *(_Reason.AUTHORISED, _Reason.OTHER),
    ),
    Decision.DENY: (
        *(_Reason.UNSAFE, _Reason.TOO_EARLY, _Reason.NEW_PRESCRIPTION, _Reason.PRESCRIBER_REFUSED),
        *(_Reason.NOT_AUTHORISED, _Reason.NOT_IDENTIFIED, _Reason.OTHER),
    ),
}
"""The reasons of each decision that has some; who approves without choosing one means the first, a denial needs one."""
OUTCOMES: Final = (
    *(_Outcome.ANSWERED, _Outcome.BY_PHONE, _Outcome.IN_BRANCH, _Outcome.NO_REPLY),
    *(_Outcome.CANCELLED, _Outcome.DUPLICATE, _Outcome.UNANSWERED),
)
"""How somebody may close a hand-off."""


def case_decide(
    handoff: Handoff,
    user: User,
    decision: str,
    *,
    access: Access,
    is_fresh: bool = False,
    reason: str = "",
    quantity: int | None = None,
    reference: str = "",
    question: str = "",
    pickup: Pickup | None = None,
    note: str = "",
    role: str = "",
    person: User | None = None,
    outcome: str = "",
    version: int | None = None,
) -> RefillRequest | None:
    """Do what the person who claimed a hand-off decided, and return the refill that it was about.

    `role` and `person` are those of "pass_on", `outcome` that of "close"; `version` is that of the refill which was decided
    on, when it is known: one that has changed since is not decided. All else is as in `refill_decide`.
    Raises HandoffTaken (it is not this person's), HandoffRefused and RefillRefused with a code, and RefillChangedMeanwhile.
    """
    refill = refill_of(handoff)
    # Of the row on which the decision is made: what changes it after this makes `refill_decide` refuse.
    if version is not None and (refill is None or refill.version != version):
        raise RefillChangedMeanwhile
    if decision not in Decision.values or (refill is None and decision in _OF_REFILLS):
        raise HandoffRefused("no_such_decision")
    if is_own(user, handoff):
        raise HandoffRefused("own_request")
    # In one statement, so that a claim that has just been released counts no longer.
    if not handoff_extend(handoff, user):
        handoff.refresh_from_db()
        raise HandoffRefused("over") if handoff.is_over else HandoffTaken(person_name(handoff.claimed_by))
    if decision == Decision.PASS_ON:
        if role not in roles_for(handoff):
            raise HandoffRefused("role")
        handoff_pass_on(handoff, user, access=access, role=role, person=person, note=note)
        return refill
    if decision == Decision.CLOSE and outcome not in OUTCOMES:
        raise HandoffRefused("outcome")
    if refill is None:
        handoff_close(handoff=handoff, access=access, outcome=outcome)
        return None
    return refill_decide(
        refill,
        decision,
        access=access,
        role=_role(user),
        is_fresh=is_fresh,
        reason=_reason(decision, reason),
        quantity=quantity,
        reference=reference,
        question=question,
        pickup=pickup,
        note=note,
        outcome=outcome,
    )


def refill_of(handoff: Handoff) -> RefillRequest | None:
    """Return the request that waits for the decision of a hand-off; None when it is about something else."""
    rows = RefillRequest.objects.select_related("prescription__medication", "patient", "store", "handoff")
    return rows.filter(handoff=handoff, outcome=None, state=State.COMPLETE).first()


def is_waiting(refill: RefillRequest, handoff: Handoff) -> bool:
    """Return whether a request waits for the decision of this hand-off."""
    return refill.handoff_id == handoff.pk and refill.outcome is None and refill.state == State.COMPLETE


def roles_for(handoff: Handoff) -> tuple[str, ...]:
    """Return the roles to which a hand-off may be passed on: of a refill only those that may decide it."""
    refill = refill_of(handoff)
    if refill is None:
        return LADDER
    return (PHYSICIAN,) if refill.contact == PHYSICIAN else DECIDERS


def _reason(decision: str, given: str) -> str:
    """Return the reason's code, or raise HandoffRefused for one that is missing or belongs to another decision."""
    known = REASONS.get(decision, ())
    if given:
        if given not in known:
            raise HandoffRefused("reason")
        return given
    if decision == Decision.DENY:
        raise HandoffRefused("reason")
    return str(known[0]) if known else ""


def _role(user: User) -> str:
    """Return the group by which somebody decides, "" for none, also of a superuser."""
    if user.is_superuser:
        return ""
    groups = roles_of(user)
    return next((role for role in reversed(DECIDERS) if role in groups), "")
