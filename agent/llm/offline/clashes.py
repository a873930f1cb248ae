"""Decide which interaction check nobody asked for: a medicine that comes up against those that the customer takes."""

from collections.abc import Collection, Iterable

from agent.inference.base import Step, Turn
from agent.llm.offline.reading.taken import medicines_taken
from agent.llm.offline.understand import Understood
from agent.tools.interaction_check import MOST_IDS
from pharmacy_site.lib.text import Language


def taken_ids(understood: Understood, turn: Turn) -> set[int]:
    """Return the medicines that the customer takes: said in this conversation, or on their own list that was read."""
    taken = {one["id"] for one in (*turn.state.get("takes", ()), *medicines_taken(understood.message))}
    if turn.identifier:
        taken |= {one["med_id"] for one in turn.state.get("prescriptions", ())}
    return taken


def clash_step(
    asked: Iterable[int], taken: Collection[int], language: Language, new: Collection[int] = ()
) -> Step | None:
    """Return the check of these medicines against those taken, the first of them if there are too many for one check.

    Those of the taken ones that are `new` are checked against the others. None when there is nothing to check.
    """
    others = [pk for pk in dict.fromkeys(asked) if pk not in taken]
    if not taken or not (others or (new and len(taken) > 1)):
        return None
    known = sorted(taken, key=lambda pk: (pk not in new, pk))[: MOST_IDS - 1]
    ids = [str(pk) for pk in (*others[: MOST_IDS - len(known)], *known)]
    return Step("interaction_check", {"med_ids": ids, "language": language})


def is_whole(step: Step, asked: Iterable[int], taken: Collection[int]) -> bool:
    """Return whether a check has all medicines that came up, and all that are taken."""
    return len({*asked, *taken}) == len(step.arguments["med_ids"])
