"""What customers send is accepted here: messages, codes, the wish for a person, the end of a run, each within its limits."""

from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from agent.conversation import events
from agent.conversation.handoff import handoff_announce
from agent.conversation.runs import OPEN, run_end
from agent.models import Conversation, Event, Run
from pharmacy_site.lib.counters import minute_admits
from pharmacy_site.lib.errors import PharmacyError
from pharmacy_site.lib.rows import Question, asked, stored
from pharmacy_site.lib.text import clean, language_of
from prescriptions import handoffs, identity
from prescriptions.errors import CodeExpired, CodeLocked, CodeWrong
from prescriptions.masking import masked
from prescriptions.models import Handoff, Patient


class Unchanged(Enum):
    """A message that says nothing about the customer's place."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = Unchanged.UNCHANGED
Location = tuple[float, float]


class RateLimited(PharmacyError):
    """Too many messages; `retry_after` in seconds."""

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after


@dataclass(frozen=True)
class Accepted:
    """A message that is committed: its event's number and whether it had been accepted before."""

    seq: int
    duplicate: bool


@dataclass(frozen=True)
class CodeOutcome:
    """What came of a code: "ok", "wrong" (with tries left), "expired" or "locked"."""

    outcome: str
    tries_left: int = 0
    patient: Patient | None = None

    def told(self) -> dict[str, Any]:
        """What the run is told: never who it is, never the code."""
        return {"outcome": self.outcome, "tries_left": self.tries_left}


def message_accept(
    *,
    conversation_id: UUID,
    client_msg_id: UUID,
    text: str,
    address: str,
    key: str | None = None,
    location: Location | Unchanged | None = UNCHANGED,
) -> Accepted:
    """Commits a customer's message and the run that will answer it; the same id twice gives the same number.

    Secrets are read and masked here, before anything is stored. Raises RateLimited and ConversationGone.
    """
    known, language = accept_precheck(conversation_id, client_msg_id)
    if known is not None:
        return Accepted(known, duplicate=True)
    said = clean(text)
    read = masked(said, challenge_open=True)
    if read.code and identity.challenge_open(conversation_id) is None:
        read = masked(said, challenge_open=False)  # a number like any other: nobody waits for a code
    # A try at a code is committed by itself, before anything is told: a rollback may not give it back.
    tried = _code_try(conversation_id, read.code, address) if read.code else None
    body: dict[str, Any] = {
        "role": "user",
        "client_msg_id": str(client_msg_id),
        "text": read.text,
        "lang": language_of(read.text) or language,
        "cards": [],
        "suggestions": [],
    }
    run = Run(
        conversation_id=conversation_id,
        client_msg_id=client_msg_id,
        input={"address": address_key(address), **({"code": tried.told()} if tried else {})},
    )
    place = None if isinstance(location, Unchanged) else location or (None, None)
    try:
        with transaction.atomic() if tried else nullcontext():
            seq = events.message_append(run, key, body, place)
            if tried:
                _code_record(events.conversation_get(conversation_id), tried)
            if tried and tried.outcome == "ok":  # who typed it is who it proves, whoever was proven before
                Event.objects.filter(conversation_id=conversation_id, seq=seq).update(patient=tried.patient)
            return Accepted(seq, duplicate=False)
    except IntegrityError:
        # The same message on another socket was first.
        first = Run.objects.get(conversation_id=conversation_id, client_msg_id=client_msg_id)
        if tried and tried.outcome == "ok":
            _code_taken(conversation_id, key, tried)
        return Accepted(first.input_seq, duplicate=True)


def code_submit(*, conversation_id: UUID, code: str, address: str, key: str | None = None) -> CodeOutcome:
    """A code from its own field; when it is right, a run takes up the question that was waiting.

    Raises RateLimited and ConversationGone.
    """
    # Each try takes the audit log's head, which the whole house waits for.
    if not minute_admits(f"codes:{conversation_id}", limit=settings.CHAT_MESSAGES_PER_MINUTE):
        raise RateLimited(60)
    tried = _code_try(conversation_id, code, address)
    _code_taken(conversation_id, key, tried)
    return tried


def _code_taken(conversation_id: UUID, key: str | None, tried: CodeOutcome) -> None:
    with transaction.atomic():
        conversation = events.conversation_locked(conversation_id, key)
        _code_record(conversation, tried)
        if tried.outcome == "ok":
            seq = Conversation.objects.values_list("seq_head", flat=True).get(pk=conversation_id)
            Run.objects.create(
                conversation=conversation, kind=Run.Kind.RESUME, input_seq=seq, input={"code": tried.told()}
            )


