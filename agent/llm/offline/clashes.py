"""Decide which interaction check nobody asked for: a medicine that comes up against those that the customer takes."""

from collections.abc import Collection, Iterable
from typing import Final

from agent.inference.base import Step, Turn
from agent.llm.offline.reading.taken import medicines_taken
from agent.llm.offline.understand import Understood
from pharmacy_site.lib.text import Language

_MOST_ASKED: Final = 12


def taken_ids(understood: Understood, turn: Turn) -> set[int]:
    """Return the medicines that the customer takes: said in this conversation, or on their own list that was read."""
    taken = {one["id"] for one in (*turn.state.get("takes", ()), *medicines_taken(understood.message))}
    if turn.identifier:
        taken |= {one["med_id"] for one in turn.state.get("prescriptions", ())}
    return taken


def clash_step(asked: Iterable[int], taken: Collection[int], language: Language) -> Step | None:
    """Return the check of these medicines against those taken; None when there is nothing to check."""
    others = [pk for pk in dict.fromkeys(asked) if pk not in taken][:_MOST_ASKED]
    if not others or not taken:
        return None
    ids = [str(pk) for pk in (*others, *sorted(taken))]
    return Step("interaction_check", {"med_ids": ids, "language": language})
