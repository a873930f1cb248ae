"""The numbered event log: what was said and what happened, in the order every client sees it.

The rows are the truth; `agent/chat/hub.py` only tells open sockets that they have grown.
"""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from agent.answers.render import say
from agent.models import ChatSite, Conversation, Event, Run
from pharmacy_site.lib.errors import PharmacyError
from pharmacy_site.lib.rows import (
    Columns,
    Question,
    asked,
    changed_together,
    insertion,
    rows_insert,
    stored,
)
from pharmacy_site.lib.text import as_language
from prescriptions.models import Patient


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


_TALK, _PATIENT, _SITE = Columns(Conversation, "talk"), Columns(Patient, "patient"), Columns(ChatSite, "site")
_GET: Final = f"""SELECT {_TALK.sql}, {_PATIENT.sql}, {_SITE.sql}
FROM agent_conversation talk
LEFT JOIN prescriptions_patient patient ON patient.id = talk.patient_id
LEFT JOIN agent_chatsite site ON site.id = talk.site_id
WHERE talk.id = %(id)s
"""


def conversation_get(conversation_id: UUID) -> Conversation:
    """The conversation with its patient and its site. Raises ConversationGone."""
    return asked(conversation_question(conversation_id))


def conversation_question(conversation_id: UUID) -> Question[Conversation]:
    """The same, to be asked together with others."""
    return Question(_GET, stored(Conversation, id=conversation_id), _conversation)


def _conversation(rows: Sequence[tuple[Any, ...]]) -> Conversation:
    if not rows:
        raise ConversationGone
    row = rows[0]
    found = _TALK.instance(row[: len(_TALK)])
    if found.patient_id is not None:
        found.patient = _PATIENT.instance(row[len(_TALK) : -len(_SITE)])
    if found.site_id is not None:
        found.site = _SITE.instance(row[-len(_SITE) :])
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


# The ORM has no UPDATE that returns: with one, the row is locked, numbered and read in one statement. What is used keeps
# a proof of who asks alive, unless it is over: after 15 idle minutes, or 60 in all.
_HOLDS: Final = "NOT %(is_used)s OR (active_at >= %(active_since)s AND verified_at >= %(verified_since)s)"
_NUMBERED: Final = f"""seq_head = seq_head + 1,
    patient_id = CASE WHEN {_HOLDS} THEN patient_id END,
    verified_at = CASE WHEN {_HOLDS} THEN verified_at END,
    active_at = CASE WHEN %(is_used)s THEN %(active_at)s ELSE active_at END
"""
_NEXT: Final = f"""UPDATE agent_conversation SET {_NUMBERED},
    state = COALESCE(%(state)s, state), language = COALESCE(%(language)s, language)
WHERE id = %(id)s
RETURNING seq_head
"""
_OPENED: Final = "WHERE id = %(id)s AND secret_hash = COALESCE(%(secret_hash)s, secret_hash)"
_SAID: Final = f"""UPDATE agent_conversation SET {_NUMBERED},
    latitude = CASE WHEN %(is_moved)s THEN %(latitude)s ELSE latitude END,
    longitude = CASE WHEN %(is_moved)s THEN %(longitude)s ELSE longitude END
{_OPENED}
RETURNING seq_head
"""


def _used(*, is_used: bool = True) -> dict[str, Any]:
    """The parameters of a numbering."""
    now = timezone.now()
    idle, most = timedelta(seconds=settings.IDENTITY_IDLE), timedelta(seconds=settings.IDENTITY_MAX)
    return stored(Conversation, active_at=now) | {
        "active_since": stored(Conversation, active_at=now - idle)["active_at"],
        "verified_since": stored(Conversation, verified_at=now - most)["verified_at"],
        "is_used": is_used,
    }


