"""Let hand-offs follow their patient: to the conversation in which they are now, and to who it proved to be."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from prescriptions.audit import audit_record
from prescriptions.models import Handoff, Patient
from prescriptions.signals import handoff_changed


def seen_here(handoff: Handoff, seen_seq: int, seen_in: UUID | None) -> int:
    """Return up to which message of its conversation somebody has read; 0 when they read another one.

    Numbers of messages count in one conversation. Whoever does not say in which they read (`seen_in`) is believed only
    while the hand-off has never moved. One of a failed identity names several conversations and never moves.
    """
    named = handoff.reason != Handoff.Reason.IDENTITY_FAILED and handoff.package.get("conversations")
    if seen_in is None and not named:
        return seen_seq
    return seen_seq if seen_in == handoff.conversation_id else 0


def handoff_move(handoff: Handoff, conversation_id: UUID) -> None:
    """Let a hand-off go on in another conversation; its package names the earlier ones, whose words staff still read.

    Call it inside a transaction that has locked the row, or the row of its patient.
    """
    before = handoff.conversation_id
    if before is None or before == conversation_id:
        return
    earlier = [one for one in handoff.package.get("conversations", []) if one != str(conversation_id)]
    handoff.package = handoff.package | {"conversations": [*earlier, str(before)]}
    handoff.conversation_id = conversation_id
    handoff.save(update_fields=["conversation_id", "package"])
    handoff_changed.send(sender=Handoff, handoff=handoff, event="moved", moved_from=before)


def handoffs_identify(conversation_id: UUID, patient: Patient, *, verified: Mapping[str, Any]) -> None:
    """Make the open hand-offs of a conversation that are nobody's this patient's, who was identified in it just now.

    Otherwise staff would read nothing of what the patient writes from then on. One of failed verifications stays nobody's,
    and so does one for a reason for which the patient has an open hand-off. `verified` is for the package.
    """
    with transaction.atomic():
        # As in opening: who gives one patient hand-offs does so one after the other. What only refers to the patient
        # may go on meanwhile, because it may hold the conversation that is locked next.
        Patient.objects.select_for_update(no_key=True).get(pk=patient.pk)
        unknown = Handoff.objects.waiting().filter(conversation_id=conversation_id, patient=None)
        unknown = unknown.exclude(reason=Handoff.Reason.IDENTITY_FAILED)
        for row in unknown.select_for_update(of=("self",)).order_by("pk"):
            if Handoff.objects.waiting().filter(patient=patient, reason=row.reason).exists():
                continue
            row.patient, row.package = patient, row.package | {"verified": dict(verified)}
            row.save(update_fields=["patient", "package"])
            handoff_changed.send(sender=Handoff, handoff=row, event="identified")
            audit_record(
                who=f"chat:{conversation_id}",
                what="handoff_identified",
                where="chat",
                why=row.reason,
                patient=patient,
                detail={"handoff": row.number},
            )
