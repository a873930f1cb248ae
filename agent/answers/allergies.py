"""Word the check of products against allergies: warnings that nobody asked for, each once in a conversation."""

from collections.abc import Collection
from typing import Any

from agent.answers.answer import Answer
from agent.answers.facts.fact import Fact
from agent.answers.render import listed
from agent.answers.renderer import Renderer
from agent.inference.base import StepResult


def allergy_part(renderer: Renderer, result: StepResult, warned: Collection[str]) -> Answer:
    """Return a warning for each product with each allergen, what could not be checked, or that the check failed.

    That nothing was found is not said.
    """
    person = [renderer.say("chip_person")]
    if not result.ok:  # a check that failed has not passed
        return Answer([_fact(renderer.say("allergy_error"))], suggestions=person)
    found = {key: [one for one in result.result[key] if one["key"] not in warned] for key in _KEYS}
    facts = [_fact(_warning(renderer, one), renderer.name(one["product"])) for one in found["matches"]]
    for key in ("unchecked", "partly"):
        if found[key]:
            names = listed([renderer.name(one) for one in found[key]], renderer.language)
            facts.append(_fact(renderer.say(f"allergy_{key}", names=names), names))
    if not facts:
        return Answer()
    keys = [one["key"] for rows in found.values() for one in rows]
    return Answer(facts, suggestions=person, state={"warned": [*warned, *keys]})


def _fact(text: str, subject: str = "") -> Fact:
    return Fact("allergy", subject, text, is_required=True, is_lasting=False)


_KEYS = ("matches", "unchecked", "partly")


def _warning(renderer: Renderer, match: dict[str, Any]) -> str:
    source = renderer.say(f"allergy_{match['source']}", allergen=renderer.name(match["allergen"]))
    belongs = renderer.say(
        f"allergy_{match['kind']}",
        name=renderer.name(match["product"]),
        detail=renderer.name(match["detail"]),
    )
    if match.get("is_listed"):  # nobody asked about this one
        source = renderer.say("allergy_listed", name=renderer.name(match["product"])) + f" {source}"
    return f"{source} {belongs}"
