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
from agent.conversation.handoff import identity_announce
from agent.conversation.identity import identity_begin
from agent.conversation.patient_handoffs import handoffs_bring
from agent.conversation.records import CodeResult, ConversationChanges, MessagePayload, RunInput
from agent.conversation.refills import refills_bring
from agent.conversation.runs import OPEN, run_end
from agent.conversation.typed import typed_apart
from agent.models import Conversation, Event, Run
from pharmacy_site.lib.counters import use_admitted
from pharmacy_site.lib.errors import PharmacyError
from pharmacy_site.lib.text import clean, language_of
from prescriptions import identity
from prescriptions.births import birth_typed
from prescriptions.errors import BirthUnreadable, CodeExpired, CodeLocked, CodeWrong, HandoffLimited
from prescriptions.handoffs.failed_identity import handoff_open_for_contact
from prescriptions.masking import masked
from prescriptions.models import Handoff, Notification, Patient
from prescriptions.notifications import notifications_discard
from prescriptions.refill.collection import collection_extend


class Unchanged(Enum):
    """Stands for the location of a message that does not change the customer's location."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = Unchanged.UNCHANGED
Location = tuple[float, float]


class RateLimited(PharmacyError):
    """Too many messages; `retry_after` is the number of seconds until the next one is accepted."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"again in {retry_after} s")
        self.retry_after = retry_after


class ConversationsLimited(RateLimited):
    """The address began too many conversations within an hour."""


@dataclass(frozen=True)
class Accepted:
    """A message that is committed: its event's number and whether it had been accepted before."""

    seq: int
    duplicate: bool


