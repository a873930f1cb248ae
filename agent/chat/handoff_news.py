"""Tells customers what staff do: an event in the conversation whose hand-off they close, news to those who wait behind it."""

from typing import Any, Final

from django.db import transaction

from agent.answers.render import say
from agent.chat.process import ring_from_thread, send_from_thread
from agent.chat.server_messages import HandoffQueue
from agent.conversation import events
from agent.conversation.handoff import queue_place
from agent.models import Conversation
from pharmacy_site.lib.text import as_language
from prescriptions.handoffs import handoffs_waiting
from prescriptions.models import Handoff

_MOST_TOLD: Final = 100
"""Who waits further behind reads the place when the page is loaded again."""


def on_handoff_closed(sender: Any, handoff: Handoff, **kwargs: Any) -> None:
    """Append the event to the hand-off's conversation, unless that was deleted, and send the others their new place."""
    transaction.on_commit(_tell_queue)
    pk = handoff.conversation_id
    conversation = Conversation.objects.filter(pk=pk).first() if pk else None
    if conversation is None:
        return
    language = as_language(handoff.language)  # that of its card
    payload = {
        "number": handoff.number,
        "state": "closed",
        "lang": language,
        "message": say("handoff_closed", language),
    }
    events.event_append(conversation_id=conversation.pk, type="handoff.updated", payload=payload, used=False)
    transaction.on_commit(lambda: ring_from_thread(conversation.secret_hash))


def _tell_queue() -> None:
    """Send their place in the queue to all who wait and have their page open; nothing of it is stored."""
    waiting = list(handoffs_waiting()[:_MOST_TOLD])
    conversations = Conversation.objects.filter(pk__in=[row.conversation_id for row in waiting])
    keys = dict(conversations.values_list("pk", "secret_hash"))
    for before, row in enumerate(waiting):
        if row.conversation_id in keys:
            news: HandoffQueue = {"type": "handoff.queue", **queue_place(row, before)}
            send_from_thread(keys[row.conversation_id], news)
