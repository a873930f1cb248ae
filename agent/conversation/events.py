"""The numbered event log: what was said and what happened, in the order in which every client sees it.

The rows are the truth; `agent/chat/hub.py` only tells open sockets that there are new ones.
"""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, cast
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.utils import timezone

from agent.answers.render import say
from agent.conversation.records import ConversationChanges, MessagePayload, NumberedEvent
from agent.models import ChatSite, Conversation, Event, Run, ToolCall
from pharmacy_site.lib.errors import PharmacyError
from pharmacy_site.lib.text import as_language
from prescriptions.models import Patient
from prescriptions.transcripts import Looked, Said


class ConversationGone(PharmacyError):
    """The secret opens no conversation: it was deleted, or went on in another window."""


# -- Conversations ------------------------------------------------------------------------------------------
def secret_hash(secret: str) -> str:
    """Return the form in which a conversation's secret is stored (sha256, hex)."""
    return hashlib.sha256(secret.encode()).hexdigest()


def conversation_begin(*, language: str, site: ChatSite | None = None) -> tuple[Conversation, str]:
    """Create a conversation, perhaps in a site's frame, and its secret, which the customer gets and nobody stores."""
    secret = secrets.token_urlsafe(32)
    conversation = Conversation.objects.create(secret_hash=secret_hash(secret), language=language, site=site)
    return conversation, secret


def conversation_find(secret: str) -> Conversation | None:
    """Return the conversation that this secret opens."""
    return Conversation.objects.filter(secret_hash=secret_hash(secret)).first()


def conversation_get(conversation_id: UUID) -> Conversation:
    """Return the conversation with its patient and its site. Raises ConversationGone."""
    found = Conversation.objects.select_related("patient", "site").filter(pk=conversation_id).first()
    if found is None:
        raise ConversationGone
    return found


def conversation_locked(conversation_id: UUID, key: str | None = None) -> Conversation:
    """Return the conversation, its row locked until the transaction ends. Raises ConversationGone.

    `key` is the hash of the secret that the caller holds. Whoever locks other rows too locks this one first: in
    another order two transactions wait for each other.
    """
    rows = Conversation.objects.select_for_update().filter(pk=conversation_id)
    found = (rows.filter(secret_hash=key) if key else rows).first()
    if found is None:
        raise ConversationGone
    return found


# -- Writing ------------------------------------------------------------------------------------------------
# Written as SQL because every message and every answer runs it: one statement instead of two.
_NEXT_NUMBER: Final = (
    "UPDATE agent_conversation SET seq_head = seq_head + 1{changes}"
    " WHERE id = %s AND %s IN ('', secret_hash) RETURNING *"
)
# A new `active_at` would revive an identity whose time is over (see `Conversation.is_proven`), so that one is removed.
_USED: Final = """,
active_at = %s,
patient_id = CASE WHEN verified_at >= %s AND active_at >= %s THEN patient_id END,
verified_at = CASE WHEN verified_at >= %s AND active_at >= %s THEN verified_at END
"""


def number_take(
    conversation_id: UUID,
    key: str | None = None,
    *,
    used: bool = True,
    changes: ConversationChanges | None = None,
) -> Conversation:
    """Give a conversation its next event number, `seq_head`, and return its row, locked. Raises ConversationGone.

    Call it inside a transaction: the lock lasts until that ends, so numbers have no gaps and no doubles however many
    processes write. `changes` are fields to write with it. `used=False`: a system event, which does not extend the
    time for which an identity holds.
    """
    columns, values = "", []
    for name, value in (changes or {}).items():
        columns += f", {name} = %s"
        values.append(_stored(name, value))
    if used:
        now = timezone.now()
        proven = [
            _stored("verified_at", now - timedelta(seconds=settings.IDENTITY_MAX)),
            _stored("active_at", now - timedelta(seconds=settings.IDENTITY_IDLE)),
        ]
        columns += _USED
        values += [_stored("active_at", now), *proven, *proven]
    found = Conversation.objects.raw(
        _NEXT_NUMBER.format(changes=columns), [*values, _stored("id", conversation_id), key or ""]
    )
    conversation = next(iter(found), None)
    if conversation is None:
        raise ConversationGone
    return conversation


def _stored(column: str, value: object) -> object:
    """Return a value as this database stores it in a column of the conversations."""
    field: Any = Conversation._meta.get_field(column)
    return field.get_db_prep_value(value, connection)


def event_append(
    *,
    conversation_id: UUID,
    type: str,
    payload: Mapping[str, Any],
    run: Run | None = None,
    patient: Patient | None = None,
    used: bool = True,
    changes: ConversationChanges | None = None,
) -> NumberedEvent:
    """Write the next numbered event and return it as clients read it. Call it inside a transaction.

    `patient` is whose identity was proven; `used` and `changes` are those of `number_take`. Raises ConversationGone.
    """
    conversation = number_take(conversation_id, used=used, changes=changes)
    event = Event.objects.create(
        conversation=conversation,
        seq=conversation.seq_head,
        type=type,
        payload=dict(payload),
        run=run,
        patient=patient,
    )
    return numbered(event)


# -- Reading ------------------------------------------------------------------------------------------------
class Message(NamedTuple):
    """A message of the log: its number, its content, and the patient whose identity was proven."""

    seq: int
    payload: MessagePayload
    patient_id: int | None
    at: datetime


