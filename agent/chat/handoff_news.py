"""Tells customers what staff do: events in the conversations of a hand-off that changes, news to those who wait behind it."""

from collections import Counter
from functools import partial
from typing import Any, Final

from django.db import transaction

from agent.chat.process import ring_from_thread, send_from_thread
from agent.chat.server_messages import HandoffQueue
from agent.conversation.handoff import cards_languages, handoff_tell, queue_place
from agent.conversation.modes import mode_settle
from agent.conversation.patient_handoffs import handoff_follow
from agent.conversation.reply_mail import reply_mail
from agent.conversation.runs import runs_reopen
from agent.models import Conversation
from prescriptions.handoffs.selectors import conversations_of, handoffs_unclaimed, handoffs_waiting
from prescriptions.handoffs.services import handoff_make_urgent
from prescriptions.models import Handoff, Notification, RefillRequest

_ENDS: Final = frozenset({"decided", "closed"})
_WHO_HAS_IT: Final = frozenset({"claimed", "released", "claim_expired", "passed_on"})
_WHO_ANSWERS: Final = _ENDS | _WHO_HAS_IT | {"opened"}
_COMES: Final = frozenset({"opened", "moved"})
_QUEUE_CHANGES: Final = _ENDS | _WHO_HAS_IT | {"urgent"}
_TOLD: Final = _ENDS | _WHO_HAS_IT | {"raised", "identified"}
_NO_NEWS: Final = frozenset({Handoff.Outcome.CANCELLED, Handoff.Outcome.DUPLICATE})
_MOST_TOLD: Final = 100
"""Who waits further behind reads the place when the page is loaded again."""


def on_handoff_changed(sender: Any, handoff: Handoff, event: str, **kwargs: Any) -> None:
    """Show the conversations of a hand-off that were not deleted what changed, and send the others their new place."""
    if event in _QUEUE_CHANGES:
        transaction.on_commit(_tell_queue)
    if event == "moved":
        handoff_follow(handoff, kwargs["moved_from"])
    # In one order, so that two changes cannot wait for each other.
    for conversation in Conversation.objects.filter(pk__in=conversations_of(handoff)).order_by("pk"):
        _show(handoff, conversation, event)
        transaction.on_commit(partial(ring_from_thread, conversation.secret_hash))


def _show(handoff: Handoff, conversation: Conversation, event: str) -> None:
    if event in _COMES and conversation.emergency_open:
        # Of a refill, or brought along from another conversation: whoever opened it knew nothing of an emergency here.
        handoff_make_urgent(handoff)
    if event in _WHO_ANSWERS:
        mode_settle(conversation.pk, is_new=event == "opened")
    # Of a refill, the request's own events say how far it is and what became of it.
    if event in _TOLD and not RefillRequest.objects.filter(handoff=handoff).exists():
        handoff_tell(handoff, conversation, is_late=event == "raised")
        if event in _ENDS and handoff.outcome not in _NO_NEWS:
            reply_mail(handoff, conversation, Notification.Kind.HANDOFF_SETTLED, after=conversation.seq_head)
    if event in _ENDS and not handoffs_waiting().filter(conversation_id=conversation.pk).exists():
        runs_reopen(conversation.pk)


def _tell_queue() -> None:
    """Send their place in the queue to all who wait and have their page open; nothing of it is stored."""
    waiting = [(row, conversations_of(row)) for row in handoffs_unclaimed()[:_MOST_TOLD]]
    found = Conversation.objects.filter(pk__in=[pk for _row, about in waiting for pk in about])
    keys = dict(found.values_list("pk", "secret_hash"))
    before: Counter[str] = Counter()
    for row, about in waiting:
        for pk in about:
            if pk in keys:
                language = cards_languages(pk).get(row.number) if len(about) > 1 else None
                news: HandoffQueue = {
                    "type": "handoff.queue",
                    **queue_place(row, before[row.contact], language),
                }
                send_from_thread(keys[pk], news)
        before[row.contact] += 1