@dataclass(frozen=True)
class CodeOutcome:
    """The outcome of a code or date of birth: "ok", "wrong" (with tries left), "expired", "locked", or "unreadable"."""

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

    Secrets are read here, and all that looks personal is masked, before anything is stored. `key` is the hash of the secret that the caller holds.
    Raises RateLimited and ConversationGone.
    """
    known = accept_precheck(conversation_id, client_msg_id)
    if known is not None:
        return Accepted(known, duplicate=True)
    typed, secret = _secret_taken(conversation_id, clean(text))
    shown, kept = typed_apart(typed)
    # Commit the attempt first, so that a rollback cannot refund it.
    attempt = _code_try(conversation_id, secret, address) if secret is not None else None
    opened = _handed_over(conversation_id, attempt, address)
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
                "text": shown,
                "lang": language_of(typed) or conversation.language,
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
            given: RunInput = {"address": address_key(address), **kept}
            if attempt:
                given["code"] = attempt.for_run()
            Run.objects.create(
                conversation=conversation, client_msg_id=client_msg_id, input_seq=seq, input=given
            )
            if attempt:
                _code_record(conversation, attempt, opened)
    except IntegrityError:
        # The same message on another socket was first.
        first = Run.objects.get(conversation_id=conversation_id, client_msg_id=client_msg_id)
        if attempt and attempt.outcome == "ok":
            _code_take(conversation_id, key, attempt, address)
        return Accepted(first.input_seq, duplicate=True)
    if conversation.mode == Conversation.Mode.HUMAN:
        # Who writes has the page open.
        notifications_discard(conversation_id, Notification.Kind.STAFF_REPLIED)
    collection_extend(conversation.state.get("refills", ()))
    if attempt and attempt.patient:
        refills_bring(conversation_id, attempt.patient)
        handoffs_bring(conversation_id, attempt.patient)
    return Accepted(seq, duplicate=False)


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
    counted = sorted((at for _, _, kind, at in found if kind != Run.Kind.RESUME and at > day), reverse=True)
    for since, most in ((day, settings.CHAT_MESSAGES_PER_DAY), (minute, settings.CHAT_MESSAGES_PER_MINUTE)):
        if known is None and len(counted) >= most and counted[most - 1] > since:
            # The next one is accepted when this one is as old as the period is long.
            raise RateLimited(int((counted[most - 1] - since).total_seconds()) + 1)
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
    _code_take(conversation_id, key, attempt, address)
    return attempt


def _secret_taken(conversation_id: UUID, text: str) -> tuple[str, str | None]:
    """Mask the secret that a message proves, and return with it the code or date of birth that is asked for, if it has one."""
    if settings.CHAT_IDENTITY == "dob":
        typed = birth_typed(text)
        if typed.is_given and identity.birth_awaited(conversation_id):
            return typed.text, typed.born.isoformat() if typed.born else ""
        return masked(text, challenge_open=False).text, None
    message = masked(text, challenge_open=True)
    if message.code and identity.challenge_open(conversation_id) is None:
        # A number like any other: the conversation waits for no code.
        return masked(text, challenge_open=False).text, None
    return message.text, message.code


def _code_try(conversation_id: UUID, code: str, address: str) -> CodeOutcome:
    try:
        patient = identity.challenge_answer(conversation_id=conversation_id, code=code, address=address)
    except BirthUnreadable:
        return CodeOutcome("unreadable")
    except CodeWrong as error:
        return CodeOutcome("wrong", error.tries_left)
    except CodeExpired:
        return CodeOutcome("expired")
    except CodeLocked:
        return CodeOutcome("locked")
    return CodeOutcome("ok", patient=patient)


def _code_take(conversation_id: UUID, key: str | None, attempt: CodeOutcome, address: str) -> None:
    """Record an attempt, and add the run that takes up the waiting question when the code was right."""
    opened = _handed_over(conversation_id, attempt, address)
    with transaction.atomic():
        conversation = events.conversation_locked(conversation_id, key)
        _code_record(conversation, attempt, opened)
        if attempt.outcome == "ok":
            seq = Conversation.objects.values_list("seq_head", flat=True).get(pk=conversation_id)
            Run.objects.create(
                conversation=conversation,
                kind=Run.Kind.RESUME,
                input_seq=seq,
                input={"address": address_key(address), "code": attempt.for_run()},
            )
    if attempt.patient:
        refills_bring(conversation_id, attempt.patient)
        handoffs_bring(conversation_id, attempt.patient)


def _handed_over(conversation_id: UUID, attempt: CodeOutcome | None, address: str) -> Handoff | None:
    """Return the hand-off that a conversation has because its tries are used up, opened before the conversation is locked."""
    if attempt is None or attempt.outcome != "locked":
        return None
    conversation = Conversation.objects.filter(pk=conversation_id).first()
    if conversation is None:
        raise events.ConversationGone
    try:
        return handoff_open_for_contact(
            contact_key=identity.failed_contact(conversation_id),
            conversation_id=conversation_id,
            language=conversation.language,
            is_urgent=conversation.emergency_open,
            address_key=address_key(address),
        )
    except HandoffLimited:
        return None  # the run's answer says whom to call


def _code_record(conversation: Conversation, attempt: CodeOutcome, opened: Handoff | None) -> None:
    """Record whose identity a code proved, or tell the customer of the person that takes over when the tries are used up."""
    if attempt.patient:
        since = identity_begin(conversation.pk, attempt.patient)
        until = since + timedelta(seconds=settings.IDENTITY_MAX)
        events.event_append(
            conversation_id=conversation.pk, type="identity.verified", payload={"until": until.isoformat()}
        )
    elif opened:
        identity_announce(conversation, opened)


# -- A person, a cancellation -------------------------------------------------------------------------------
def handoff_request(*, conversation_id: UUID, key: str | None = None, address: str = "") -> None:
    """Add the run that hands over to a person, because the customer pressed the button for it.

    Raises RateLimited and ConversationGone.
    """
    with transaction.atomic():
        conversation = events.conversation_locked(conversation_id, key)
        accept_precheck(conversation_id)
        Run.objects.create(
            conversation=conversation,
            kind=Run.Kind.HANDOFF,
            input_seq=conversation.seq_head,
            input={"address": address_key(address)},
        )


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
