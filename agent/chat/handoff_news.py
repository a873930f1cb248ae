"""A hand-off that staff have closed is told in its conversation, and shown at once where that is open."""

from typing import Any

from django.db import transaction

from agent.answers.render import say
from agent.chat.process import ring_from_thread
from agent.conversation import events
from agent.models import Conversation
from pharmacy_site.lib.text import as_language
from prescriptions.models import Handoff


def on_handoff_closed(sender: Any, handoff: Handoff, **kwargs: Any) -> None:
    """Logs the event by which the customer learns of it; a conversation that was deleted is told nothing."""
    pk = handoff.conversation_id
    conversation = Conversation.objects.filter(pk=pk).first() if pk else None
    if conversation is None:
        return
    language = as_language(conversation.language)
    payload = {"number": handoff.number, "state": "closed", "message": say("handoff_closed", language)}
    events.event_append(conversation_id=conversation.pk, type="handoff.updated", payload=payload, used=False)
    transaction.on_commit(lambda: ring_from_thread(conversation.secret_hash))
