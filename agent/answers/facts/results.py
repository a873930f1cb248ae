"""Choose the facts of a result by the step that gave it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from agent.answers.facts.fact import Fact
from agent.answers.facts.medicines import (
    equivalent_facts,
    interaction_facts,
    list_facts,
    product_facts,
    requirement_facts,
)
from agent.answers.facts.prescriptions import own_facts, verified_facts
from agent.answers.facts.stores import level_facts, stock_facts, store_facts
from agent.answers.layout import numbered
from agent.answers.products import product_line
from agent.answers.renderer import Renderer
from agent.inference.base import StepResult

FACTS: Final[Mapping[str, Callable[[Renderer, StepResult], Iterator[Fact]]]] = {
    "get_medication_by_name": product_facts,
    "get_medication_info": product_facts,
    "check_prescription_requirement": requirement_facts,
    "check_inventory": level_facts,
    "check_stock": stock_facts,
    "inventory_check": list_facts,
    "inventory_find_equivalent": equivalent_facts,
    "interaction_check": interaction_facts,
    "prescription_management": own_facts,
    "prescription_verify": verified_facts,
    "store.info": store_facts,
}
"""What makes the facts of a step's result."""
_ANSWERED: Final = frozenset({"CITY_NOT_SERVED", "NO_EQUIVALENTS_FOUND"})
"""Refusals about a product that was found, which have facts of their own."""
_MISSING: Final = frozenset({"NOT_FOUND", "MED_NOT_FOUND", "AMBIGUOUS"})
_NAMES: Final = ("medication_name", "medication_query", "query")


def facts_of(renderer: Renderer, result: StepResult) -> list[Fact]:
    """Return the facts of a result in the renderer's language, those of a refusal included."""
    make = FACTS.get(result.step.name)
    if make is None or result.code == "invalid":
        return []
    about_product = result.step.name in ("check_stock", "check_inventory", "inventory_find_equivalent")
    if not result.ok and about_product and "medication" not in result.evidence:
        return [_refusal(renderer, result)]
    if result.ok or result.code in _ANSWERED or result.step.name.startswith(("interaction", "prescription_")):
        return list(make(renderer, result))
    return [_refusal(renderer, result)]


def _refusal(renderer: Renderer, result: StepResult) -> Fact:
    """Return why a name led to no product: several that it may mean, near names, or none."""
    query = next((str(result.step.arguments[key]) for key in _NAMES if result.step.arguments.get(key)), "")
    candidates = result.evidence.get("candidates") or []
    near = result.evidence.get("near") or []
    if candidates:
        lines = numbered([product_line(renderer, facts) for facts in candidates])
        return Fact("which", query, f"{renderer.say('ambiguous', query=query)}\n{lines}", is_lasting=False)
    if result.code not in _MISSING or not query:
        return Fact("unreadable", query, renderer.say("data_error"), is_lasting=False)
    text = renderer.say("not_found", query=query)
    if near:
        lines = numbered([product_line(renderer, facts) for facts in near])
        text = f"{text} {renderer.say('did_you_mean_one_of')}\n{lines}"
    return Fact("not_found", query, text, polarity=False, is_lasting=False)