def event_append(
    *,
    conversation_id: UUID,
    type: str,
    payload: dict[str, Any],
    run: Run | None = None,
    patient: Patient | None = None,
    used: bool = True,
    talk: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Writes the next numbered event and returns its frame. Call it inside a transaction.

    The UPDATE takes the conversation's row, so numbers have no gaps and no doubles however many processes write.
    What is nobody's doing (`used` is false) leaves the proof of who asks as it is. An answer comes with what the `talk` is
    now about and in: the conversation's `state` and `language`. `patient` is who was proven to ask. Raises
    ConversationGone when the conversation was deleted meanwhile.
    """
    changes = talk or {"state": None, "language": None}
    taken = stored(Conversation, id=conversation_id, **changes) | _used(is_used=used)
    seq = asked(Question(_NEXT, taken, _number))
    event = Event(
        conversation_id=conversation_id, seq=seq, type=type, payload=payload, run=run, patient=patient
    )
    rows_insert([event])
    return frame(event)


def message_append(
    run: Run, key: str | None, payload: dict[str, Any], place: tuple[float | None, float | None] | None = None
) -> int:
    """Writes a customer's message and the run that is to answer it, both or neither; returns the message's number.

    `key` is the hash of the secret that the caller holds; a `place` is the customer's from now on. Raises ConversationGone.
    """
    latitude, longitude = place or (None, None)
    held = stored(Conversation, id=run.conversation_id, secret_hash=key or None)
    moved = stored(Conversation, latitude=latitude, longitude=longitude) | {"is_moved": place is not None}
    event = Event(conversation_id=run.conversation_id, type="message.completed", payload=payload)
    opened = f"FROM agent_conversation {_OPENED}"
    seq, *_ = changed_together(
        Question(_SAID, held | moved | _used(), _number),
        insertion(event, opened, held, seq="seq_head", patient="patient_id"),
        insertion(run, opened, held, input_seq="seq_head"),
    )
    return int(seq)


def _number(rows: Sequence[tuple[Any, ...]]) -> int:
    """The number that a conversation's UPDATE took; with it the row is this transaction's."""
    if not rows:
        raise ConversationGone
    return int(rows[0][0])


_MESSAGE: Final = Columns(Event, "agent_event", "seq", "payload", "patient")
_MESSAGES: Final = f"""SELECT {_MESSAGE.sql} FROM agent_event
WHERE conversation_id = %(conversation)s AND type = 'message.completed'
    AND seq <= (SELECT input_seq FROM agent_run WHERE conversation_id = %(conversation)s AND state = 'running')
ORDER BY seq DESC LIMIT %(most)s
"""


class Messages:
    """The last messages of a conversation, as rows: they are only read where they are told."""

    def __init__(self, rows: Sequence[tuple[Any, ...]]) -> None:
        self._rows = rows

    def last(self, seq: int) -> tuple[dict[str, Any], int | None]:
        """What the last of them holds, which must have this number, and who was proven to ask. Raises Event.DoesNotExist."""
        if not self._rows or self._rows[0][0] != seq:
            raise Event.DoesNotExist
        _, payload, owner = _MESSAGE.values(self._rows[0])
        return payload, owner

    def before(self, seq: int, patient_id: int | None) -> list[dict[str, Any]]:
        """What those before a number hold, oldest first: nobody's, and those of the patient who asks now."""
        found = (_MESSAGE.values(row) for row in reversed(self._rows) if row[0] < seq)
        return [
            payload
            for _, payload, owner in found
            if (not payload.get("personal") if owner is None else owner == patient_id)
        ]


def messages_question(conversation_id: UUID, most: int) -> Question[Messages]:
    """The last messages of a conversation up to the one whose run is at work, at most so many."""
    return Question(_MESSAGES, stored(Event, conversation=conversation_id) | {"most": most}, Messages)


def events_after(key: str, seq: int) -> list[dict[str, Any]]:
    """The frames of the numbered events behind `seq`, in order, for the holder of the secret with this hash.

    What comes of one patient's question after another was proven is left out.
    """
    rows = Event.objects.filter(conversation__secret_hash=key, seq__gt=seq)
    found = rows.select_related("conversation").order_by("seq")
    return [
        veiled(frame(event))
        if event.patient_id is not None and _viewer(event.conversation) not in (None, event.patient_id)
        else frame(event)
        for event in found
    ]


def events_shown(conversation: Conversation, seq: int) -> list[dict[str, Any]]:
    """The same for somebody who comes back: without all that was said while another was proven to ask than is now."""
    rows = conversation.events.filter(seq__gt=seq).order_by("seq")
    return [frame(event) if is_shown(event, conversation) else veiled(frame(event)) for event in rows]


def is_shown(event: Event, conversation: Conversation) -> bool:
    """Whether somebody who comes back may see an event."""
    if event.patient_id is None:
        # Rows of before it was written down whose they are.
        return not event.payload.get("personal") and event.type != "confirm.requested"
    return event.patient_id == _viewer(conversation)


def _viewer(conversation: Conversation) -> int | None:
    return conversation.patient_id if conversation.is_proven else None


def veiled(told: dict[str, Any]) -> dict[str, Any]:
    """The frame of an event without what was said in it."""
    if told["type"] == "confirm.requested":
        return told | {"summary": told["summary"] | {"rows": []}}
    if told["type"] != "message.completed":
        return told
    language = as_language(told["lang"])
    text = say("veiled" if told["role"] == "assistant" else "veiled_words", language)
    hidden = {"text": text, "cards": [], "suggestions": [], "tools": []}
    return told | {key: value for key, value in hidden.items() if key in told}


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
