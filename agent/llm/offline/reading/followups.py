"""Read clauses that only make sense after what was asked before: "and the other one?"."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from agent.llm.offline.frames import REPEATABLE, SHORT, Frame
from agent.llm.offline.reading.message import Clause
from agent.state import RememberedMedication, RememberedPlace

_LONGEST_NAMING: Final = 6
"""Words of "and do they have ibuprofen?" after a branch; more ask for something else."""
_LONGEST_PLACE: Final = 5
"""Words of "in Tel Aviv then, please"; a longer statement only tells where somebody is."""


def medicines_meant(
    clause: Clause, state: Mapping[str, Any], focus: list[Any]
) -> tuple[RememberedMedication, ...]:
    """Return the medicines that a clause without a name is about: those last talked about."""
    if clause.has("earlier_one"):
        return tuple(state.get("earlier") or focus)[:1]
    if clause.has("both") and len(focus) == 1:
        return tuple([*focus, *state.get("earlier", ())][:2])
    return tuple(focus[:1] if clause.has("asked_about") else focus)


def leaning(
    clause: Clause,
    state: Mapping[str, Any],
    medicines: tuple[RememberedMedication, ...],
    place: RememberedPlace | None,
    before: Sequence[Frame],
    *,
    assumed: bool,
    details: Mapping[str, Any],
) -> Frame | None:
    """Read a clause without a question of its own, a bare name or place, by what was asked before."""
    last: Any = state.get("last") or {}
    if before and not clause.medicines and not clause.unknown and not place:
        return None  # a remark beside a question that is being answered
    if place:
        if medicines:
            sure = 0.9 if assumed or clause.medicines else 0.86
            return Frame("stock_place", sure, medicines, place, details=details, assumed=assumed)
        is_told = len(clause.words) > _LONGEST_PLACE and not clause.asks
        return Frame("branch", 0.7 if is_told else 0.86, place=place, details=details)
    if medicines and not assumed:
        intent = last.get("intent")
        follows = clause.has("follow", "correction")
        if state.get("intent") in ("refill_status", "refill") and (follows or len(clause.words) <= SHORT):
            return Frame("refill_status", 0.9, medicines)  # "and the metformin?"
        told = state.get("last_branch") or {}
        names_it = clause.medicines and len(clause.words) <= _LONGEST_NAMING
        if told.get("intent") == "branch" and told.get("place") and names_it:
            return Frame("stock_place", 0.88, medicines, told["place"], details=details)
        if intent in REPEATABLE and (follows or len(clause.words) <= 5):
            again = Frame.recalled(last)
            # A bare word that is no known name may as well be nonsense.
            sure = 0.9 if follows or clause.medicines or not clause.unknown else 0.72
            details = {**again.details, **details}
            return replace(again, medicines=medicines, confidence=sure, details=details, bare=not follows)
        narrowed = details.get("strengths") or details.get("forms")
        if len(medicines) >= 2:
            return Frame(
                "interaction" if clause.has("interaction") else "info",
                0.86,
                medicines,
                details=details,
                bare=True,
            )
        if all("query" in medicine and "candidates" not in medicine for medicine in medicines):
            return Frame("info", 0.86 if clause.has("follow") else 0.72, medicines, details=details)
        return Frame("stock" if narrowed else "info", 0.87, medicines, details=details, bare=True)
    if clause.has("yes", "no") and len(clause.words) <= 3:
        return Frame("nothing_asked", 0.75)
    if clause.forms and medicines and assumed:
        return Frame("stock", 0.86, medicines, details=details, assumed=True)
    if clause.has("asked_about", "earlier_one") and medicines and last.get("intent") in REPEATABLE:
        return replace(Frame.recalled(last), medicines=medicines, confidence=0.9, assumed=True)
    if clause.has("it", "follow") and medicines and clause.asks and len(clause.words) <= 6:
        return Frame("ask_what", 0.75, medicines, details=details, assumed=True)
    return Frame("unknown", 0.4)