def handoff_request(*, conversation_id: UUID, key: str | None = None) -> None:
    """The customer pressed "a person, please": a run opens the hand-off and says so."""
    with transaction.atomic():
        conversation = events.conversation_locked(conversation_id, key)
        accept_precheck(conversation_id)
        Run.objects.create(conversation=conversation, kind=Run.Kind.HANDOFF, input_seq=conversation.seq_head)


def run_cancel(*, conversation_id: UUID, key: str | None = None) -> UUID | None:
    """Stops the run that is at work, or else the next one; returns which, or None when nothing was left to stop."""
    with transaction.atomic():
        events.conversation_locked(conversation_id, key)
        open_runs = Run.objects.filter(conversation_id=conversation_id, state__in=OPEN)
        # "running" sorts behind "pending".
        run = open_runs.order_by("-state", "input_seq", "created_at").first()
        if run is None or not run_end(run, Run.State.CANCELLED):
            return None
        payload = {"run_id": str(run.pk)}
        events.event_append(conversation_id=conversation_id, type="run.cancelled", payload=payload, run=run)
    return run.pk


def _code_try(conversation_id: UUID, code: str, address: str) -> CodeOutcome:
    try:
        patient = identity.challenge_answer(conversation_id=conversation_id, code=code, address=address)
    except CodeWrong as error:
        return CodeOutcome("wrong", error.tries_left)
    except CodeExpired:
        return CodeOutcome("expired")
    except CodeLocked:
        return CodeOutcome("locked")
    return CodeOutcome("ok", patient=patient)


def _code_record(conversation: Conversation, tried: CodeOutcome) -> None:
    """Keeps what a code proved, or brings in a person when the tries are used up."""
    if tried.outcome == "ok":
        now = timezone.now()
        proof = {"patient": tried.patient, "verified_at": now, "active_at": now}
        Conversation.objects.filter(pk=conversation.pk).update(**proof)
        until = now + timedelta(seconds=settings.IDENTITY_MAX)
        events.event_append(
            conversation_id=conversation.pk, type="identity.verified", payload={"until": until.isoformat()}
        )
    elif tried.outcome == "locked":
        run_key = f"locked:{conversation.pk}:{identity.failed_verifications(conversation.pk)}"
        known = Handoff.objects.filter(run_key=run_key).exists()
        opened = handoffs.handoff_open(
            conversation_id=conversation.pk,
            reason="identity_failed",
            run_key=run_key,
            language=conversation.language,
        )
        if not known:
            handoff_announce(conversation, opened)


def address_key(address: str) -> str:
    """A client's address as rows keep it: equal for equal addresses, readable by nobody."""
    return salted_hmac("chat.address", address).hexdigest()[:32]


_SENT: Final = """SELECT MAX(CASE WHEN client_msg_id = %(client_msg_id)s THEN input_seq END),
    (SELECT language FROM agent_conversation WHERE id = %(conversation)s),
    COUNT(CASE WHEN kind <> %(kind)s AND created_at > %(day)s THEN 1 END),
    COUNT(CASE WHEN kind <> %(kind)s AND created_at > %(minute)s THEN 1 END)
FROM agent_run
WHERE conversation_id = %(conversation)s AND (created_at > %(day)s OR client_msg_id = %(client_msg_id)s)
"""


def accept_precheck(
    conversation_id: UUID, client_msg_id: UUID | None = None
) -> tuple[int | None, str | None]:
    """Raises RateLimited, unless this message was accepted before: then it returns its number. One query.

    The conversation's language comes with it, None when there is no such conversation.
    """
    now = timezone.now()
    since = {
        "day": stored(Run, created_at=now - timedelta(days=1))["created_at"],
        "minute": stored(Run, created_at=now - timedelta(minutes=1))["created_at"],
    }
    of = stored(Run, conversation=conversation_id, client_msg_id=client_msg_id, kind=Run.Kind.RESUME)
    known, language, of_day, of_minute = asked(Question(_SENT, of | since, lambda rows: rows[0]))
    if known is None and of_minute >= settings.CHAT_MESSAGES_PER_MINUTE:
        raise RateLimited(60)
    if known is None and of_day >= settings.CHAT_MESSAGES_PER_DAY:
        raise RateLimited(3600)
    return known, language
