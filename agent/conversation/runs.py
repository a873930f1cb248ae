"""Durable runs: a message is accepted as rows, then answered by whichever process claims its run.

Within a conversation runs are answered one at a time, in order; the database's partial unique index on running rows is
what holds that, not a process's memory. `agent/chat/runner.py` does the work.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any, Final, cast
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac

from agent.answers.render import Language, label, say
from agent.conversation import events
from agent.conversation.liveness import dead_forget, dead_names, own_name
from agent.conversation.records import Progress
from agent.conversation.spending import spent, spent_question
from agent.inference.base import Account
from agent.models import Confirmation, Conversation, Event, Run
from pharmacy_site.lib.counters import use_admitted
from pharmacy_site.lib.errors import PharmacyError
from pharmacy_site.lib.rows import Columns, Question, asked, changed_together, stored
from pharmacy_site.lib.text import clean, language_of
from prescriptions import handoffs, identity
from prescriptions.errors import CodeExpired, CodeLocked, CodeWrong
from prescriptions.masking import masked
from prescriptions.models import Handoff, Patient

EARLIER_TURNS: Final = 12  # how far back a language model is told what was said


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


@dataclass(frozen=True)
class Background:
    """What answering a run needs of its conversation beside the row, as it was when the run was claimed."""

    messages: events.Messages
    challenge: identity.OpenChallenge | None
    tokens_spent: int


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
    known, language = _rate_check(conversation_id, client_msg_id)
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
    if not use_admitted(f"codes:{conversation_id}", limit=settings.CHAT_MESSAGES_PER_MINUTE):
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
        open_runs = Run.objects.filter(conversation_id=conversation_id, state__in=Run.UNFINISHED)
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
            handoff_tell(conversation, opened)


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


_SENT: Final = """SELECT MAX(CASE WHEN client_msg_id = %(client_msg_id)s THEN input_seq END),
    (SELECT language FROM agent_conversation WHERE id = %(conversation)s),
    COUNT(CASE WHEN kind <> %(kind)s AND created_at > %(day)s THEN 1 END),
    COUNT(CASE WHEN kind <> %(kind)s AND created_at > %(minute)s THEN 1 END)
FROM agent_run
WHERE conversation_id = %(conversation)s AND (created_at > %(day)s OR client_msg_id = %(client_msg_id)s)
"""


def _rate_check(conversation_id: UUID, client_msg_id: UUID | None = None) -> tuple[int | None, str | None]:
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


_RUN = Columns(Run, "agent_run")
# The first of those that are open, or none. It may have changed since the inner SELECT saw it: so its state is asked again.
_BEGIN: Final = f"""UPDATE agent_run SET state = 'running', attempts = attempts + 1, progress = '{{}}',
    lease_owner = %(lease_owner)s, lease_until = %(lease_until)s
WHERE id = (
        SELECT id FROM agent_run WHERE conversation_id = %(conversation)s AND state IN ('pending', 'running')
        ORDER BY input_seq, created_at LIMIT 1
    )
    AND (state = 'pending' OR (state = 'running' AND (lease_until IS NULL OR lease_until < %(now)s)))
RETURNING {_RUN.sql}
"""


def run_claim(conversation_id: UUID) -> Run | None:
    """Takes the next waiting run of a conversation, or None when there is none or one is at work.

    A run whose lease has ended is free again: what its first process still says no longer counts. The run comes with its
    conversation, its patient and its site, and with its `background`. Raises ConversationGone.
    """
    while True:
        now = timezone.now()
        until = now + timedelta(seconds=settings.CHAT_LEASE)
        given = stored(Run, conversation=conversation_id, lease_owner=own_name(), lease_until=until)
        begin = Question(_BEGIN, given | {"now": stored(Run, lease_until=now)["lease_until"]}, _begun)
        try:
            # All else after the run: the one before may just have ended, and changed it.
            run, conversation, *background = changed_together(
                begin,
                events.conversation_question(conversation_id),
                events.messages_question(conversation_id, 2 * EARLIER_TURNS + 1),
                identity.challenge_question(conversation_id),
                spent_question(conversation_id),
            )
        except IntegrityError:  # another one has just begun; its process takes this one next
            return None
        if run is None:
            return None
        run.conversation, run.background = conversation, Background(*background)
        if run.attempts <= settings.CHAT_ATTEMPTS:
            return cast(Run, run)
        run_fail(run, "internal")  # it may be what ends the processes


def _begun(rows: Sequence[tuple[Any, ...]]) -> Run | None:
    return _RUN.instance(rows[0]) if rows else None


def run_keep(run: Run, progress: Progress | None) -> bool:
    """Extends the lease and writes down the progress; False when the run is no longer this process's."""
    changes: dict[str, Any] = {"lease_until": timezone.now() + timedelta(seconds=settings.CHAT_LEASE)}
    if progress is not None:
        changes["progress"] = progress
    return bool(_as_seen(run).update(**changes))


def progress_of(run_id: str) -> Progress | None:
    """What a run at work shows so far, as its process wrote it down last; None when it is over."""
    return Run.objects.filter(pk=run_id).values_list("progress", flat=True).first() or None


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


_DONE: Final = """UPDATE agent_run SET state = 'done', progress = '{}', lease_until = NULL, finished_at = %(finished_at)s,
    answer_seq = %(answer_seq)s, model = %(model)s, prompt = %(prompt)s, fallback = %(fallback)s,
    tokens_in = tokens_in + %(tokens_in)s, tokens_out = tokens_out + %(tokens_out)s, cost = cost + %(cost)s
WHERE id = %(id)s AND state = 'running' AND attempts = %(attempts)s
RETURNING id
"""


def run_done(run: Run, answer_seq: int, model: str, account: Account) -> bool:
    """Ends a run with its answer and what that took; False when it is no longer this process's."""
    now = timezone.now()
    done = stored(Run, id=run.pk, attempts=run.attempts, finished_at=now, answer_seq=answer_seq, model=model)
    return asked(Question(_DONE, done | stored(Run, **spent(account)), bool))


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
