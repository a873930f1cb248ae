"""Durable runs: a message is accepted as rows, then answered by whichever process claims its run.

No socket owns a run: a lost connection cancels nothing. Within a conversation runs are answered one at a time, in order;
the database's partial unique index on running rows is what holds that, not this process's memory.
"""

import asyncio
import logging
import os
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.crypto import salted_hmac

from agent import events
from agent.database import in_database
from agent.models import Conversation, Run
from agent.wording import Language, say
from pharmacy_site.lib.errors import PharmacyError, trace_of
from pharmacy_site.lib.text import clean, language_of
from prescriptions import handoffs, identity
from prescriptions.errors import CodeExpired, CodeLocked, CodeWrong
from prescriptions.masking import masked
from prescriptions.models import Patient

log = logging.getLogger(__name__)
OWNER = f"{os.getpid()}-{secrets.token_hex(4)}"


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
    location: tuple[float, float] | None = None,
) -> Accepted:
    """Commits a customer's message and the run that will answer it; the same id twice gives the same number.

    Secrets are read and masked here, before anything is stored. Raises RateLimited.
    """
    known = Run.objects.filter(conversation_id=conversation_id, client_msg_id=client_msg_id).first()
    if known:
        return Accepted(known.input_seq, duplicate=True)
    _rate_check(conversation_id)
    challenge = identity.challenge_open(conversation_id)
    read = masked(clean(text), challenge_open=challenge is not None)
    # A try at a code is committed by itself, before anything is told: a rollback may not give it back.
    tried = _code_try(conversation_id, read.code, address) if challenge and read.code else None
    try:
        with transaction.atomic():
            conversation = Conversation.objects.select_for_update().get(pk=conversation_id)
            _identity_expire(conversation)
            if location:
                Conversation.objects.filter(pk=conversation_id).update(
                    latitude=location[0], longitude=location[1]
                )
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
        return Accepted(run.input_seq, duplicate=True)


def code_submit(*, conversation_id: UUID, code: str, address: str) -> CodeOutcome:
    """A code from its own field; when it is right, a run takes up the question that was waiting."""
    tried = _code_try(conversation_id, code, address)
    with transaction.atomic():
        conversation = Conversation.objects.select_for_update().get(pk=conversation_id)
        _code_record(conversation, tried)
        if tried.outcome == "ok":
            seq = Conversation.objects.values_list("seq_head", flat=True).get(pk=conversation_id)
            Run.objects.create(
                conversation=conversation, kind=Run.Kind.RESUME, input_seq=seq, input={"code": tried.told()}
            )
    return tried


def handoff_request(*, conversation_id: UUID) -> None:
    """The customer pressed "a person, please": a run opens the hand-off and says so."""
    with transaction.atomic():
        _rate_check(conversation_id)
        seq = Conversation.objects.values_list("seq_head", flat=True).get(pk=conversation_id)
        Run.objects.create(conversation_id=conversation_id, kind=Run.Kind.HANDOFF, input_seq=seq)


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
        opened = handoffs.handoff_open(
            conversation_id=conversation.pk,
            reason="identity_failed",
            run_key=f"locked:{conversation.pk}:{identity.failed_verifications(conversation.pk)}",
            language=conversation.language,
        )
        handoff_tell(conversation, opened.number)


def address_key(address: str) -> str:
    """A client's address as rows keep it: equal for equal addresses, readable by nobody."""
    return salted_hmac("chat.address", address).hexdigest()[:32]


def handoff_tell(conversation: Conversation, number: str, run: Run | None = None) -> None:
    """Logs the event by which clients learn of a hand-off and its number."""
    language: Language = "he" if conversation.language == "he" else "en"
    events.event_append(
        conversation_id=conversation.pk,
        type="handoff.updated",
        payload={"number": number, "state": "open", "message": say("handoff_waiting", language)},
        run=run,
    )


