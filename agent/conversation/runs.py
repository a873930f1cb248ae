"""Durable runs: a message is accepted as rows, then answered by whichever process claims its run.

Within a conversation runs are answered one at a time, in order; the database's partial unique index on running rows is
what holds that, not a process's memory. `agent/chat/runner.py` does the work.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, cast
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from agent.conversation import events
from agent.conversation.liveness import dead_forget, dead_names, own_name
from agent.conversation.spending import spent, spent_question
from agent.inference.base import Usage
from agent.models import Confirmation, Run
from pharmacy_site.lib.rows import Columns, Question, asked, changed_together, stored
from prescriptions import identity

OPEN: Final = (Run.State.PENDING, Run.State.RUNNING)
EARLIER_TURNS: Final = 12  # how far back a language model is told what was said


@dataclass(frozen=True)
class Background:
    """What answering a run needs of its conversation beside the row, as it was when the run was claimed."""

    messages: events.Messages
    challenge: identity.OpenChallenge | None
    tokens_spent: int


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
        if run_end(run, Run.State.FAILED, error_code=code):
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


def run_still_ours(run: Run) -> bool:
    """Whether the run is still at work here; until the transaction ends nobody can end it. Raises ConversationGone."""
    events.conversation_locked(run.conversation_id)
    return _as_seen(run).exists()


_DONE: Final = """UPDATE agent_run SET state = 'done', progress = '{}', lease_until = NULL, finished_at = %(finished_at)s,
    answer_seq = %(answer_seq)s, model = %(model)s, prompt = %(prompt)s, fallback = %(fallback)s,
    tokens_in = tokens_in + %(tokens_in)s, tokens_out = tokens_out + %(tokens_out)s, cost = cost + %(cost)s
WHERE id = %(id)s AND state = 'running' AND attempts = %(attempts)s
RETURNING id
"""


def run_done(run: Run, answer_seq: int, model: str, usage: Usage) -> bool:
    """Ends a run with its answer and what that took; False when it is no longer this process's."""
    now = timezone.now()
    done = stored(Run, id=run.pk, attempts=run.attempts, finished_at=now, answer_seq=answer_seq, model=model)
    return asked(Question(_DONE, done | stored(Run, **spent(usage)), bool))


def _as_seen(run: Run) -> QuerySet[Run]:
    """The run's row, if nobody has changed whose it is since it was read."""
    return Run.objects.filter(pk=run.pk, state=run.state, attempts=run.attempts)


def run_end(run: Run, state: Run.State, **changes: str) -> bool:
    """Ends a run that has not ended since it was read."""
    return bool(
        _as_seen(run).update(
            state=state, finished_at=timezone.now(), lease_until=None, progress={}, **changes
        )
    )
