"""Hand-offs as a conversation shows them."""

from agent.answers.render import label, say
from agent.conversation import events
from agent.models import Conversation, Run
from pharmacy_site.lib.text import as_language
from prescriptions.models import Handoff


def handoff_announce(conversation: Conversation, opened: Handoff, run: Run | None = None) -> None:
    """Logs the event by which clients learn of a hand-off, its number and its reason in plain words."""
    language = as_language(conversation.language)
    reason, waiting = label("reason", opened.reason, language), say("handoff_waiting", language)
    message = waiting if reason == opened.reason else f"{reason}. {waiting}."
    events.event_append(
        conversation_id=conversation.pk,
        type="handoff.updated",
        payload={"number": opened.number, "state": "open", "message": message},
        run=run,
    )
