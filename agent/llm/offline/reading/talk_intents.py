"""Read clauses about the talk itself: courtesies, a person, complaints, help."""

from collections.abc import Mapping
from typing import Any, Final

from agent.answers.facts.leaflets import SECTIONS
from agent.llm.offline.frames import Frame
from agent.llm.offline.reading.message import Clause
from agent.llm.offline.reading.references import has_topic, place_of

SITE_TOPICS: Final = (
    "complaint", "manager", "returns", "parking", "payment", "digital_prescription", "delivery", "orders", "hold",
)  # fmt: skip
"""Subjects of `stores.SiteAnswer` that a clause without a medicine may be about, most particular first."""

# Cues with their intents and how certain these are, in the order in which they count.
_COURTESIES: Final = (
    ("unwell", "health", 0.9),
    ("upset", "upset", 0.9),
    ("cancel", "cancelled", 0.95),
    ("greeting", "greeting", 0.95),
    ("bye", "bye", 0.95),
    ("thanks", "thanks", 0.95),
)

_LONGEST_WISH: Final = 7  # words of "can we go on in English please"


def site_frame(clause: Clause) -> Frame | None:
    """Return the question of a clause that the data cannot answer; None where it is about a medicine as well."""
    topic = next((topic for topic in SITE_TOPICS if clause.has(f"site_{topic}")), None)
    if topic is None or clause.medicines:
        return None
    # "This is outrageous, I want to complain", "an hour in the queue for eye drops" are about no product.
    if (clause.categories or clause.has("it")) and topic != "complaint":
        return None
    if _asks_for_person(clause, "strong_person") and topic != "manager":
        return Frame("person", 0.95, details={"reason": "customer_asked"})
    return Frame("site", 0.95, place=place_of(clause), details={"topic": topic})


def talk_frame(clause: Clause, state: Mapping[str, Any]) -> Frame | None:
    """Return what a clause says about the talk itself."""
    named = clause.medicines or clause.places or clause.categories
    # A longer sentence asks for something else: "do I need a document in English?"
    asks_language = len(clause.words) <= _LONGEST_WISH
    if asks_language and clause.has("english_please"):
        return Frame("language", 0.95, details={"language": "en"})
    if asks_language and clause.has("hebrew_please"):
        return Frame("language", 0.95, details={"language": "he"})
    if clause.has("anybody_there") and not clause.medicines:
        return Frame("is_anybody_there", 0.95)
    if clause.has("who"):
        return Frame("who", 0.95)
    # "Before I speak with his doctor" asks for nobody.
    if _asks_for_person(clause, "strong_person") and not clause.medicines:
        return Frame("person", 0.95, details={"reason": "customer_asked"})
    if clause.has("outside") and not clause.medicines and not clause.categories and not clause.has("it"):
        return Frame("out_of_scope", 0.9)
    asks_more = has_topic(clause) or clause.has("stock", "follow") or (clause.asks and clause.has("it"))
    if clause.has("catalogue") and not named:
        return Frame("help", 0.9)
    # "I'm dead tired, off to bed, thanks"; without the thanks somebody may have forgotten a pill before going to bed.
    ends = clause.has("thanks") and clause.has("bye", "to_bed")
    if not named and (ends or not asks_more) and clause.has("thanks", "bye") and not clause.asks:
        return Frame("bye" if ends or clause.has("bye") else "thanks", 0.95)  # whatever else is said in it
    if named or (clause.unknown and (asks_more or not clause.has("thanks", "bye", "upset", "cancel"))):
        return None
    person = _asks_for_person(clause, "person")
    if (person and not clause.has("stock", "hours", *SECTIONS)) or (
        person and len(clause.words) <= 5 and not clause.has("hours", *SECTIONS)
    ):
        return Frame("person", 0.9, details={"reason": "customer_asked"})
    courtesy = next((one for one in _COURTESIES if clause.has(one[0])), None)
    if courtesy and not asks_more:
        _, intent, confidence = courtesy
        return Frame(intent, confidence)
    if clause.has("help") and not has_topic(clause):
        return Frame("help", 0.95)
    return None


def _asks_for_person(clause: Clause, cue: str) -> bool:
    """Return whether a clause asks for one of our staff: "before I speak with his doctor" and "for a person to sign" do not."""
    elsewhere = clause.cues.spans("talks_elsewhere")
    return any(
        not any(first <= start and end <= last for first, last in elsewhere)
        for start, end in clause.cues.spans(cue)
    )
