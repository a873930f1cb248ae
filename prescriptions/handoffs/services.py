"""Open, claim, pass on and end hand-offs; the row with its number exists before a customer is promised a person.

Each function takes the hand-off's row before any conversation's, writes its audit line last, and announces what
happened by the signal `handoff_changed`, inside its transaction.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID, uuid4

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from inventory.models import Medication
from prescriptions.audit import Access, AuditDetail, audit_record
from prescriptions.errors import HandoffRefused, HandoffTaken
from prescriptions.handoffs.deadlines import deadlines_shorten, deadlines_write
from prescriptions.handoffs.limits import handoff_admit
from prescriptions.handoffs.moves import handoff_move
from prescriptions.handoffs.rights import is_own, may_take
from prescriptions.handoffs.selectors import contact_email_left
from prescriptions.handoffs.sla import Due, dues_of, haste_of
from prescriptions.handoffs.staff_notices import staff_notify
from prescriptions.models import Handoff, HandoffDeadline, Notification, Patient
from prescriptions.roles import roles_of
from prescriptions.signals import handoff_changed
from prescriptions.staff_roles import LADDER, PHARMACIST, TECHNICIAN
from stores.models import Store

# Added to the id, so that the first customer does not read "H-1".
_NUMBER_OFFSET: Final = 1000
CLAIM_TIME: Final = timedelta(minutes=15)
"""After so long without anything done, a claim is released."""
_Reason, _State, _Outcome = Handoff.Reason, Handoff.State, Handoff.Outcome
_FOR_TECHNICIANS: Final = frozenset({_Reason.STOCK, _Reason.PICKUP, _Reason.COMPLAINT})
_URGENT: Final = frozenset({_Reason.EXTRA_DOSE, _Reason.ADVERSE_REACTION})


@dataclass(frozen=True)
class Contact:
    """Who takes a hand-off: a role, why that role (a code), and who of it is on call."""

    role: str
    why: str = ""
    person: int | None = None


def handoff_open(
    *,
    conversation_id: UUID | None,
    reason: str,
    run_key: str,
    language: str,
    patient: Patient | None = None,
    summary: str = "",
    is_urgent: bool = False,
    contact: Contact | None = None,
    package: Mapping[str, Any] | None = None,
    medication: Medication | None = None,
    branch: Store | None = None,
    address_key: str = "",
    reasons: Collection[str] = (),
) -> Handoff:
    """Return the hand-off of this run, creating it with its deadlines and notices to staff if it does not exist yet.

    `reason` is a code, `contact` by default the role for that reason; the most pressing of `reasons`, the findings about a
    refill, counts for the deadlines. A patient has one open hand-off for each reason
    (of refills one for each request): a second one returns the first, which moves to the newest conversation. Raises
    HandoffLimited when too many were opened from this address or in this conversation.
    """
    with transaction.atomic():
        known = Handoff.objects.filter(run_key=run_key).first()
        if known is None and patient is not None and reason != _Reason.REFILL:
            # Locked: whoever opens hand-offs of one patient at the same time does so one after the other. Rows that only
            # refer to the patient need not wait.
            Patient.objects.select_for_update(no_key=True).get(pk=patient.pk)
            # Locked, too: staff may be closing it, or passing it on.
            same = Handoff.objects.waiting().select_for_update(of=("self",))
            known = same.filter(patient=patient, reason=reason).order_by("pk").first()
            if known is not None and conversation_id:
                handoff_move(known, conversation_id)
            if known is not None and is_urgent:
                handoff_make_urgent(known)
        if known is not None:
            return known
        urgent = is_urgent or reason in _URGENT
        if reason != _Reason.REFILL:
            handoff_admit(conversation_id, address_key, urgent=urgent, patient=patient)
        contact = contact or Contact(TECHNICIAN if reason in _FOR_TECHNICIANS else PHARMACIST, reason)
        handoff, created = Handoff.objects.get_or_create(
            run_key=run_key,
            defaults={
                # A placeholder: the number contains the id.
                "number": str(uuid4()),
                "conversation_id": conversation_id,
                "reason": reason,
                "language": language,
                "patient": patient,
                "summary": summary,
                "is_urgent": urgent,
                "contact": contact.role,
                "contact_why": contact.why,
                "contact_person_id": contact.person,
                "package": dict(package or {}),
                "medication": medication,
                "branch": branch,
                "address_key": address_key,
                "contact_email": "" if patient else contact_email_left(conversation_id),
            },
        )
        if not created:
            return handoff
        handoff.number = f"H-{_NUMBER_OFFSET + handoff.pk}"
        handoff.save(update_fields=["number"])
        deadlines_write(handoff, _dues(handoff, reasons))
        staff_notify(handoff, Notification.Kind.HANDOFF_OPENED)
        handoff_changed.send(sender=Handoff, handoff=handoff, event="opened")
        who = f"chat:{conversation_id}" if conversation_id else "system"
        _record(handoff, "opened", Access(who, "chat" if conversation_id else "system"))
    return handoff


def handoffs_mark_urgent(
    conversation_id: UUID, *, numbers: Collection[str] = (), patient: Patient | None = None
) -> None:
    """Put hand-offs before all others and notify staff: an emergency was recognised in this conversation.

    They are its own, those with these numbers (shown there before they went on in another conversation, or shared with
    it), and all of this patient. Call it in the transaction of that, before the conversation is locked.
    """
    theirs = Q(conversation_id=conversation_id) | Q(number__in=numbers)
    if patient is not None:
        theirs |= Q(patient=patient)
    rows = Handoff.objects.waiting().filter(theirs, is_urgent=False)
    for row in rows.select_for_update(of=("self",)).order_by("pk"):
        handoff_make_urgent(row)


def handoff_make_urgent(row: Handoff) -> None:
    """Put a locked, open hand-off before all others, bring its deadlines forward, and notify staff again."""
    if row.is_urgent or row.is_over:
        return
    row.is_urgent = True
    row.save(update_fields=["is_urgent"])
    deadlines_shorten(row, _dues(row))
    staff_notify(row, Notification.Kind.HANDOFF_OPENED, again="urgent")
    handoff_changed.send(sender=Handoff, handoff=row, event="urgent")


# -- Who has it ---------------------------------------------------------------------------------------------
def handoff_claim(handoff: Handoff, user: User, *, access: Access) -> Handoff:
    """Give the hand-off, and the unclaimed ones of its conversation that this person may take, to this person.

    Claiming again extends the claim. Raises HandoffTaken (somebody else has it) and HandoffRefused.
    """
    with transaction.atomic():
        rows = _with_siblings(handoff)
        row = next(one for one in rows if one.pk == handoff.pk)
        _may_act(row, user)
        if row.claimed_by_id not in (None, user.pk):
            raise HandoffTaken(_holder(row))
        now = timezone.now()
        if row.claimed_by_id is not None:
            row.claim_until = now + CLAIM_TIME
            row.save(update_fields=["claim_until"])
            return row
        taken = [
            row,
            *(one for one in rows if one.claimed_by_id is None and one != row and may_take(user, one)),
        ]
        for one in taken:
            one.state, one.claimed_by, one.claimed_at = _State.CLAIMED, user, now
            one.claim_until = now + CLAIM_TIME
            one.save(update_fields=["state", "claimed_by", "claimed_at", "claim_until"])
            handoff_changed.send(sender=Handoff, handoff=one, event="claimed")
        for one in taken:
            _record(one, "claimed", access)
    return row


def handoff_held(handoff: Handoff, user: User) -> Handoff:
    """Return the row of a hand-off that this person has claimed, locked; call it inside a transaction.

    Raises HandoffTaken and HandoffRefused.
    """
    row = _locked(handoff)
    _may_act(row, user)
    if row.claimed_by_id != user.pk:
        raise HandoffTaken(_holder(row))
    return row


def handoff_extend(handoff: Handoff, user: User) -> bool:
    """Extend the claim of whoever does something with a hand-off, and return whether it is theirs."""
    mine = Handoff.objects.waiting().filter(pk=handoff.pk, claimed_by=user)
    return mine.update(claim_until=timezone.now() + CLAIM_TIME) > 0


def handoff_release(handoff: Handoff, user: User, *, access: Access) -> Handoff:
    """Put a claimed hand-off back into the queue. Raises HandoffTaken and HandoffRefused."""
    with transaction.atomic():
        row = handoff_held(handoff, user)
        _unclaim(row, "released", access)
    return row


def claims_expire() -> int:
    """Release the claims whose holders have done nothing for CLAIM_TIME, and return how many those were."""
    due = Handoff.objects.waiting().filter(claim_until__lte=timezone.now()).order_by("pk")
    released = 0
    for pk in list(due.values_list("pk", flat=True)):
        with transaction.atomic():
            row = due.select_for_update(of=("self",)).filter(pk=pk).first()
            if row is not None:
                _unclaim(row, "claim_expired", Access("system", "sweep"))
                released += 1
    return released


def handoff_pass_on(
    handoff: Handoff, user: User, *, access: Access, role: str, person: User | None = None, note: str = ""
) -> Handoff:
    """Give a claimed hand-off to another role, or to a person of it; it waits there unclaimed, and they are notified.

    `note` is for whoever takes it. Raises HandoffTaken and HandoffRefused ("role": no such role, or the person has another).
    """
    if role not in LADDER or (person is not None and role not in roles_of(person)):
        raise HandoffRefused("role")
    with transaction.atomic():
        row = handoff_held(handoff, user)
        row.contact, row.contact_person = role, person
        if note:
            notes = [*row.package.get("notes", []), {"by": user.pk, "text": note}]
            row.package = row.package | {"notes": notes}
        row.save(update_fields=["contact", "contact_person", "package"])
        _unclaim(row, "passed_on", access, {"role": role, "person": person.pk if person else None})
    return row


def handoff_raise(handoff: Handoff, *, access: Access, phase: str, again: str) -> None:
    """Notify the supervisors of a hand-off that was not claimed, or not decided, in time; a claim stays while it is live.

    Call it inside a transaction that has locked the row. The customer hears of it by the signal. `again` tells the times
    apart at which the same phase is overdue.
    """
    handoff.raised_at = timezone.now()
    handoff.save(update_fields=["raised_at"])
    staff_notify(handoff, Notification.Kind.HANDOFF_RAISED, again=again)
    handoff_changed.send(sender=Handoff, handoff=handoff, event="raised")
    _record(handoff, "raised", access, {"phase": phase})


# -- How it ends --------------------------------------------------------------------------------------------
def handoff_close(*, handoff: Handoff, access: Access, outcome: str = _Outcome.UNANSWERED) -> bool:
    """End a hand-off and return whether it was open. APPROVED, CHANGED and DENIED make it decided, all others closed."""
    decided = outcome in {_Outcome.APPROVED, _Outcome.CHANGED, _Outcome.DENIED}
    with transaction.atomic():
        row = Handoff.objects.waiting().select_for_update(of=("self",)).filter(pk=handoff.pk).first()
        if row is None:
            return False
        row.state = _State.DECIDED if decided else _State.CLOSED
        row.closed_at, row.closed_by, row.outcome = timezone.now(), access.who, outcome
        row.save(update_fields=["state", "closed_at", "closed_by", "outcome"])
        # First the signal, whose receivers may lock a conversation: the audit head is locked last everywhere.
        handoff_changed.send(sender=Handoff, handoff=row, event=str(row.state))
        _record(row, str(row.state), access, {"outcome": outcome})
    return True


def handoff_replied(handoff: Handoff, user: User, *, access: Access) -> None:
    """Record that a member of staff wrote to the customer; call it in the transaction of the message."""
    now = timezone.now()
    Handoff.objects.filter(pk=handoff.pk, first_reply_at=None).update(first_reply_at=now)
    handoff_extend(handoff, user)
    handoff_changed.send(sender=Handoff, handoff=handoff, event="replied")
    _record(handoff, "replied", access)


def handoff_given_back(handoff: Handoff, user: User, *, access: Access) -> None:
    """Record that the assistant answers again though the hand-off is open; call it in the transaction of that change."""
    handoff_extend(handoff, user)
    handoff_changed.send(sender=Handoff, handoff=handoff, event="given_back")
    _record(handoff, "given_back", access)


# -- Inside -------------------------------------------------------------------------------------------------
def _locked(handoff: Handoff) -> Handoff:
    return Handoff.objects.select_for_update(of=("self",)).get(pk=handoff.pk)


def _may_act(row: Handoff, user: User) -> None:
    if row.is_over:
        raise HandoffRefused("over")
    if is_own(user, row):
        raise HandoffRefused("own_request")
    if not may_take(user, row):
        raise HandoffRefused("role")


def _with_siblings(handoff: Handoff) -> list[Handoff]:
    """Return the hand-off and those that wait in its conversation, locked in one order: one owner for all."""
    asked = Q(pk=handoff.pk)
    if handoff.conversation_id is not None:
        asked |= Q(conversation_id=handoff.conversation_id, closed_at=None)
    return list(Handoff.objects.select_for_update(of=("self",)).filter(asked).order_by("pk"))


def _dues(handoff: Handoff, reasons: Collection[str] = ()) -> list[tuple[HandoffDeadline.Phase, Due]]:
    """Return until when a hand-off is to be claimed and decided if its time begins now."""
    # A site without stores has hand-offs, too.
    store = handoff.branch or Store.objects.filter(pk=settings.REFERENCE_BRANCH).first()
    codes = {handoff.reason, handoff.contact_why, *reasons}
    to_claim, to_decide = dues_of(haste_of(codes, is_urgent=handoff.is_urgent), store, timezone.now())
    return [(HandoffDeadline.Phase.CLAIM, to_claim), (HandoffDeadline.Phase.DECIDE, to_decide)]


def _holder(row: Handoff) -> str:
    return row.claimed_by.get_full_name() or row.claimed_by.get_username() if row.claimed_by else ""


def _unclaim(row: Handoff, event: str, access: Access, detail: AuditDetail | None = None) -> None:
    """Put a row back into the queue, in the caller's transaction; the time until it is claimed begins anew."""
    row.state, row.claimed_by, row.claimed_at, row.claim_until = _State.OPEN, None, None, None
    row.save(update_fields=["state", "claimed_by", "claimed_at", "claim_until"])
    deadlines_write(row, _dues(row)[:1])
    staff_notify(row, Notification.Kind.HANDOFF_OPENED, again=uuid4().hex[:12])
    handoff_changed.send(sender=Handoff, handoff=row, event=event)
    _record(row, event, access, detail)


def _record(row: Handoff, verb: str, access: Access, detail: AuditDetail | None = None) -> None:
    audit_record(
        who=access.who,
        what=f"handoff_{verb}",
        where=access.where,
        why=row.reason,
        patient=row.patient,
        detail={"handoff": row.number, **(detail or {})},
    )
