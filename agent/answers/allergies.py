"""Word the check of products against allergies: warnings that nobody asked for, each once in a conversation."""

from collections.abc import Collection
from typing import Any

from agent.answers.layout import paragraphs
from agent.answers.parts import AnswerPart
from agent.answers.render import listed
from agent.answers.renderer import Renderer
from agent.inference.base import StepResult


def allergy_part(renderer: Renderer, result: StepResult, warned: Collection[str]) -> AnswerPart:
    """Return a warning for each product with each allergen, what could not be checked, or that the check failed.

    That nothing was found is not said.
    """
    person = [renderer.say("chip_person")]
    if not result.ok:  # a check that failed has not passed
        return AnswerPart(renderer.say("allergy_error"), suggestions=person)
    found = {key: [one for one in result.result[key] if one["key"] not in warned] for key in _KEYS}
    lines = [_warning(renderer, one) for one in found["matches"]]
    for key in ("unchecked", "partly"):
        if found[key]:
            names = listed([renderer.name(one) for one in found[key]], renderer.language)
            lines.append(renderer.say(f"allergy_{key}", names=names))
    if not lines:
        return AnswerPart("")
    keys = [one["key"] for rows in found.values() for one in rows]
    return AnswerPart(paragraphs(*lines), suggestions=person, state={"warned": [*warned, *keys]})


_KEYS = ("matches", "unchecked", "partly")


def _warning(renderer: Renderer, match: dict[str, Any]) -> str:
    source = renderer.say(f"allergy_{match['source']}", allergen=renderer.name(match["allergen"]))
    belongs = renderer.say(
        f"allergy_{match['kind']}",
        name=renderer.name(match["product"]),
        detail=renderer.name(match["detail"]),
    )
    return f"{source} {belongs}"
