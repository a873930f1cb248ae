"""Tells customers that staff have closed their hand-off: an event in the conversation, shown at once where it is open."""

from typing import Any

from django.db import transaction

from agent.answers.render import say
from agent.chat.process import ring_from_thread
from agent.conversation import events
from agent.models import Conversation
from pharmacy_site.lib.text import as_language
from prescriptions.models import Handoff


def on_handoff_closed(sender: Any, handoff: Handoff, **kwargs: Any) -> None:
    """Append the event to the hand-off's conversation, unless that was deleted."""
    pk = handoff.conversation_id
    conversation = Conversation.objects.filter(pk=pk).first() if pk else None
    if conversation is None:
        return
    language = as_language(conversation.language)
    payload = {"number": handoff.number, "state": "closed", "message": say("handoff_closed", language)}
    events.event_append(conversation_id=conversation.pk, type="handoff.updated", payload=payload, used=False)
    transaction.on_commit(lambda: ring_from_thread(conversation.secret_hash))
