"""Open and close hand-offs; the row with its number exists before a customer is promised a person."""

from typing import Final
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from prescriptions.audit import audit_record
from prescriptions.models import Handoff, Patient
from prescriptions.signals import handoff_closed

# Added to the id, so that the first customer does not read "H-1".
_NUMBER_OFFSET: Final = 1000


def handoff_open(
    *,
    conversation_id: UUID | None,
    reason: str,
    run_key: str,
    language: str,
    patient: Patient | None = None,
    summary: str = "",
    is_urgent: bool = False,
) -> Handoff:
    """Return the hand-off of this run, creating it if it does not exist yet; `reason` is a code.

    `is_urgent`: an emergency is open in its conversation, so staff see it before all others.
    """
    with transaction.atomic():
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
                "is_urgent": is_urgent,
            },
        )
        if created:
            handoff.number = f"H-{_NUMBER_OFFSET + handoff.pk}"
            handoff.save(update_fields=["number"])
            who = f"chat:{conversation_id}" if conversation_id else "system"
            _record(handoff, who=who, what="handoff_opened", where="chat" if conversation_id else "system")
    return handoff


def handoffs_waiting() -> QuerySet[Handoff]:
    """Return the open hand-offs in the order in which staff take them: emergencies first, then the oldest."""
    return Handoff.objects.filter(state=Handoff.State.OPEN).order_by("-is_urgent", "pk")


def waiting_before(handoff: Handoff) -> int:
    """Return how many open hand-offs staff take before this one."""
    is_before = Q(is_urgent=handoff.is_urgent, pk__lt=handoff.pk)
    if not handoff.is_urgent:
        is_before |= Q(is_urgent=True)
    return handoffs_waiting().filter(is_before).count()


def handoffs_mark_urgent(conversation_id: UUID) -> None:
    """Put the open hand-offs of a conversation before all others: an emergency was recognised in it."""
    Handoff.objects.filter(conversation_id=conversation_id, state=Handoff.State.OPEN).update(is_urgent=True)


def handoff_close(*, handoff: Handoff, actor: str) -> bool:
    """Close a hand-off and return whether it was open; `actor` is "user:<id>"."""
    with transaction.atomic():
        closed = Handoff.objects.filter(pk=handoff.pk, state=Handoff.State.OPEN).update(
            state=Handoff.State.CLOSED, closed_at=timezone.now(), closed_by=actor
        )
        if closed:
            # First the signal, whose receivers may lock a conversation: the audit head is locked last everywhere.
            handoff_closed.send(sender=Handoff, handoff=handoff)
            _record(handoff, who=actor, what="handoff_closed", where="admin")
    return bool(closed)


def _record(handoff: Handoff, *, who: str, what: str, where: str) -> None:
    audit_record(
        who=who,
        what=what,
        where=where,
        why=handoff.reason,
        patient=handoff.patient,
        detail={"handoff": handoff.number},
    )
