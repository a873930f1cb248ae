"""Intents of the talk itself: courtesies, a person, complaints, help."""

from collections.abc import Mapping
from typing import Any, Final

from agent.llm.offline.frames import SECTIONS, Frame
from agent.llm.offline.reading.message import Clause
from agent.llm.offline.reading.references import has_topic

# Cues with their intents and how certain these are, in the order in which they count.
_COURTESIES: Final = (
    ("unwell", "health", 0.9),
    ("upset", "upset", 0.9),
    ("cancel", "cancelled", 0.95),
    ("greeting", "greeting", 0.95),
    ("bye", "bye", 0.95),
    ("thanks", "thanks", 0.95),
)


def talk_frame(clause: Clause, state: Mapping[str, Any]) -> Frame | None:
    """What is about the talk itself."""
    named = clause.medicines or clause.places or clause.categories
    if clause.has("english_please"):
        return Frame("language", 0.95, details={"language": "en"})
    if clause.has("hebrew_please"):
        return Frame("language", 0.95, details={"language": "he"})
    if clause.has("who"):
        return Frame("who", 0.95)
    if clause.has("strong_person") and not clause.medicines:
        return Frame("person", 0.95, details={"reason": "customer_asked"})
    if clause.has("outside") and not clause.medicines and not clause.categories and not clause.has("it"):
        return Frame("out_of_scope", 0.9)
    topic = has_topic(clause) or clause.has("stock", "follow") or (clause.asks and clause.has("it"))
    if clause.has("catalogue") and not named:
        return Frame("help", 0.9)
    if not named and not topic and clause.has("thanks", "bye") and not clause.asks:
        return Frame("bye" if clause.has("bye") else "thanks", 0.95)  # whatever else is said in it
    if named or (clause.unknown and (topic or not clause.has("thanks", "bye", "upset", "cancel"))):
        return None
    if (clause.has("person") and not clause.has("stock", "hours", *SECTIONS)) or (
        clause.has("person") and len(clause.words) <= 5 and not clause.has("hours", *SECTIONS)
    ):
        return Frame("person", 0.9, details={"reason": "customer_asked"})
    courtesy = next((one for one in _COURTESIES if clause.has(one[0])), None)
    if courtesy and not topic:
        _, intent, confidence = courtesy
        return Frame(intent, confidence)
    if clause.has("help") and not has_topic(clause):
        return Frame("help", 0.95)
    return None
