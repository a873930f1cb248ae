"""Read answers to what is asked of a refill before it is begun: whether it is wanted, and which prescription is meant."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from agent.llm.offline.frames import Frame
from agent.llm.offline.reading.amounts import wished_in
from agent.llm.offline.reading.message import Clause
from agent.llm.offline.reading.references import (
    has_topic,
    medications_of,
    place_of,
    position_of,
    same_strength,
)
from agent.state import RememberedPrescription
from prescriptions.refill.confidence import Verdict, likeness, match_verdict

_ASKED: Final = ("person", "strong_person", "cancel", "greeting", "help", "logout")
_UNSURE: Final = 0.8
_LONGEST_YES: Final = 6


def wanted_answer(clause: Clause, waiting: Frame, _options: Sequence[Any]) -> Frame | None:
    """Return the refill that was asked about after a yes; a clause that says neither yes nor no counts as a failed turn."""
    if clause.has("yes") and not clause.has("no"):
        asked = {key: value for key, value in waiting.details.items() if key not in ("turns", "is_guess")}
        place = place_of(clause) or waiting.place
        return replace(waiting, place=place, details={**asked, **wished_in(clause)})
    if clause.medicines or _asks_else(clause):
        return None
    if clause.has("no", "refill_doubt"):
        return Frame("declined", 0.95)
    return replace(_failed(waiting), confidence=_UNSURE)


def offered_answer(clause: Clause, waiting: Frame, options: Sequence[RememberedPrescription]) -> Frame | None:
    """Return the refill of the prescription that a clause chooses; what chooses none counts as a failed turn."""
    row = _chosen(clause, options)
    if row is None and len(options) == 1 and clause.has("yes") and not clause.has("no"):
        row = options[0] if len(clause.words) <= _LONGEST_YES and not clause.unknown else None
    if row is not None:
        details = {key: value for key, value in waiting.details.items() if key != "turns"}
        return replace(waiting, medicines=(), details={**details, **_amounts(clause), "prescription": row})
    if _asks_else(clause):
        return None
    if clause.has("no") and not clause.medicines:
        return replace(waiting, details={**waiting.details, "none_meant": True})
    named = medications_of(clause.medicines)  # "the amoxicillin, actually"
    return replace(_failed(waiting), medicines=named or waiting.medicines)


def _chosen(clause: Clause, options: Sequence[RememberedPrescription]) -> RememberedPrescription | None:
    """Return the only option that a clause points at: by place, product, strength or a name that is like one."""
    position = position_of(clause, len(options))
    if position is not None and not clause.medicines:
        return options[position]
    fitting = list(options)
    ids = {choice["id"] for medicine in clause.medicines for choice in medicine.candidates}
    written = [
        *(medicine.text for medicine in clause.medicines),
        *(unknown.text for unknown in clause.unknown),
    ]
    if written:
        fitting = [
            row for row in options if row["med_id"] in ids or any(_is_like(text, row) for text in written)
        ]
    strengths = [*clause.strengths, *(f"{number} mg" for number in clause.numbers)]
    if strengths:
        fitting = [
            row for row in fitting if any(same_strength(row.get("strength", ""), one) for one in strengths)
        ]
    is_named = bool(written or strengths) and not clause.has("no")
    return fitting[0] if is_named and len(fitting) == 1 else None


def _is_like(written: str, row: Mapping[str, Any]) -> bool:
    return match_verdict(likeness(written, [row["en"], row["he"]])) == Verdict.GO_ON


def _amounts(clause: Clause) -> dict[str, Any]:
    """Return how much a clause wants of the prescription that it chooses."""
    wished = wished_in(clause)
    said = next(iter(wished.pop("amounts", ())), None) or {}
    return {**wished, **{key: value for key, value in said.items() if key in ("units", "packs", "days")}}


def _failed(waiting: Frame) -> Frame:
    turns = int(waiting.details.get("turns") or 0) + 1
    return replace(waiting, details={**waiting.details, "turns": turns})


def _asks_else(clause: Clause) -> bool:
    """Return whether a clause is about something else: a question, another topic, or giving up."""
    return clause.asks or has_topic(clause) or clause.has(*_ASKED)
