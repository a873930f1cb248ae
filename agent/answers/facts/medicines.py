"""Make the facts of medicines: what is on file about a product, its leaflet, lists of products, interactions."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from agent.answers.equivalents import equivalents_part
from agent.answers.facts.fact import Fact
from agent.answers.interactions import checked_medicines, pairs_part
from agent.answers.layout import numbered, paragraphs
from agent.answers.leaflets import section_text, speaks_of_children
from agent.answers.products import medicine_of, name_correction, product_line, rx_tag
from agent.answers.render import listed
from agent.answers.renderer import Renderer
from agent.answers.stock import units
from agent.evidence import LeafletSection, ProductFacts, products_listed, totals_of
from agent.inference.base import StepResult

SECTIONS: Final = (
    "use", "dosage", "minimum_age", "pregnancy", "breastfeeding", "driving",
    "food_alcohol", "storage", "missed_dose", "side_effects", "warnings", "excipients",
)  # fmt: skip
"""What a leaflet may have a text about."""
MOST_LISTED: Final = 10
_NEEDS: Final = re.compile(r"prescription|\brx\b|מרשם", re.IGNORECASE)
_WITHOUT: Final = re.compile(
    r"without|over[- ]the[- ]counter|\botc\b|no prescription|free sale|בלי|ללא|חופשי", re.IGNORECASE
)


def product_facts(renderer: Renderer, result: StepResult) -> Iterator[Fact]:
    """Yield all that is on file about the product of S0's `get_medication_by_name` or S2's `get_medication_info`."""
    facts, name = result.evidence["medication"], renderer.of(result.evidence["medication"])
    said = str(result.step.arguments.get("medication_name") or result.step.arguments.get("query") or "")
    is_name = not said.startswith("med-") and not said.isdigit()
    if is_name and (correction := name_correction(renderer, {"said": said}, facts)):
        yield Fact("name", name, correction)
    ingredients = renderer.ingredients(facts, result.result["medication"])
    key = "contains_one" if len(ingredients) == 1 else "contains_many"
    contents = renderer.say(key, name=name, ingredients=listed(ingredients, renderer.language))
    yield Fact("ingredients", name, contents)
    if strength := renderer.measure(facts):
        yield Fact("strength", name, renderer.say("strength_of", name=name, strength=strength))
    if form := str(facts["form"] or ""):
        yield Fact("form", name, renderer.say("form_of", name=name, form=renderer.word("form", form)))
    yield _pack(renderer, facts)
    yield prescription_fact(renderer, facts)
    yield price_fact(renderer, facts)
    yield Fact("maker", name, renderer.say("maker_unknown", name=name))
    yield from leaflet_facts(renderer, name, result.evidence.get("leaflet", {}))


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


def rx_note(renderer: Renderer, facts: ProductFacts) -> Fact | None:
    """Return the fact that has to stand beside stock and price of a prescription medicine."""
    return prescription_fact(renderer, facts) if facts["rx"] else None


def price_fact(renderer: Renderer, facts: ProductFacts) -> Fact:
    """Return the price on file, or that there is none."""
    name, price = renderer.of(facts), facts["price"]
    text = renderer.say("price", name=name, price=price) if price else renderer.say("price_none", name=name)
    return Fact("price", name, text, companion=rx_note(renderer, facts))


def leaflet_facts(renderer: Renderer, name: str, leaflet: Mapping[str, LeafletSection]) -> Iterator[Fact]:
    """Yield each section of a leaflet word for word, and for each that it lacks that it says nothing."""
    if not leaflet:
        yield Fact("leaflet", name, renderer.say("no_leaflet", name=name))
        return
    for kind in SECTIONS:
        label = renderer.word("section", kind)
        if kind not in leaflet:
            yield Fact(f"leaflet.{kind}", name, renderer.say("leaflet_silent", name=name, section=label))
            continue
        text = section_text(renderer, leaflet[kind])
        key = "leaflet_says_any" if kind == "minimum_age" or speaks_of_children(text) else "leaflet_says"
        said = renderer.say(key, name=name, section=label, text=text)
        yield Fact(f"leaflet.{kind}", name, said, quotes=(text,))


def requirement_facts(renderer: Renderer, result: StepResult) -> Iterator[Fact]:
    """Yield whether a prescription is needed (S2 `check_prescription_requirement`)."""
    yield prescription_fact(renderer, result.evidence["medication"])


def list_facts(renderer: Renderer, result: StepResult) -> Iterator[Fact]:
    """Yield the products of S1's `inventory_check` as one list, and each by itself with its price."""
    products, totals = products_listed(result.evidence), totals_of(result.evidence)
    lines = []
    for facts in products[:MOST_LISTED]:
        packs = totals.get(facts["id"], 0)
        # A total is of no place: it is said to be of all stores together.
        there = renderer.say("units_everywhere", units=units(renderer, facts, totals)) if packs else ""
        line = f"{product_line(renderer, facts)} – {rx_tag(renderer, facts)}, {there or units(renderer, facts, totals)}"
        lines.append(line)
    more = renderer.say("more_exist") if len(products) > MOST_LISTED or result.evidence.get("more") else ""
    if len(lines) > 1:
        text = paragraphs(numbered(lines), more, renderer.say("category_note"))
        yield Fact("list", renderer.of(products[0], "category"), text, is_lasting=False)
    for facts, line in zip(products, lines, strict=False):
        polarity = None if facts["controlled"] else bool(totals.get(facts["id"], 0))
        yield Fact("listed", renderer.of(facts), f"{line}.", polarity, is_lasting=False)
        yield price_fact(renderer, facts)


def equivalent_facts(renderer: Renderer, result: StepResult) -> Iterator[Fact]:
    """Yield the equivalents with their whole disclosure as one fact (S1 `inventory_find_equivalent`)."""
    facts = result.evidence["medication"]
    part = equivalents_part(renderer, medicine_of(facts), result)
    yield Fact("equivalents", renderer.of(facts), part.text, is_required=True, is_lasting=False)


def interaction_facts(renderer: Renderer, result: StepResult) -> Iterator[Fact]:
    """Yield our stored sentence for each pair, all of them required (S1 `interaction_check`)."""
    known = checked_medicines(result)
    if not known and not result.evidence.get("unassessed"):
        return  # ids that a model made up
    subject = listed([renderer.name(one) for one in known], renderer.language)
    for text in pairs_part(renderer, known, result).text.split("\n\n"):
        yield Fact("interaction", subject, text, is_required=True, is_lasting=False)
