"""Delete conversations, when their customer asks for it or the retention period ends. The audit log stays."""

from datetime import timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from agent.conversation import events
from agent.models import Conversation
from prescriptions.audit import audit_record

AT_ONCE: Final = 100


def conversation_delete(conversation_id: UUID, key: str) -> None:
    """Delete a conversation because its customer asked for it. Raises ConversationGone.

    Hand-offs stay with their numbers: somebody was promised an answer.
    """
    with transaction.atomic():
        _delete(
            events.conversation_locked(conversation_id, key),
            why="customer_asked",
            who=f"chat:{conversation_id}",
        )


def conversations_expire() -> int:
    """Delete conversations that nobody has used for the retention period, the oldest first; return how many."""
    until = timezone.now() - timedelta(days=settings.CHAT_RETENTION_DAYS)
    expired = Conversation.objects.filter(active_at__lt=until).order_by("active_at")
    ended = 0
    for conversation in expired[:AT_ONCE]:
        with transaction.atomic():
            if (
                Conversation.objects.select_for_update()
                .filter(pk=conversation.pk, active_at__lt=until)
                .exists()
            ):
                _delete(conversation, why="retention", who="system")
                ended += 1
    return ended


def _delete(conversation: Conversation, *, why: str, who: str) -> None:
    patient, pk = conversation.patient, str(conversation.pk)
    conversation.delete()
    # Last: all audit writes queue behind this one.
    audit_record(
        who=who,
        what="conversation_deleted",
        where="chat",
        why=why,
        patient=patient,
        detail={"conversation": pk},
    )
