"""Make the facts of medicines: what is on file about a product, and whether two products are the same."""

import re
from collections.abc import Iterator
from typing import Final

from agent.answers.facts.fact import Fact
from agent.answers.facts.leaflets import leaflet_facts
from agent.answers.layout import bullets, paragraphs
from agent.answers.products import form_words, is_called_by_ingredient, name_correction, product_line
from agent.answers.render import listed
from agent.answers.renderer import Facts, Renderer
from agent.evidence import ProductFacts
from agent.inference.base import StepResult
from agent.state import RememberedMedication

_NEEDS: Final = re.compile(r"prescription|\brx\b|מרשם", re.IGNORECASE)
_WITHOUT: Final = re.compile(
    r"without|over[- ]the[- ]counter|\botc\b|no prescription|free sale|בלי|ללא|חופשי", re.IGNORECASE
)
_STRENGTH: Final = re.compile(r"\s+\d.*$")


def product_facts(renderer: Renderer, result: StepResult) -> Iterator[Fact]:
    """Yield all that is on file about the product of S0's `get_medication_by_name` or S2's `get_medication_info`."""
    facts, name = result.evidence["medication"], renderer.of(result.evidence["medication"])
    said = str(result.step.arguments.get("medication_name") or result.step.arguments.get("query") or "")
    if not said.startswith("med-") and not said.isdigit():
        yield from name_facts(renderer, {"said": said}, facts)
    yield _ingredients(renderer, facts, result.result["medication"])
    strength = renderer.measure(facts)
    key = "strength_of" if strength else "strength_unknown"
    yield Fact("strength", name, renderer.say(key, name=name, strength=strength))
    if form := form_words(renderer, facts):
        yield Fact("form", name, renderer.say("form_of", name=name, form=form))
    yield _pack(renderer, facts)
    yield prescription_fact(renderer, facts)
    yield price_fact(renderer, facts)
    if category := renderer.of(facts, "category"):
        yield Fact("category", name, renderer.say("category_of", name=name, category=category))
    yield Fact("maker", name, renderer.say("maker_unknown", name=name))
    yield from leaflet_facts(renderer, name, result.evidence.get("leaflet", {}))


def name_facts(renderer: Renderer, medication: RememberedMedication, facts: Facts) -> list[Fact]:
    """Return how we call a product that the customer called otherwise."""
    text = name_correction(renderer, medication, facts)
    return [Fact("name", renderer.of(facts), text)] if text else []


def _ingredients(renderer: Renderer, facts: ProductFacts, result: Facts) -> Fact:
    """Return what a product contains; of one that is called by its ingredient that is said by its name."""
    name, ingredients = renderer.of(facts), renderer.ingredients(facts, result)
    if is_called_by_ingredient(facts):
        return Fact("ingredients", name, renderer.say("contains_its_name", name=name))
    key = "contains_one" if len(ingredients) == 1 else "contains_many"
    contents = renderer.say(key, name=name, ingredients=listed(ingredients, renderer.language))
    return Fact("ingredients", name, contents)


def _pack(renderer: Renderer, facts: ProductFacts) -> Fact:
    size, line = facts["pack_size"], product_line(renderer, facts)
    unit = renderer.word("unit", str(facts["pack_unit"] or ""))
    text = renderer.say("product_pack", size=size, unit=unit) if size else renderer.say("pack_unknown")
    return Fact("pack", renderer.of(facts), f"{line}. {text}")


def prescription_fact(renderer: Renderer, facts: ProductFacts) -> Fact:
    """Return whether a product needs a prescription: a yes or no, as the customer's question has it."""
    name, question = renderer.of(facts), renderer.turn.text
    is_needed = bool(facts["rx"])
    polarity = None
    if _NEEDS.search(question):
        polarity = is_needed is not bool(_WITHOUT.search(question))
    return Fact("prescription", name, renderer.say("rx_yes" if is_needed else "rx_no", name=name), polarity)


def prescription_note(renderer: Renderer, facts: ProductFacts) -> Fact:
    """Return the same as a note beside the product's stock."""
    name = renderer.of(facts)
    return Fact("prescription", name, renderer.say("rx_note" if facts["rx"] else "otc_note", name=name))


def rx_companion(renderer: Renderer, facts: ProductFacts) -> Fact | None:
    """Return the fact that has to stand beside stock and price of a prescription medicine."""
    return prescription_fact(renderer, facts) if facts["rx"] else None


def price_fact(renderer: Renderer, facts: ProductFacts) -> Fact:
    """Return the price on file, or that there is none."""
    name, price = renderer.of(facts), facts["price"]
    text = renderer.say("price", name=name, price=price) if price else renderer.say("price_none", name=name)
    return Fact("price", name, text, companion=rx_companion(renderer, facts))


def requirement_facts(renderer: Renderer, result: StepResult) -> Iterator[Fact]:
    """Yield whether a prescription is needed (S2 `check_prescription_requirement`)."""
    yield prescription_fact(renderer, result.evidence["medication"])


def same_fact(renderer: Renderer, found: tuple[StepResult, StepResult], said: tuple[str, str]) -> Fact:
    """Return whether two products that were looked up, called so by the customer, have the same ingredients."""
    first, second = (one.evidence["medication"] for one in found)
    names = {"a": renderer.of(first), "b": renderer.of(second)}
    subject = listed(list(names.values()), renderer.language)
    if first["id"] == second["id"]:
        text = renderer.say("same_one", a=said[0], b=said[1], name=product_line(renderer, first))
        return Fact("same", renderer.of(first), text)
    contents = [str(one.result["medication"]["active_ingredients"]).split(", ") for one in found]
    bare, other = (sorted(_STRENGTH.sub("", part).strip() for part in parts) for parts in contents)
    if bare != other:
        inside = [
            listed(
                renderer.ingredients(one.evidence["medication"], one.result["medication"]), renderer.language
            )
            for one in found
        ]
        return Fact("same", subject, renderer.say("same_no", **names, first=inside[0], second=inside[1]))
    shared = str(first.get("generic_he") or "").split(" + ") if renderer.language == "he" else bare
    text = renderer.say(
        "same_yes_one" if len(bare) == 1 else "same_yes",
        **names,
        ingredients=listed(shared if any(shared) else bare, renderer.language),
    )
    lines = bullets([product_line(renderer, first), product_line(renderer, second)])
    return Fact("same", subject, paragraphs(text, lines))
