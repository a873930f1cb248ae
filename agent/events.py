"""The numbered event log: what was said and what happened, in the order every client sees it.

The row is the truth; the channel layer only rings a bell, and a bell that is lost costs nothing but time.
"""

import hashlib
import logging
import secrets
from typing import Any
from uuid import UUID

from channels.layers import get_channel_layer
from django.db.models import F
from django.utils import timezone

from agent.models import Conversation, Event, Run

log = logging.getLogger(__name__)


def secret_hash(secret: str) -> str:
    """The form in which a conversation's secret is kept (sha256, hex)."""
    return hashlib.sha256(secret.encode()).hexdigest()


def conversation_begin(*, language: str) -> tuple[Conversation, str]:
    """A new conversation and its secret, which is given to the customer and stored nowhere."""
    secret = secrets.token_urlsafe(32)
    return Conversation.objects.create(secret_hash=secret_hash(secret), language=language), secret


def conversation_find(secret: str) -> Conversation | None:
    """The conversation that this secret opens."""
    return Conversation.objects.filter(secret_hash=secret_hash(secret)).first()


def event_append(
    *, conversation_id: UUID, type: str, payload: dict[str, Any], run: Run | None = None
) -> dict[str, Any]:
    """Writes the next numbered event and returns its frame. Call it inside a transaction.

    The UPDATE takes the conversation's row, so numbers have no gaps and no doubles however many processes write.
    """
    Conversation.objects.filter(pk=conversation_id).update(
        seq_head=F("seq_head") + 1, active_at=timezone.now()
    )
    seq = Conversation.objects.values_list("seq_head", flat=True).get(pk=conversation_id)
    event = Event.objects.create(
        conversation_id=conversation_id, seq=seq, type=type, payload=payload, run=run
    )
    return frame(event)


def events_after(conversation_id: UUID, seq: int) -> list[dict[str, Any]]:
    """The frames of the numbered events behind `seq`, in order."""
    rows = Event.objects.filter(conversation_id=conversation_id, seq__gt=seq).order_by("seq")
    return [frame(event) for event in rows]


def frame(event: Event) -> dict[str, Any]:
    """An event as clients read it."""
    return {"v": 1, "type": event.type, "seq": event.seq, **event.payload}


def group(conversation_id: UUID) -> str:
    """The channel group of a conversation's open sockets."""
    return f"conversation.{conversation_id.hex}"


async def bell_ring(conversation_id: UUID) -> None:
    """Tells open sockets that the log has grown."""
    await _send(conversation_id, {"type": "bell"})


async def ephemeral_send(conversation_id: UUID, frame: dict[str, Any]) -> None:
    """Passes on an event that is not kept (progress, deltas) to whoever listens now."""
    await _send(conversation_id, {"type": "ephemeral", "frame": {"v": 1, **frame}})


async def _send(conversation_id: UUID, message: dict[str, Any]) -> None:
    layer = get_channel_layer()
    if layer is None:
        return
    try:
        await layer.group_send(group(conversation_id), message)
    except (
        Exception
    ) as error:  # the layer may be any broker client; without it, clients read the log on their poll
        log.warning("channel layer unavailable: %s", type(error).__name__)
