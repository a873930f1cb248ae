"""Who answers in a conversation, as its customer is told: the assistant, a person, or the assistant at half its strength."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from agent.conversation import events
from agent.models import Conversation

Mode = Conversation.Mode
IN_USE: Final = timedelta(minutes=5)


def settle(conversation_id: UUID, *, degraded: bool) -> str:
    """Tells the customer when the chat has become worse or better, and returns the mode that holds now."""
    before, after = (Mode.BOT, Mode.DEGRADED) if degraded else (Mode.DEGRADED, Mode.BOT)
    with transaction.atomic():
        if Conversation.objects.filter(pk=conversation_id, mode=before).update(mode=after):
            payload = {"mode": str(after)}
            events.event_append(
                conversation_id=conversation_id, type="mode.changed", payload=payload, used=False
            )
            return str(after)
    return Conversation.objects.values_list("mode", flat=True).get(pk=conversation_id)


def settle_all(keys: Sequence[str], *, degraded: bool) -> list[str]:
    """The same for every conversation among these that is in use; returns the keys of those that were told."""
    told = []
    mode = Mode.BOT if degraded else Mode.DEGRADED
    rows = Conversation.objects.filter(mode=mode)
    if degraded:
        rows = rows.filter(active_at__gt=timezone.now() - IN_USE)
    for start in range(0, len(keys), 500):
        found = rows.filter(secret_hash__in=keys[start : start + 500])
        for pk, key in found.values_list("pk", "secret_hash"):
            settle(pk, degraded=degraded)
            told.append(key)
    return told
