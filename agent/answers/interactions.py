"""Word an interaction check, with its card."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final, cast

from agent.answers.cards import InteractionPair, interactions_card
from agent.answers.layout import paragraphs
from agent.answers.parts import AnswerPart
from agent.answers.products import about
from agent.answers.render import listed
from agent.answers.renderer import Renderer
from agent.evidence import Evidence, Labels, PairFacts, names_checked
from agent.inference.base import StepResult
from agent.state import RememberedMedication


def pairs_part(renderer: Renderer, known: Sequence[RememberedMedication], result: StepResult) -> AnswerPart:
    """Return our stored sentence for each pair of these medicines, or that they cannot be assessed."""
    names = {medication["id"]: renderer.name(medication) for medication in known}
    person = [renderer.say("chip_person")]
    gaps = [_label(renderer, gap) for gap in result.evidence.get("unassessed", ())]
    if not result.ok:
        if result.code != "UNKNOWN_MED_ID":
            return AnswerPart(renderer.say("data_error"), suggestions=person)
        missing = listed(gaps or list(names.values()), renderer.language)
        text = renderer.say("interaction_unknown", names=missing)
        return AnswerPart(text, suggestions=person, state=about(known))
    pairs: list[InteractionPair] = []
    for pair in sorted(result.evidence.get("pairs", ()), key=lambda pair: pair["level"] != "avoid"):
        a, b = names.get(pair["a"], ""), names.get(pair["b"], "")
        level = "same" if pair["kind"] == "same_ingredient" else str(pair["level"])
        shared = [_label(renderer, ingredient) for ingredient in pair["ingredients"]]
        text = renderer.say(f"pair_{level}", a=a, b=b, ingredients=listed(shared, renderer.language))
        label = renderer.word("level", level).capitalize()
        pairs.append({"names": [a, b], "level": level, "label": label, "text": text})
    lines = [pair["text"] for pair in pairs]
    if not pairs:
        lines = [renderer.say("interaction_none", names=listed(list(names.values()), renderer.language))]
    partly = renderer.say("interaction_partly", names=listed(gaps, renderer.language)) if gaps else ""
    cards = [interactions_card(renderer, pairs, partly)] if pairs else []
    return AnswerPart(paragraphs(*lines, partly), cards=cards, suggestions=person, state=about(known))


_GAPS: Final = "unassessed"
"""Stands among the pairs that were warned of: that something could not be assessed was said."""


def clash_part(
    renderer: Renderer, result: StepResult, taken: Collection[int], warned: Collection[str]
) -> AnswerPart:
    """Return warnings that nobody asked for: between medicines that are taken and others, each pair once (`warned`).

    What could not be assessed is said; that nothing is listed is not.
    """
    known = checked_medicines(result)
    if not result.ok:  # a check that failed has not passed
        part = pairs_part(renderer, known, result)
        is_gap = result.code == "UNKNOWN_MED_ID"
        if is_gap and _GAPS in warned:
            return AnswerPart("")
        part.state = {"warned": [*warned, _GAPS]} if is_gap else {}
        return part
    pairs = [
        pair
        for pair in result.evidence.get("pairs", ())
        if (pair["a"] in taken) != (pair["b"] in taken) and pair_key(pair) not in warned
    ]
    gaps = [] if _GAPS in warned else result.evidence.get("unassessed", [])
    if not pairs and not gaps:
        return AnswerPart("")
    evidence = {**result.evidence, "pairs": pairs, "unassessed": gaps}
    part = pairs_part(renderer, known, replace(result, evidence=cast(Evidence, evidence)))
    if not pairs:
        names = listed([_label(renderer, gap) for gap in gaps], renderer.language)
        part.text = renderer.say("interaction_partly", names=names)
    part.state = {"warned": [*warned, *map(pair_key, pairs), *([_GAPS] if gaps else [])]}
    return part


def pair_key(pair: PairFacts) -> str:
    """Return the name of a pair of medicines, the same in both orders."""
    return f"{min(pair['a'], pair['b'])}-{max(pair['a'], pair['b'])}"


def checked_medicines(result: StepResult) -> list[RememberedMedication]:
    """Return the products that an interaction check looked at, as the conversation remembers them."""
    names = names_checked(result.evidence)
    return [{"id": int(pk), "en": labels["en"], "he": labels["he"]} for pk, labels in names.items()]


def _label(renderer: Renderer, labels: Labels) -> str:
    return str(labels["he"] if renderer.language == "he" and labels.get("he") else labels["en"])
