"""Who answers in a conversation: the assistant, a person, or the assistant with reduced means."""

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
