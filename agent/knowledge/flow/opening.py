"""IngestQuery, and the node that tells small talk from questions."""

import re
from typing import Any, Final

from agent.knowledge.answer import Status
from agent.knowledge.flow import prompts
from agent.knowledge.flow.calls import APIOverload, ask_yaml, one_of
from agent.knowledge.flow.running import Running
from agent.knowledge.flow.state import Shared, fallback
from agent.knowledge.formatting import LAST_MESSAGES, format_conversation_history
from pharmacy_site.lib.text import clean

MOST_CHARACTERS: Final = 1_000
_MOST_OF_A_MESSAGE: Final = 500
_MOST_OF_A_SUMMARY: Final = 600
_PLACEHOLDER: Final = re.compile(r"\[\[\w+\]\]")
SMALL_TALK: Final = (
    *(
        "hello",
        "welcome",
        "good_morning",
        "good_evening",
        "thank_you",
        "thanks_for_asking",
        "thanks_for_telling",
    ),
    *(
        "you_are_welcome",
        "sorry_to_hear",
        "sounds_hard",
        "get_well",
        "all_the_best",
        "good_day",
        "good_night",
    ),
    *("shabbat_shalom", "goodbye", "ask_what", "ask_more", "ask_again", "anything_else"),
)
"""The ready sentences that may answer small talk."""


def ingest_query(shared: Shared, running: Running) -> Shared:
    """Take what is personal out of the question and of the last messages, and put them into the state."""
    messages = [
        {
            "role": _speaker(message),
            "content": running.hide(clean(str(message.get("content", ""))))[:_MOST_OF_A_MESSAGE],
        }
        for message in shared.get("conversation_history", [])[-LAST_MESSAGES:]
    ]
    masked = running.hide(clean(shared["input"])[:MOST_CHARACTERS])
    return {
        "query": " ".join(_PLACEHOLDER.sub(" ", masked).split()),
        "conversation_history": messages,
        "formatted_conversation_history": format_conversation_history(messages),
        "context_summary": "",
        "rag_state": "init",
        "retrieve_attempts": 0,
        "suggestion_questions": [],
        "action": "default",
    }


def decide(shared: Shared, running: Running) -> Shared:
    """Answer small talk directly, with a ready sentence; anything else is looked up, with a summary of the conversation."""
    if name := running.small_talk(shared["query"]):
        return _direct(name)
    if running.model is None:
        return {"action": "retrieve_kb"}
    try:
        return ask_yaml(
            running,
            prompts.decide(shared, running.language, SMALL_TALK),
            {"type": str},
            _decided,
            optional={"reply": str, "context_summary": str},
        )
    except APIOverload as error:
        return fallback(error.reason)


def _decided(fields: dict[str, Any]) -> Shared:
    if one_of(("direct_response", "retrieve_kb"))(fields["type"]) == "direct_response":
        return _direct(one_of(SMALL_TALK)(fields.get("reply")))
    summary = " ".join(str(fields.get("context_summary") or "").split())
    return {"action": "retrieve_kb", "context_summary": summary[:_MOST_OF_A_SUMMARY]}


def _direct(name: str) -> Shared:
    return {"action": "direct_response", "answer_obj": {"status": Status.DIRECT, "direct": name}}


def _speaker(message: dict[str, str]) -> str:
    return "assistant" if message.get("role") == "assistant" else "user"
