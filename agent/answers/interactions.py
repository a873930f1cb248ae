"""Answer with an interaction check and its card."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import cast

from agent.answers.answer import Answer
from agent.answers.cards import interactions_card
from agent.answers.facts.interactions import (
    checked_medicines,
    name_of,
    pair_facts,
    pairs_listed,
    partly_fact,
    too_many_fact,
)
from agent.answers.products import about
from agent.answers.renderer import Renderer
from agent.evidence import Evidence, PairFacts, UnassessedFacts
from agent.inference.base import StepResult
from agent.state import RememberedMedication


def pairs_part(renderer: Renderer, known: Sequence[RememberedMedication], result: StepResult) -> Answer:
    """Return our stored sentence for each pair of these medicines, or that they cannot be assessed."""
    facts = list(pair_facts(renderer, known, result))
    pairs = pairs_listed(renderer, known, result)
    note = facts[-1].text if result.evidence.get("unassessed") else ""
    return Answer(
        facts,
        cards=[interactions_card(renderer, pairs, note)] if pairs else [],
        suggestions=[renderer.say("chip_person")],
        state=about(known) if result.ok or result.code == "UNKNOWN_MED_ID" else {},
    )


def clash_part(
    renderer: Renderer,
    result: StepResult,
    taken: Collection[int],
    warned: Collection[str],
    *,
    new: Collection[int] = (),
    is_whole: bool = True,
) -> Answer:
    """Return warnings that nobody asked for: between medicines that are taken and others, each pair once (`warned`).

    Those of the taken ones that are `new` are warned of beside the other taken ones, too.
    What could not be assessed is said, and that the check was not of all medicines; that nothing is listed is not.
    """
    part = _clash_part(renderer, result, taken, warned, new)
    if not is_whole:
        part.pieces = [*part.pieces, too_many_fact(renderer)]
    return part


def _clash_part(
    renderer: Renderer,
    result: StepResult,
    taken: Collection[int],
    warned: Collection[str],
    new: Collection[int],
) -> Answer:
    known = checked_medicines(result)
    unassessed = result.evidence.get("unassessed", ())
    gaps = [gap for gap in unassessed if gap_key(gap) not in warned]
    pairs = [
        pair
        for pair in result.evidence.get("pairs", ())
        if _concerns({pair["a"], pair["b"]}, {*taken}, {*new}) and pair_key(pair) not in warned
    ]
    # A check that failed has not passed, unless all that it could not assess was said.
    is_said = result.ok or bool(unassessed)
    if is_said and not pairs and not gaps:
        return Answer()
    evidence = {**result.evidence, "pairs": pairs, "unassessed": gaps}
    part = pairs_part(renderer, known, replace(result, evidence=cast(Evidence, evidence)))
    if result.ok and not pairs:
        part.pieces = [partly_fact(renderer, [name_of(renderer, gap) for gap in gaps])]
    said_now = [*map(pair_key, pairs), *map(gap_key, gaps)]
    part.state = {"warned": [*warned, *said_now]} if said_now else {}
    return part


def _concerns(pair: set[int], taken: set[int], new: set[int]) -> bool:
    """Return whether one of a pair is taken and the other came up, or is taken too and one of them is new."""
    return len(pair & taken) == 1 or (pair <= taken and bool(pair & new))


def gap_key(gap: UnassessedFacts) -> str:
    """Return the name of what could not be assessed: an ingredient of a product, or a product without any."""
    return f"unassessed-{gap['medication']}-{gap['en']}"


def pair_key(pair: PairFacts) -> str:
    """Return the name of a pair of medicines, the same in both orders."""
    return f"{min(pair['a'], pair['b'])}-{max(pair['a'], pair['b'])}"
