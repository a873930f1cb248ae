"""Read whether a customer no longer wants the person whom they asked for."""

from typing import Final

from agent.llm.offline.reading.message import Clause, Message
from agent.llm.offline.reading.patient_intents import REQUEST_NUMBER
from agent.llm.offline.reading.references import has_topic
from pharmacy_site.lib.text import words

_NOT: Final = frozenset(
    words("not dont didnt cant wont never if why how when what who אל לא אם למה איך מתי מה מי האם")
)
"""Words that make a clause a question or a denial, so that it is no request to cancel."""


def withdraws_handoff(message: Message) -> str:
    """Return "person" when a message clearly ends the wish for a person, "request" when it cancels an unnamed request.

    Empty otherwise: also when it asks something else, and when it wants another person than the one it declines.
    """
    found = [_of_clause(clause) for clause in message.clauses]
    others = [clause for clause, kind in zip(message.clauses, found, strict=True) if not kind]
    if any(_asks_else(clause) for clause in others):
        return ""
    kinds = {kind for kind in found if kind}
    return "person" if "person" in kinds else "".join(kinds)


def _of_clause(clause: Clause) -> str:
    if clause.medicines or clause.has("refill", "renew") or REQUEST_NUMBER.search(clause.text):
        return ""
    declined = {place for span in clause.cues.spans("person_declined") for place in range(*span)}
    if declined:
        named = {
            place
            for cue in ("strong_person", "person")
            for span in clause.cues.spans(cue)
            for place in range(*span)
        }
        return "person" if named <= declined and not clause.asks else ""
    if not clause.has("refill_cancel") or not _NOT.isdisjoint(clause.words):
        return ""
    if clause.has("handoff_named"):
        return "person"
    return "request" if clause.has("refill_request") else ""


def _asks_else(clause: Clause) -> bool:
    return bool(
        clause.asks
        or clause.medicines
        or clause.categories
        or clause.places
        or has_topic(clause)
        or clause.has("strong_person", "person")
    )