def messages_until(conversation_id: UUID, seq: int, most: int) -> list[Message]:
    """Return the last messages with numbers up to `seq`, oldest first, at most so many."""
    rows = Event.objects.filter(conversation_id=conversation_id, type="message.completed", seq__lte=seq)
    found = rows.order_by("-seq").values_list("seq", "payload", "patient_id", "created_at")[:most]
    return [Message(*row) for row in reversed(found)]


def messages_for(messages: Sequence[Message], patient_id: int | None) -> list[MessagePayload]:
    """Return the content of the messages that a model may read while this patient is identified."""
    return [
        message.payload
        for message in messages
        if (
            not message.payload.get("personal")
            if message.patient_id is None
            else message.patient_id == patient_id
        )
    ]


def transcript_read(conversation_id: UUID, patient_id: int | None, most: int) -> list[Said]:
    """Return the last messages that staff may read for this patient, oldest first (`CONVERSATION_READER`)."""
    found = messages_until(conversation_id, 2**31 - 1, most)
    calls = _calls_of(found)
    return [
        Said(
            role=str(said["role"]),
            text=str(said["text"]),
            language=str(said.get("lang", "")),
            seq=message.seq,
            at=message.at,
            author=str(said.get("author", "")),
            is_automatic=bool(said.get("automatic")),
            calls=calls.get(str(said.get("run_id", "")), ()),
        )
        for message in found
        for said in messages_for([message], patient_id)
    ]


def _calls_of(messages: Sequence[Message]) -> dict[str, list[Looked]]:
    """Return the calls of tools for these answers, by run."""
    runs = [message.payload["run_id"] for message in messages if message.payload.get("run_id")]
    found: dict[str, list[Looked]] = {}
    for call in ToolCall.objects.filter(run__in=runs).order_by("pk"):
        looked = Looked(call.name, call.arguments, call.ok, call.code, call.evidence)
        found.setdefault(str(call.run_id), []).append(looked)
    return found


def events_after(key: str, seq: int) -> list[NumberedEvent]:
    """Return the events behind `seq`, in order, for the holder of the secret with this hash.

    Those of one patient are redacted while another is identified.
    """
    rows = Event.objects.filter(conversation__secret_hash=key, seq__gt=seq)
    found = rows.select_related("conversation").order_by("seq")
    return [redacted(numbered(event)) if _is_of_another(event) else numbered(event) for event in found]


def _is_of_another(event: Event) -> bool:
    """Return whether an event is not for whoever sits at an open page: nobody's identity may be proven there by now.

    An answer is to who asked just before; what staff write may come hours later.
    """
    allowed = (event.patient_id,) if event.payload.get("role") == "staff" else (None, event.patient_id)
    return event.patient_id is not None and _viewer(event.conversation) not in allowed


def events_shown(conversation: Conversation, seq: int) -> list[NumberedEvent]:
    """Return the events behind `seq` for somebody who comes back: those of any patient but the present one redacted."""
    rows = conversation.events.filter(seq__gt=seq).order_by("seq")
    return [numbered(event) if is_shown(event, conversation) else redacted(numbered(event)) for event in rows]


def is_shown(event: Event, conversation: Conversation) -> bool:
    """Return whether somebody who comes back may see an event."""
    if event.patient_id is None:
        # Rows that are older than the `patient` column.
        return not event.payload.get("personal") and event.type != "confirm.requested"
    return event.patient_id == _viewer(conversation)


def _viewer(conversation: Conversation) -> int | None:
    return conversation.patient_id if conversation.is_proven else None


def redacted(event: NumberedEvent) -> NumberedEvent:
    """Return an event as clients read it, without what was said in it."""
    if event["type"] == "confirm.requested":
        return {**event, "summary": {**event["summary"], "rows": []}}
    if event["type"] == "handoff.updated":
        return cast("NumberedEvent", {key: value for key, value in event.items() if key != "contact"})
    if event["type"] == "refill.updated":
        # What a pharmacist asks may name a medicine.
        left = {key: value for key, value in event.items() if key != "card"}
        return cast("NumberedEvent", left | {"message": say("veiled", as_language(event["lang"]))})
    if event["type"] != "message.completed":
        return event
    key = {"user": "veiled_words", "staff": "veiled_staff"}.get(event["role"], "veiled")
    text = say(key, as_language(event["lang"]))
    hidden = {
        "text": text,
        "brief": "",
        "author": "",
        "cards": [],
        "suggestions": [],
        "tools": [],
        "locate": False,
    }
    left = event | {key: value for key, value in hidden.items() if key in event}
    return cast("NumberedEvent", left | {"veiled": True})


def heads(keys: Sequence[str]) -> dict[str, int]:
    """Return the number of the last event of each conversation that these hashes still open."""
    found: dict[str, int] = {}
    # SQLite takes some thousand parameters at most.
    for start in range(0, len(keys), 500):
        rows = Conversation.objects.filter(secret_hash__in=keys[start : start + 500])
        found |= dict(rows.values_list("secret_hash", "seq_head"))
    return found


def numbered(event: Event) -> NumberedEvent:
    """Return an event as clients read it."""
    head = {"v": 1, "type": event.type, "seq": event.seq, "at": event.created_at.isoformat()}
    return cast("NumberedEvent", head | event.payload)
