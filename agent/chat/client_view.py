"""Show one conversation to two kinds of clients: text and cards that do not repeat each other, or the whole text.

The log has the whole text of an answer, its cards, and the brief text that stands beside them if that differs.
"""

from agent.answers.card_texts import without_repeats
from agent.chat.server_messages import MessageDelta
from agent.conversation.records import NumberedEvent, Progress


def event_shown(event: NumberedEvent, *, cards: bool) -> NumberedEvent:
    """Return a numbered event as a client gets that shows cards, or one that said in its hello that it shows none."""
    if event["type"] != "message.completed":
        return event
    shown = event.copy()
    brief = shown.pop("brief", "")
    if cards and event.get("cards"):
        shown["text"] = brief or event["text"]
        shown["cards"] = without_repeats(event["cards"], shown["text"])
    return shown


def delta_shown(delta: MessageDelta, *, cards: bool) -> MessageDelta:
    """Return the next piece of an answer for such a client."""
    brief = delta.get("brief")
    piece = brief if brief is not None and cards else delta
    shown: MessageDelta = {
        "type": "message.delta",
        "run_id": delta["run_id"],
        "offset": piece["offset"],
        "text": piece["text"],
    }
    if restarts := delta.get("restarts"):
        shown["restarts"] = restarts
    return shown


def progress_shown(progress: Progress, *, cards: bool) -> Progress:
    """Return what a run has shown so far for such a client."""
    return {**progress, "text": progress.get("brief", progress["text"]) if cards else progress["text"]}
