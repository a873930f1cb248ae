"""Delete conversations and calls of tools, when their customer asks for it or their time is over. The audit log stays."""

from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from agent.conversation import events
from agent.models import Conversation, IdempotentCall, ToolCall
from pharmacy_site.lib.retention import Kind
from prescriptions.audit import audit_record
from prescriptions.models import Handoff
from prescriptions.retention import refills_in_progress

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


def conversations_past() -> QuerySet[Conversation]:
    """Return the conversations that nobody has used for their time, and in which neither staff nor a refill is waited for."""
    until = timezone.now() - timedelta(days=settings.CHAT_RETENTION_DAYS)
    going_on = refills_in_progress().filter(conversation_id=OuterRef("pk"))
    return Conversation.objects.filter(~_is_waited_for("pk"), ~Exists(going_on), active_at__lt=until)


def conversations_expire() -> int:
    """Delete conversations that are past their time, the oldest first, a hundred at most; return how many."""
    ended = 0
    for conversation in conversations_past().order_by("active_at")[:AT_ONCE]:
        with transaction.atomic():
            if conversations_past().select_for_update(of=("self",)).filter(pk=conversation.pk).exists():
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


def _is_waited_for(conversation: str) -> Exists:
    """Return whether a person is waited for in the conversation that this column names."""
    return Exists(Handoff.objects.waiting().filter(conversation_id=OuterRef(conversation)))


def _toolcalls(until: datetime) -> QuerySet[Any]:
    """Return the calls of systems and of answers; whoever has a hand-off still sees what its answers were made from."""
    return ToolCall.objects.filter(~_is_waited_for("run__conversation_id"), created_at__lt=until)


def _idempotent_calls(until: datetime) -> QuerySet[Any]:
    """Return the stored responses to systems: a repetition so late would be answered anew."""
    return IdempotentCall.objects.filter(created_at__lt=until)


KINDS: Final = (
    Kind("tool_calls", "RETENTION_TOOL_CALLS_DAYS", _toolcalls),
    Kind("idempotent_calls", "RETENTION_TOOL_CALLS_DAYS", _idempotent_calls),
)
