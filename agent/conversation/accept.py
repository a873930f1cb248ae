"""What customers send is accepted here: messages, codes, the wish for a person, a cancellation; each within its limits."""

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import salted_hmac

from agent.conversation import events
from agent.conversation.handoff import hand_over
from agent.conversation.identity import identity_begin
from agent.conversation.records import CodeResult, ConversationChanges, MessagePayload, RunInput
from agent.conversation.runs import OPEN, run_end
from agent.models import Conversation, Event, Run
from pharmacy_site.lib.counters import use_admitted
from pharmacy_site.lib.errors import PharmacyError
from pharmacy_site.lib.text import clean, language_of
from prescriptions import identity
from prescriptions.errors import CodeExpired, CodeLocked, CodeWrong
from prescriptions.masking import masked
from prescriptions.models import Patient


class Unchanged(Enum):
    """Stands for the location of a message that does not change the customer's location."""

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
    """The outcome of a code: "ok", "wrong" (with tries left), "expired" or "locked"."""

    outcome: str
    tries_left: int = 0
    patient: Patient | None = None

    def for_run(self) -> CodeResult:
        """Return what the run reads of it: never who it is, never the code."""
        return {"outcome": self.outcome, "tries_left": self.tries_left}


# -- Messages -----------------------------------------------------------------------------------------------
def message_accept(
    *,
    conversation_id: UUID,
    client_msg_id: UUID,
    text: str,
    address: str,
    key: str | None = None,
    location: Location | Unchanged | None = UNCHANGED,
) -> Accepted:
    """Commit a customer's message and the run that will answer it; the same id twice gives the same number.

    Secrets are read and masked here, before anything is stored. `key` is the hash of the secret that the caller holds.
    Raises RateLimited and ConversationGone.
    """
    known = accept_precheck(conversation_id, client_msg_id)
    if known is not None:
        return Accepted(known, duplicate=True)
    cleaned = clean(text)
    message = masked(cleaned, challenge_open=True)
    if message.code and identity.challenge_open(conversation_id) is None:
        # A number like any other: the conversation waits for no code.
        message = masked(cleaned, challenge_open=False)
    # Commit the attempt first, so that a rollback cannot refund it.
    attempt = _code_try(conversation_id, message.code, address) if message.code else None
    place: ConversationChanges = {}
    if not isinstance(location, Unchanged):
        place["latitude"], place["longitude"] = location or (None, None)
    try:
        with transaction.atomic():
            conversation = events.number_take(conversation_id, key, changes=place)
            seq = conversation.seq_head
            payload: MessagePayload = {
                "role": "user",
                "client_msg_id": str(client_msg_id),
                "text": message.text,
                "lang": language_of(message.text) or conversation.language,
                "cards": [],
                "suggestions": [],
            }
            # Whoever typed a right code is whom it proves, whoever was proven before.
            owner = attempt.patient.pk if attempt and attempt.patient else conversation.patient_id
            Event.objects.create(
                conversation=conversation,
                seq=seq,
                type="message.completed",
                payload=payload,
                patient_id=owner,
            )
            given: RunInput = {"address": address_key(address)}
            if attempt:
                given["code"] = attempt.for_run()
            Run.objects.create(
                conversation=conversation, client_msg_id=client_msg_id, input_seq=seq, input=given
            )
            if attempt:
                _code_record(conversation, attempt)
            return Accepted(seq, duplicate=False)
    except IntegrityError:
        # The same message on another socket was first.
        first = Run.objects.get(conversation_id=conversation_id, client_msg_id=client_msg_id)
        if attempt and attempt.outcome == "ok":
            _code_take(conversation_id, key, attempt)
        return Accepted(first.input_seq, duplicate=True)


def accept_precheck(conversation_id: UUID, client_msg_id: UUID | None = None) -> int | None:
    """Raise RateLimited, unless the message was accepted before: then return its number. One query."""
    now = timezone.now()
    day, minute = now - timedelta(days=1), now - timedelta(minutes=1)
    which = Q(created_at__gt=day)
    if client_msg_id:
        which |= Q(client_msg_id=client_msg_id)
    rows = Run.objects.filter(which, conversation_id=conversation_id)
    found = list(rows.values_list("client_msg_id", "input_seq", "kind", "created_at"))
    known = next(
        (seq for client_id, seq, _, _ in found if client_msg_id and client_id == client_msg_id), None
    )
    counted = [at for _, _, kind, at in found if kind != Run.Kind.RESUME and at > day]
    if known is None and sum(at > minute for at in counted) >= settings.CHAT_MESSAGES_PER_MINUTE:
        raise RateLimited(60)
    if known is None and len(counted) >= settings.CHAT_MESSAGES_PER_DAY:
        raise RateLimited(3600)
    return known


def address_key(address: str) -> str:
    """Return a client's address as rows store it: equal for equal addresses, and nobody can read it."""
    return salted_hmac("chat.address", address).hexdigest()[:32]


# -- Codes --------------------------------------------------------------------------------------------------
def code_submit(*, conversation_id: UUID, code: str, address: str, key: str | None = None) -> CodeOutcome:
    """Try a code from its own field; when it is right, a run takes up the question that was waiting.

    Raises RateLimited and ConversationGone.
    """
    # Each attempt locks the head of the audit log, and all audit writes queue behind it.
    if not use_admitted(f"codes:{conversation_id}", limit=settings.CHAT_MESSAGES_PER_MINUTE):
        raise RateLimited(60)
    attempt = _code_try(conversation_id, code, address)
    _code_take(conversation_id, key, attempt)
    return attempt


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


def _code_take(conversation_id: UUID, key: str | None, attempt: CodeOutcome) -> None:
    """Record an attempt, and add the run that takes up the waiting question when the code was right."""
    with transaction.atomic():
        conversation = events.conversation_locked(conversation_id, key)
        _code_record(conversation, attempt)
        if attempt.outcome == "ok":
            seq = Conversation.objects.values_list("seq_head", flat=True).get(pk=conversation_id)
            Run.objects.create(
                conversation=conversation,
                kind=Run.Kind.RESUME,
                input_seq=seq,
                input={"code": attempt.for_run()},
            )


def _code_record(conversation: Conversation, attempt: CodeOutcome) -> None:
    """Record whose identity a code proved, or hand over to a person when the tries are used up."""
    if attempt.patient:
        since = identity_begin(conversation.pk, attempt.patient)
        until = since + timedelta(seconds=settings.IDENTITY_MAX)
        events.event_append(
            conversation_id=conversation.pk, type="identity.verified", payload={"until": until.isoformat()}
        )
    elif attempt.outcome == "locked":
        failed = identity.failed_verifications(conversation.pk)
        hand_over(conversation, reason="identity_failed", run_key=f"locked:{conversation.pk}:{failed}")


# -- A person, a cancellation -------------------------------------------------------------------------------
def handoff_request(*, conversation_id: UUID, key: str | None = None) -> None:
    """Add the run that hands over to a person, because the customer pressed the button for it.

    Raises RateLimited and ConversationGone.
    """
    with transaction.atomic():
        conversation = events.conversation_locked(conversation_id, key)
        accept_precheck(conversation_id)
        Run.objects.create(conversation=conversation, kind=Run.Kind.HANDOFF, input_seq=conversation.seq_head)


def run_cancel(*, conversation_id: UUID, key: str | None = None) -> UUID | None:
    """Cancel the run that is at work, or else the next one; return which, or None when there was none left.

    Raises ConversationGone.
    """
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
