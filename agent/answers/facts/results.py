"""Choose the facts of a result by the step that gave it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from agent.answers.facts.fact import Fact
from agent.answers.facts.interactions import interaction_facts, taken_facts
from agent.answers.facts.knowledge import knowledge_facts
from agent.answers.facts.lists import equivalent_facts, list_facts, unresolved_fact
from agent.answers.facts.medicines import product_facts, requirement_facts
from agent.answers.facts.prescriptions import own_facts, verified_facts
from agent.answers.facts.site import site_facts
from agent.answers.facts.stores import level_facts, stock_facts, store_facts
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
    "site.answer": site_facts,
    "medicine.taken": taken_facts,
    "knowledge.ask": knowledge_facts,
}
"""What makes the facts of a step's result."""
_ANSWERED: Final = frozenset({"CITY_NOT_SERVED", "NO_EQUIVALENTS_FOUND", "unknown_medicine"})
"""Refusals that have facts of their own."""


def facts_of(renderer: Renderer, result: StepResult) -> list[Fact]:
    """Return the facts of a result in the renderer's language, those of a refusal included."""
    make = FACTS.get(result.step.name)
    if make is None or result.code == "invalid":
        return []
    about_product = result.step.name in ("check_stock", "check_inventory", "inventory_find_equivalent")
    if not result.ok and about_product and "medication" not in result.evidence:
        return [unresolved_fact(renderer, result)]
    if result.ok or result.code in _ANSWERED or result.step.name.startswith(("interaction", "prescription_")):
        return list(make(renderer, result))
    return [unresolved_fact(renderer, result)]
