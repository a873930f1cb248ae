"""What somebody who opens a conversation again has missed."""

from dataclasses import dataclass

from agent.conversation import events
from agent.conversation.handoff import QueuePlace, queue_places
from agent.conversation.records import NumberedEvent
from agent.conversation.runs import OPEN
from agent.models import Conversation, Run


@dataclass(frozen=True)
class Resumption:
    """The events behind a number, the run that is at work or comes next, and the ratings given, by event number."""

    missed: list[NumberedEvent]
    run: Run | None
    run_is_shown: bool
    """Whether this client may see what the run shows: it may be another patient's."""
    ratings: list[tuple[int, int]]
    queue: list[QueuePlace]
    """Where the open hand-offs stand by now."""


def conversation_resume(conversation: Conversation, seq: int) -> Resumption:
    """Return what a client that has seen the events up to `seq` has not seen."""
    unfinished = Run.objects.filter(conversation_id=conversation.pk, state__in=OPEN)
    # "running" sorts behind "pending".
    run = unfinished.order_by("-state", "input_seq").first()
    answered = conversation.events.filter(seq=run.input_seq).first() if run else None
    return Resumption(
        missed=events.events_shown(conversation, seq),
        run=run,
        run_is_shown=answered is None or events.is_shown(answered, conversation),
        ratings=list(conversation.feedback.order_by("seq").values_list("seq", "rating")),
        queue=queue_places(conversation.pk),
    )
