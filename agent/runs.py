"""Durable runs: a message is accepted as rows, then answered by whichever process claims its run.

Within a conversation runs are answered one at a time, in order; the database's partial unique index on running rows is
what holds that, not a process's memory. `agent/runner.py` does the work.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import DateTimeField, Q, QuerySet, UUIDField
from django.utils import timezone
from django.utils.crypto import salted_hmac

from agent import events
from agent.models import Confirmation, Conversation, Run
from agent.processes import dead_forget, dead_names, own_name
from agent.sockets import minute_admits
from agent.wording import Language, label, say
from pharmacy_site.lib.errors import PharmacyError
from pharmacy_site.lib.savepoint import savepoint
from pharmacy_site.lib.text import clean, language_of
from prescriptions import handoffs, identity
from prescriptions.errors import CodeExpired, CodeLocked, CodeWrong
from prescriptions.masking import masked
from prescriptions.models import Handoff, Patient

_OPEN = (Run.State.PENDING, Run.State.RUNNING)


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
    known = _rate_check(conversation_id, client_msg_id)
    if known is not None:
        return Accepted(known, duplicate=True)
    challenge = identity.challenge_open(conversation_id)
    read = masked(clean(text), challenge_open=challenge is not None)
    # A try at a code is committed by itself, before anything is told: a rollback may not give it back.
    tried = _code_try(conversation_id, read.code, address) if challenge and read.code else None
    try:
        with transaction.atomic():
            conversation = events.conversation_locked(conversation_id, key)
            _identity_expire(conversation)
            _location_keep(conversation, location)
            body = {
                "role": "user",
                "client_msg_id": str(client_msg_id),
                "text": read.text,
                "lang": language_of(read.text) or conversation.language,
                "cards": [],
                "suggestions": [],
            }
            told = events.event_append(
                conversation_id=conversation_id, type="message.completed", payload=body
            )
            if tried:
                _code_record(conversation, tried)
            Run.objects.create(
                conversation_id=conversation_id,
                client_msg_id=client_msg_id,
                input_seq=told["seq"],
                input={"address": address_key(address), **({"code": tried.told()} if tried else {})},
            )
            return Accepted(told["seq"], duplicate=False)
    except IntegrityError:
        # The same message on another socket was first.
        run = Run.objects.get(conversation_id=conversation_id, client_msg_id=client_msg_id)
        if tried and tried.outcome == "ok":
            _code_taken(conversation_id, key, tried)
        return Accepted(run.input_seq, duplicate=True)


def code_submit(*, conversation_id: UUID, code: str, address: str, key: str | None = None) -> CodeOutcome:
    """A code from its own field; when it is right, a run takes up the question that was waiting.

    Raises RateLimited and ConversationGone.
    """
    # Each try takes the audit log's head, which the whole house waits for.
    if not minute_admits("codes", str(conversation_id), most=settings.CHAT_MESSAGES_PER_MINUTE):
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
        _rate_check(conversation_id)
        Run.objects.create(conversation=conversation, kind=Run.Kind.HANDOFF, input_seq=conversation.seq_head)


def run_cancel(*, conversation_id: UUID, key: str | None = None) -> UUID | None:
    """Stops the run that is at work, or else the next one; returns which, or None when nothing was left to stop."""
    with transaction.atomic():
        events.conversation_locked(conversation_id, key)
        open_runs = Run.objects.filter(conversation_id=conversation_id, state__in=_OPEN)
        # "running" sorts behind "pending".
        run = open_runs.order_by("-state", "input_seq", "created_at").first()
        if run is None or not _end(run, Run.State.CANCELLED):
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
        Conversation.objects.filter(pk=conversation.pk).update(patient=tried.patient, verified_at=now)
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
            handoff_tell(conversation, opened)


def _location_keep(conversation: Conversation, location: Location | Unchanged | None) -> None:
    """Where the customer is; None is a place that is no longer shared."""
    if isinstance(location, Unchanged):
        return
    latitude, longitude = location or (None, None)
    Conversation.objects.filter(pk=conversation.pk).update(latitude=latitude, longitude=longitude)


def address_key(address: str) -> str:
    """A client's address as rows keep it: equal for equal addresses, readable by nobody."""
    return salted_hmac("chat.address", address).hexdigest()[:32]


def handoff_tell(conversation: Conversation, opened: Handoff, run: Run | None = None) -> None:
    """Logs the event by which clients learn of a hand-off, its number and its reason in plain words."""
    language: Language = "he" if conversation.language == "he" else "en"
    reason, waiting = label("reason", opened.reason, language), say("handoff_waiting", language)
    message = waiting if reason == opened.reason else f"{reason}. {waiting}."
    events.event_append(
        conversation_id=conversation.pk,
        type="handoff.updated",
        payload={"number": opened.number, "state": "open", "message": message},
        run=run,
    )


def _identity_expire(conversation: Conversation) -> None:
    """Forgets who was verified after 15 idle minutes or 60 in all."""
    if conversation.patient_id is not None and not conversation.is_proven:
        Conversation.objects.filter(pk=conversation.pk).update(patient=None, verified_at=None)


# Written out because every message asks it: the ORM takes longer to build it than a database to answer.
_SENT: Final = """
SELECT MAX(CASE WHEN client_msg_id = %(message)s THEN input_seq END),
    COUNT(CASE WHEN kind <> %(resume)s AND created_at > %(day)s THEN 1 END),
    COUNT(CASE WHEN kind <> %(resume)s AND created_at > %(minute)s THEN 1 END)
FROM agent_run
WHERE conversation_id = %(conversation)s AND (created_at > %(day)s OR client_msg_id = %(message)s)
"""


