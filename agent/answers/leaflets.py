"""Quote leaflets: the answer about one product."""

from collections.abc import Mapping

from agent.answers.cards import leaflet_source, medication_card
from agent.answers.layout import paragraphs
from agent.answers.parts import AnswerPart
from agent.answers.products import about, medicine_of, name_correction
from agent.answers.render import listed
from agent.answers.renderer import Renderer
from agent.evidence import LeafletSection
from agent.inference.base import StepResult
from agent.state import RememberedMedication

_CHILDREN = frozenset({"children", "child", "infants", "ילדים", "לילדים", "הילד", "תינוקות"})


def product_part(
    renderer: Renderer, medication: RememberedMedication, found: StepResult, *, short: bool = False
) -> AnswerPart:
    """Return what a product is: ingredients, use, dosage, warnings, prescription; `short` leaves the leaflet out."""
    facts = found.evidence["medication"]
    leaflet = found.evidence.get("leaflet") or {}
    name = renderer.of(facts)
    result = found.result["medication"]
    ingredients = renderer.ingredients(facts, result)
    contains = renderer.say(
        "contains_one" if len(ingredients) == 1 else "contains_many",
        name=name,
        ingredients=listed(ingredients, renderer.language),
    )
    lines, quoted = [], []
    for kind in () if short else ("use", "dosage", "warnings"):
        if kind in leaflet:
            text = section_text(renderer, leaflet[kind])
            quoted.append(text)
            plain = kind == "dosage" and speaks_of_children(text)
            lines.append(renderer.say("leaflet_dosage_any" if plain else f"leaflet_{kind}", text=text))
    if not short and not lines:
        lines.append(renderer.say("no_leaflet", name=name))
    return AnswerPart(
        paragraphs(
            name_correction(renderer, medication, facts),
            contains,
            *lines,
            renderer.say("rx_yes" if facts["rx"] else "rx_no", name=name),
            "" if short or not leaflet else source_line(renderer, leaflet, "dosage"),
        ),
        cards=[medication_card(renderer, facts, result, leaflet)],
        suggestions=[
            renderer.say("chip_stock", name=name),
            renderer.say("chip_side_effects", name=name),
            renderer.say("chip_where", name=name),
        ],
        quoted=quoted,
        state=about([medicine_of(facts)]),
    )


def section_text(renderer: Renderer, section: LeafletSection) -> str:
    """Return a leaflet's text, in English where the language has none."""
    return renderer.of({"label_en": section.get("en"), "label_he": section.get("he")})


def speaks_of_children(text: str) -> bool:
    """Return whether a leaflet's text is (also) about children, so that it cannot be headed "adults"."""
    return bool(_CHILDREN & set(text.lower().replace(":", " ").split()))


def source_line(renderer: Renderer, leaflet: Mapping[str, LeafletSection], kind: str) -> str:
    """Return where a leaflet text comes from and of when it is."""
    source, day = leaflet_source(renderer, leaflet, kind)
    return renderer.say("source", source=source, date=renderer.date(day)) if source and day else ""
