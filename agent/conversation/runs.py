"""Durable runs: the work of answering accepted messages, done by whichever process claims it.

Within a conversation runs are answered one at a time, in order. The database's partial unique index on running rows
ensures that, not a process's memory. `agent/conversation/accept.py` makes the runs, `agent/chat/runner.py` works on them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from agent.conversation import events, spending
from agent.conversation.liveness import dead_forget, dead_names, own_name
from agent.conversation.records import MessagePayload, Progress
from agent.conversation.typed import typed_forgotten
from agent.inference.base import Usage
from agent.models import Confirmation, Conversation, Event, Run
from pharmacy_site.lib.savepoint import savepoint
from prescriptions import identity
from prescriptions.models import Patient

OPEN: Final = (Run.State.PENDING, Run.State.RUNNING)
EARLIER_TURNS: Final = 12
"""How far back a language model reads what was said."""
_MOST_REOPENED: Final = 3
"""So many messages are still answered when a person leaves them: the last ones."""


@dataclass(frozen=True)
class Claim:
    """A run that this process answers, and what that needs, as it was when the run was claimed."""

    run: Run
    conversation: Conversation
    patient: Patient | None
    """The patient whose identity is proven."""
    identity_elsewhere: bool
    """Whether nobody can be identified here, because the chat is in a frame on a site that is not ours."""
    messages: Sequence[events.Message]
    """The last messages up to the one that the run answers, oldest first."""
    tokens_spent: int
    """Tokens of language models that the conversation has used."""
    challenge_open: bool
    """Whether the conversation waits for a one-time code."""

    @property
    def question(self) -> events.Message | None:
        """The message that the run answers; None for a run that answers none."""
        if self.run.kind != Run.Kind.MESSAGE:
            return None
        if not self.messages or self.messages[-1].seq != self.run.input_seq:
            raise Event.DoesNotExist
        return self.messages[-1]

    def earlier(self, patient_id: int | None) -> list[MessagePayload]:
        """Return the messages before it that a model may read while this patient is identified."""
        before = [message for message in self.messages if message.seq < self.run.input_seq]
        return events.messages_for(before, patient_id)


def run_claim(conversation_id: UUID) -> Claim | None:
    """Claim the next open run of a conversation; None when there is none, or one is at work.

    A run whose lease has ended can be claimed again: what its first process still writes no longer counts.
    """
    while claim := _claim_next(conversation_id):
        if not _taken(claim.run):
            return None
        if claim.run.attempts <= settings.CHAT_ATTEMPTS:
            return claim
        # This run may be crashing its workers.
        run_fail(claim.run, "internal")
    return None


def _claim_next(conversation_id: UUID) -> Claim | None:
    """Return the first open run, if it is free, with all that answering it needs.

    This is read before the run is taken: an error here leaves the run to be claimed again at once.
    """
    open_runs = Run.objects.filter(conversation_id=conversation_id, state__in=OPEN)
    # Its conversation comes in the same query: the run before may just have ended, and changed it.
    run = open_runs.select_related("conversation").order_by("input_seq", "created_at").first()
    if run is None or (
        run.state == Run.State.RUNNING and run.lease_until and run.lease_until >= timezone.now()
    ):
        return None
    waits = settings.CHAT_IDENTITY != "identifier" and identity.challenge_open(conversation_id) is not None
    return Claim(
        run,
        run.conversation,
        patient=run.conversation.proven_patient,
        identity_elsewhere=run.conversation.identity_elsewhere,
        messages=events.messages_until(conversation_id, run.input_seq, most=2 * EARLIER_TURNS + 1),
        tokens_spent=spending.tokens_spent(conversation_id),
        challenge_open=waits,
    )


def _taken(run: Run) -> bool:
    """Give a run to this process; False when another process has just taken it, or another run of its conversation."""
    now = timezone.now()
    changes = {
        "state": Run.State.RUNNING,
        "attempts": run.attempts + 1,
        "lease_owner": own_name(),
        "lease_until": now + timedelta(seconds=settings.CHAT_LEASE),
        "progress": {},
    }
    rows = _unchanged(run)
    if run.state == Run.State.RUNNING:
        rows = rows.filter(Q(lease_until=None) | Q(lease_until__lt=now))
    try:
        # Lets a caller's own transaction go on after the error.
        with savepoint():
            taken = rows.update(**changes)
    except IntegrityError:
        # Another run of the conversation has just begun; its process takes this one next.
        return False
    for name, value in changes.items():
        setattr(run, name, value)
    return bool(taken)


def run_keep(run: Run, progress: Progress | None) -> bool:
    """Extend the lease and store the progress, if there is any; False when the run is no longer this process's."""
    changes: dict[str, Any] = {"lease_until": timezone.now() + timedelta(seconds=settings.CHAT_LEASE)}
    if progress is not None:
        changes["progress"] = progress
    return bool(_unchanged(run).update(**changes))


