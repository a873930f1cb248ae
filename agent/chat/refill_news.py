"""Append an event to the customer's conversation when their refill request moves, and show it to open sockets."""

from typing import Any, Final

from django.db import transaction

from agent.chat.process import ring_from_thread
from agent.conversation.refills import refill_announce
from agent.models import Conversation
from prescriptions.models import RefillRequest
from prescriptions.refill.states import Event

_NOT_SHOWN: Final = frozenset(
    {Event.CONFIRMED, Event.SAFE, Event.ESCALATED, Event.CONTACT_CHOSEN, "order_sent", "order_unknown"}
)
"""Steps within one walk; the customer is shown the one that ends it."""


def on_refill_changed(sender: Any, request: RefillRequest, event: str, **kwargs: Any) -> None:
    """Append the event, unless the conversation was deleted, and show it to the open sockets after the commit."""
    pk = request.conversation_id
    if pk is None or event in _NOT_SHOWN:
        return
    conversation = Conversation.objects.filter(pk=pk).first()
    if conversation is None:
        return
    refill_announce(request, conversation)
    transaction.on_commit(lambda: ring_from_thread(conversation.secret_hash))