def _identity_expire(conversation: Conversation) -> None:
    """Forgets who was verified after 15 idle minutes or 60 in all."""
    if conversation.patient_id is None:
        return
    now = timezone.now()
    idle = conversation.active_at + timedelta(seconds=settings.IDENTITY_IDLE)
    most = (conversation.verified_at or conversation.created_at) + timedelta(seconds=settings.IDENTITY_MAX)
    if now > min(idle, most):
        Conversation.objects.filter(pk=conversation.pk).update(patient=None, verified_at=None)


def _rate_check(conversation_id: UUID) -> None:
    now = timezone.now()
    recent = Run.objects.filter(conversation_id=conversation_id).exclude(kind=Run.Kind.RESUME)
    if recent.filter(created_at__gt=now - timedelta(minutes=1)).count() >= settings.CHAT_MESSAGES_PER_MINUTE:
        raise RateLimited(60)
    if recent.filter(created_at__gt=now - timedelta(days=1)).count() >= settings.CHAT_MESSAGES_PER_DAY:
        raise RateLimited(3600)


def run_claim(conversation_id: UUID) -> UUID | None:
    """Takes the next waiting run of a conversation, or None when there is none or one is running."""
    now = timezone.now()
    unfinished = Run.objects.filter(
        conversation_id=conversation_id, state__in=[Run.State.PENDING, Run.State.RUNNING]
    ).order_by("input_seq", "created_at")
    # A run whose process died is free again once its lease is over; that process's answer no longer counts.
    free = [run for run in unfinished if run.lease_until is None or run.lease_until < now]
    if not free:
        return None
    run_id = free[0].pk
    ended = [run.pk for run in free if run.state == Run.State.RUNNING]
    if ended:
        Run.objects.filter(pk__in=ended, state=Run.State.RUNNING, lease_until__lt=now).update(
            state=Run.State.PENDING, lease_owner=""
        )
    until = now + timedelta(seconds=settings.CHAT_LEASE)
    try:
        with transaction.atomic():
            taken = Run.objects.filter(pk=run_id, state=Run.State.PENDING).update(
                state=Run.State.RUNNING, lease_owner=OWNER, lease_until=until, attempts=F("attempts") + 1
            )
    except IntegrityError:  # another run of this conversation is at work; its process takes this one next
        return None
    return run_id if taken else None


def run_fail(run_id: UUID, code: str) -> None:
    """Ends a run visibly: the customer can send the message again."""
    with transaction.atomic():
        run = Run.objects.get(pk=run_id)
        ended = Run.objects.filter(~Q(state=Run.State.DONE), pk=run_id).update(
            state=Run.State.FAILED, error_code=code, finished_at=timezone.now(), lease_until=None
        )
        if ended:
            payload = {"run_id": str(run_id), "code": code, "retryable": True}
            events.event_append(
                conversation_id=run.conversation_id, type="run.failed", payload=payload, run=run
            )


class Runner:
    """The runs at work in this process, one task per conversation; `answer` is the loop's function."""

    def __init__(self, answer: Callable[[UUID], Awaitable[None]]) -> None:
        self._answer = answer
        self._tasks: dict[UUID, asyncio.Task[None]] = {}
        self._again: set[UUID] = set()

    def wake(self, conversation_id: UUID) -> None:
        """Makes sure that the waiting runs of a conversation are being worked on."""
        self._again.add(conversation_id)
        if conversation_id not in self._tasks:
            self._tasks[conversation_id] = asyncio.create_task(self._work(conversation_id))

    async def _work(self, conversation_id: UUID) -> None:
        try:
            while conversation_id in self._again:
                self._again.discard(conversation_id)
                while run_id := await in_database(run_claim)(conversation_id):
                    await self._one(conversation_id, run_id)
        finally:
            self._tasks.pop(conversation_id, None)

    async def _one(self, conversation_id: UUID, run_id: UUID) -> None:
        try:
            await self._answer(run_id)
        except Exception as error:
            # The exception's text may hold what was said, so only its type and place are logged.
            log.error("run %s failed: %s at %s", run_id, type(error).__name__, trace_of(error))
            try:
                await in_database(run_fail)(run_id, "internal")
            except DatabaseError:
                log.error("run %s stays open until its lease ends", run_id)
            await events.bell_ring(conversation_id)