def progress_of(run_id: str) -> Progress | None:
    """Return what a run at work has shown so far, as its process stored it last; None when it is over."""
    return Run.objects.filter(pk=run_id).values_list("progress", flat=True).first() or None


def run_release(run: Run) -> None:
    """Give the run back unanswered, because this process ends."""
    _unchanged(run).update(state=Run.State.PENDING, lease_owner="", lease_until=None)


def run_still_ours(run: Run) -> bool:
    """Return whether the run is still at work here; until the transaction ends nobody can end it.

    Raises ConversationGone.
    """
    events.conversation_locked(run.conversation_id)
    return _unchanged(run).exists()


def run_done(run: Run, answer_seq: int | None, model: str, usage: Usage) -> bool:
    """End a run with its answer (None: a person answers) and what that cost; False when it is no longer this process's."""
    return run_end(run, Run.State.DONE, answer_seq=answer_seq, model=model, **spending.spent_fields(usage))


def run_fail(run: Run, code: str) -> None:
    """End a run with an error that its customer sees, unless it has ended: the message can be sent again."""
    with transaction.atomic():
        events.conversation_locked(run.conversation_id)
        if not run_end(run, Run.State.FAILED, error_code=code):
            return
        if confirm := run.input.get("confirm"):
            # Its effect is done once, however often it is confirmed.
            Confirmation.objects.filter(pk=confirm["id"]).update(state=Confirmation.State.OPEN)
        payload = {"run_id": str(run.pk), "code": code, "retryable": True}
        events.event_append(conversation_id=run.conversation_id, type="run.failed", payload=payload, run=run)


def run_end(run: Run, state: Run.State, **changes: Any) -> bool:
    """End a run that has not changed hands or ended since it was read; return whether that was so."""
    now = timezone.now()
    changes |= typed_forgotten(run)
    ended = _unchanged(run).update(state=state, finished_at=now, lease_until=None, progress={}, **changes)
    return bool(ended)


def runs_left(conversation_id: UUID) -> QuerySet[Run]:
    """Return the runs of messages without an answer that were written after a person took over or wrote last, oldest first."""
    took_over = Q(type="mode.changed", payload__mode=Conversation.Mode.HUMAN)
    wrote = Q(type="message.completed", payload__role="staff", payload__repeated__isnull=True)
    of_staff = Event.objects.filter(took_over | wrote, conversation_id=conversation_id)
    last = of_staff.order_by("-seq").values_list("seq", flat=True).first()
    if last is None:
        return Run.objects.none()
    rows = Run.objects.filter(conversation_id=conversation_id, kind=Run.Kind.MESSAGE, input_seq__gt=last)
    return rows.filter(answer_seq=None, state__in=[*OPEN, Run.State.DONE]).order_by("input_seq")


def runs_reopen(conversation_id: UUID) -> None:
    """Let the assistant, which has the conversation back, answer the last messages that a person left without an answer.

    Call it with the conversation's row locked. The sweep takes the runs up.
    """
    left = runs_left(conversation_id).filter(state=Run.State.DONE).order_by("-input_seq")
    found = list(left.values_list("pk", flat=True)[:_MOST_REOPENED])
    Run.objects.filter(pk__in=found, state=Run.State.DONE).update(state=Run.State.PENDING, finished_at=None)


def runs_abandoned() -> list[UUID]:
    """Return conversations with runs that wait for a process: accepted a while ago, or their process is dead."""
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


def _unchanged(run: Run) -> QuerySet[Run]:
    """Return the run's row, if nobody has taken or ended the run since it was read."""
    return Run.objects.filter(pk=run.pk, state=run.state, attempts=run.attempts)
