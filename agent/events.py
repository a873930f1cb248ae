"""The numbered event log: what was said and what happened, in the order every client sees it.

The rows are the truth; `agent/hub.py` only tells open sockets that they have grown.
"""

import hashlib
import secrets
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import DateTimeField, UUIDField
from django.utils import timezone

from agent.models import ChatSite, Conversation, Event, Run
from agent.wording import Language, say
from pharmacy_site.lib.errors import PharmacyError


class ConversationGone(PharmacyError):
    """The secret opens nothing any more: the conversation was deleted, or went on in another window."""


def secret_hash(secret: str) -> str:
    """The form in which a conversation's secret is kept (sha256, hex)."""
    return hashlib.sha256(secret.encode()).hexdigest()


def conversation_begin(*, language: str, site: ChatSite | None = None) -> tuple[Conversation, str]:
    """A new conversation, perhaps in a site's frame, and its secret, which is given to the customer and stored nowhere."""
    secret = secrets.token_urlsafe(32)
    begun = Conversation.objects.create(secret_hash=secret_hash(secret), language=language, site=site)
    return begun, secret


def conversation_find(secret: str) -> Conversation | None:
    """The conversation that this secret opens."""
    return Conversation.objects.filter(secret_hash=secret_hash(secret)).first()


def conversation_get(conversation_id: UUID) -> Conversation:
    """The conversation with its patient and its site. Raises ConversationGone."""
    rows = Conversation.objects.select_related("patient", "site")
    found = rows.filter(pk=conversation_id).first()
    if found is None:
        raise ConversationGone
    return found


def conversation_locked(conversation_id: UUID, key: str | None = None) -> Conversation:
    """The conversation's row, taken for this transaction. `key` is the hash of the secret that the caller holds.

    Raises ConversationGone.
    """
    rows = Conversation.objects.select_for_update().filter(pk=conversation_id)
    found = (rows.filter(secret_hash=key) if key else rows).first()
    if found is None:
        raise ConversationGone
    return found


def event_append(
    *, conversation_id: UUID, type: str, payload: dict[str, Any], run: Run | None = None, used: bool = True
) -> dict[str, Any]:
    """Writes the next numbered event and returns its frame. Call it inside a transaction.

    The UPDATE takes the conversation's row, so numbers have no gaps and no doubles however many processes write.
    What is nobody's doing (`used` is false) keeps no proof of identity alive. Raises ConversationGone when the
    conversation was deleted meanwhile.
    """
    seq = _seq_next(conversation_id, used=used)
    event = Event.objects.create(
        conversation_id=conversation_id, seq=seq, type=type, payload=payload, run=run
    )
    return frame(event)


def _seq_next(conversation_id: UUID, *, used: bool) -> int:
    """Takes the next number in one statement, which the ORM cannot say: an UPDATE that returns."""
    key = UUIDField().get_db_prep_value(conversation_id, connection)
    active_at = DateTimeField().get_db_prep_value(timezone.now(), connection) if used else None
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE agent_conversation SET seq_head = seq_head + 1, active_at = COALESCE(%s, active_at)"
            " WHERE id = %s RETURNING seq_head",
            [active_at, key],
        )
        row = cursor.fetchone()
    if row is None:
        raise ConversationGone
    return int(row[0])


def events_after(key: str, seq: int) -> list[dict[str, Any]]:
    """The frames of the numbered events behind `seq`, in order, for the holder of the secret with this hash."""
    rows = Event.objects.filter(conversation__secret_hash=key, seq__gt=seq).order_by("seq")
    return [frame(event) for event in rows]


def veiled(frames: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same events for somebody who has not (or no longer) proved who they are: what is a patient's is left out."""
    return [_veiled(frame) for frame in frames]


def _veiled(frame: dict[str, Any]) -> dict[str, Any]:
    if frame["type"] == "confirm.requested":
        return frame | {"summary": frame["summary"] | {"rows": []}}
    if not frame.get("personal"):
        return frame
    language: Language = "he" if frame["lang"] == "he" else "en"
    return frame | {"text": say("veiled", language), "cards": [], "suggestions": [], "tools": []}


def heads(keys: Sequence[str]) -> dict[str, int]:
    """The number of the last event of each conversation that these hashes still open."""
    found: dict[str, int] = {}
    for start in range(0, len(keys), 500):  # SQLite takes some thousand parameters, no more
        rows = Conversation.objects.filter(secret_hash__in=keys[start : start + 500])
        found |= dict(rows.values_list("secret_hash", "seq_head"))
    return found


def frame(event: Event) -> dict[str, Any]:
    """An event as clients read it."""
    told: dict[str, Any] = {"v": 1, "type": event.type, "seq": event.seq, "at": event.created_at.isoformat()}
    return {**told, **event.payload}
