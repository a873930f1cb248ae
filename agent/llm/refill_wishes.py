"""Take confidence and amounts of a refill from the customer's words, when a language model has asked for it."""

from dataclasses import replace
from typing import Any

from agent.llm.offline.frames import REFILLS, Frame
from agent.llm.offline.reading.amounts import wished_in
from agent.llm.offline.reading.patient_intents import unread_confidence
from agent.llm.offline.reading.references import place_of
from agent.llm.offline.understand import Understood


def with_wishes(frame: Frame, understood: Understood) -> Frame:
    """Return a refill with the place and the amounts that the customer's own words name, and how sure these were read.

    Where our own reading finds a refill, its confidence counts. Else the customer is asked whether they want one: a model may
    take "stop my metformin" for a wish, and is never surer than that. A name in it that nothing on file is called stays as it was
    written: the model's guess of it is not taken for the match.
    """
    if frame.intent not in REFILLS:
        return frame
    ours = next((one for one in understood.frames if one.intent == frame.intent), None)
    if ours and len(frame.medicines) <= 1 and any("query" in one for one in ours.medicines):
        frame = replace(frame, medicines=ours.medicines)
    if frame.intent != "refill":
        return frame
    clauses = understood.message.clauses
    wished: dict[str, Any] = {}
    for clause in clauses:
        found = wished_in(clause)
        wished |= {**found, "amounts": [*wished.get("amounts", ()), *found.get("amounts", ())]}
    place = next((place_of(clause) for clause in clauses if clause.places), None)
    confidence = ours.confidence if ours else unread_confidence(clauses)
    return replace(frame, place=place, details={**wished, **frame.details}, confidence=confidence)