def _rate_check(conversation_id: UUID, client_msg_id: UUID | None = None) -> int | None:
    """Raises RateLimited, unless this message was accepted before: then it returns its number. One query."""
    now = timezone.now()
    key = UUIDField().get_db_prep_value
    moment = DateTimeField().get_db_prep_value
    asked = {
        "message": key(client_msg_id, connection),
        "conversation": key(conversation_id, connection),
        "day": moment(now - timedelta(days=1), connection),
        "minute": moment(now - timedelta(minutes=1), connection),
        "resume": Run.Kind.RESUME.value,
    }
    with connection.cursor() as cursor:
        cursor.execute(_SENT, asked)
        known, of_day, of_minute = cursor.fetchone()
    if known is not None:
        return int(known)
    if of_minute >= settings.CHAT_MESSAGES_PER_MINUTE:
        raise RateLimited(60)
    if of_day >= settings.CHAT_MESSAGES_PER_DAY:
        raise RateLimited(3600)
    return None


def run_claim(conversation_id: UUID) -> Run | None:
    """Takes the next waiting run of a conversation, or None when there is none or one is at work.

    A run whose lease has ended is free again: what its first process still says no longer counts. The run comes with its
    conversation, its patient and its site. Raises ConversationGone.
    """
    now = timezone.now()
    unfinished = Run.objects.filter(conversation_id=conversation_id, state__in=_OPEN)
    for run in unfinished.order_by("input_seq", "created_at"):
        if run.state == Run.State.RUNNING and run.lease_until and run.lease_until >= now:
            return None
        if run.attempts >= settings.CHAT_ATTEMPTS:
            run_fail(run, "internal")  # it may be what ends the processes
            continue
        mine = {
            "state": Run.State.RUNNING,
            "lease_owner": own_name(),
            "lease_until": now + timedelta(seconds=settings.CHAT_LEASE),
            "attempts": run.attempts + 1,
            "progress": {},
        }
        try:
            with savepoint():
                if not _as_seen(run).update(**mine):
                    return None  # another process was faster
        except (
            IntegrityError
        ):  # another run of this conversation has just begun; its process takes this one next
            return None
        for name, value in mine.items():
            setattr(run, name, value)
        # Only now: the run before this one may have ended, and changed it, since the rows were read.
        run.conversation = events.conversation_get(conversation_id)
        return run
    return None


def run_keep(run: Run, progress: dict[str, Any] | None) -> bool:
    """Extends the lease and writes down the progress; False when the run is no longer this process's."""
    changes: dict[str, Any] = {"lease_until": timezone.now() + timedelta(seconds=settings.CHAT_LEASE)}
    if progress is not None:
        changes["progress"] = progress
    return bool(_as_seen(run).update(**changes))


def progress_of(run_id: str) -> dict[str, Any]:
    """What a run at work shows so far, as its process wrote it down last; empty when it is over."""
    return Run.objects.filter(pk=run_id).values_list("progress", flat=True).first() or {}


def run_release(run: Run) -> None:
    """Gives the run back unanswered: this process ends."""
    _as_seen(run).update(state=Run.State.PENDING, lease_owner="", lease_until=None)


def run_fail(run: Run, code: str) -> None:
    """Ends a run visibly, unless it ended otherwise: the customer can send the message again."""
    with transaction.atomic():
        events.conversation_locked(run.conversation_id)  # first, as everywhere: the other order deadlocks
        if _end(run, Run.State.FAILED, error_code=code):
            if confirm := run.input.get("confirm"):  # its effect is done once, however often it is confirmed
                Confirmation.objects.filter(pk=confirm["id"]).update(state=Confirmation.State.OPEN)
            payload = {"run_id": str(run.pk), "code": code, "retryable": True}
            events.event_append(
                conversation_id=run.conversation_id, type="run.failed", payload=payload, run=run
            )


def runs_abandoned() -> list[UUID]:
    """Conversations with runs that wait for a process: accepted a while ago, or their process is dead."""
    dead = dead_names()
    if dead:
        running = Run.objects.filter(state=Run.State.RUNNING, lease_owner__in=dead)
        running.update(lease_until=timezone.now() - timedelta(seconds=1))
        dead_forget(dead)
    now = timezone.now()
    waiting = Q(state=Run.State.PENDING, created_at__lt=now - timedelta(seconds=settings.CHAT_SWEEP))
    ended = Q(state=Run.State.RUNNING, lease_until__lt=now)
    found = Run.objects.filter(waiting | ended).values_list("conversation_id", flat=True)
    return list(found.distinct()[:200])


def run_hold(run: Run) -> bool:
    """Whether the run is still at work here; until the transaction ends nobody can end it. Raises ConversationGone."""
    events.conversation_locked(run.conversation_id)
    return _as_seen(run).exists()


def _as_seen(run: Run) -> QuerySet[Run]:
    """The run's row, if nobody has changed whose it is since it was read."""
    return Run.objects.filter(pk=run.pk, state=run.state, attempts=run.attempts)


def _end(run: Run, state: Run.State, **changes: str) -> bool:
    """Ends a run that has not ended since it was read."""
    return bool(
        _as_seen(run).update(
            state=state, finished_at=timezone.now(), lease_until=None, progress={}, **changes
        )
    )
