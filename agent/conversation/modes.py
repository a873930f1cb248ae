"""Who answers in a conversation: the assistant, a person, or the assistant with reduced means."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from agent.conversation import events
from agent.models import Conversation
from prescriptions.models import Handoff

Mode = Conversation.Mode
IN_USE: Final = timedelta(minutes=5)


def mode_set(conversation: Conversation, mode: str) -> None:
    """Write this mode, with an event for the customer, if it is another; call it with the conversation's row locked.

    Whenever a person takes the conversation, or the assistant gets it back, answers begun before it are no longer written.
    """
    before = conversation.mode
    if before == mode:
        return
    changes: dict[str, Any] = {"mode": mode}
    if Mode.HUMAN in (before, mode) or (before, mode) == (Mode.QUEUED, Mode.BOT):
        changes["ownership"] = F("ownership") + 1
    Conversation.objects.filter(pk=conversation.pk).update(**changes)
    conversation.mode = mode
    events.event_append(
        conversation_id=conversation.pk, type="mode.changed", payload={"mode": str(mode)}, used=False
    )


def mode_settle(conversation_id: UUID, *, is_new: bool = False) -> None:
    """Set the mode that the conversation's hand-offs ask for, in the transaction that changed one (`is_new`: opened it).

    Without an open one the assistant answers; a person keeps the conversation as long as somebody has claimed one of
    them. Raises ConversationGone.
    """
    conversation = events.conversation_locked(conversation_id)
    claims = list(
        Handoff.objects.waiting()
        .filter(conversation_id=conversation_id)
        .values_list("claimed_by_id", flat=True)
    )
    if not claims:
        if conversation.mode in (Mode.QUEUED, Mode.HUMAN):
            mode_set(conversation, Mode.BOT)
    elif (is_new and conversation.mode != Mode.HUMAN) or (
        conversation.mode == Mode.HUMAN and not any(claims)
    ):
        mode_set(conversation, Mode.QUEUED)


def set_degraded(conversation_id: UUID, *, degraded: bool) -> str:
    """Change between normal and degraded mode, with an event for the customer, and return the mode that holds now."""
    before, after = (Mode.BOT, Mode.DEGRADED) if degraded else (Mode.DEGRADED, Mode.BOT)
    with transaction.atomic():
        if Conversation.objects.filter(pk=conversation_id, mode=before).update(mode=after):
            payload = {"mode": str(after)}
            events.event_append(
                conversation_id=conversation_id, type="mode.changed", payload=payload, used=False
            )
            return str(after)
    return Conversation.objects.values_list("mode", flat=True).get(pk=conversation_id)


def set_degraded_all(keys: Sequence[str], *, degraded: bool) -> list[str]:
    """Change the mode of these conversations, given as the hashes of their secrets; return the keys of those changed.

    Only conversations that are in use become degraded.
    """
    changed = []
    rows = Conversation.objects.filter(mode=Mode.BOT if degraded else Mode.DEGRADED)
    if degraded:
        rows = rows.filter(active_at__gt=timezone.now() - IN_USE)
    # SQLite takes some thousand parameters at most.
    for start in range(0, len(keys), 500):
        found = rows.filter(secret_hash__in=keys[start : start + 500])
        for pk, key in found.values_list("pk", "secret_hash"):
            set_degraded(pk, degraded=degraded)
            changed.append(key)
    return changed
