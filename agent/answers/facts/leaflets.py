"""Make the facts of leaflets: each section word for word, and where the text comes from."""

from collections.abc import Iterator, Mapping
from typing import Final

from agent.answers.cards import leaflet_source, source_dated
from agent.answers.facts.fact import Fact
from agent.answers.renderer import Renderer
from agent.evidence import LeafletSection

SECTIONS: Final = (
    "use", "dosage", "minimum_age", "pregnancy", "breastfeeding", "driving",
    "food_alcohol", "storage", "missed_dose", "side_effects", "warnings", "excipients",
)  # fmt: skip
"""What a leaflet may have a text about."""
_OVERVIEW: Final = ("use", "dosage", "warnings")
_CHILDREN: Final = frozenset({"children", "child", "infants", "ילדים", "לילדים", "הילד", "תינוקות"})


def leaflet_facts(renderer: Renderer, name: str, leaflet: Mapping[str, LeafletSection]) -> Iterator[Fact]:
    """Yield each section of a leaflet, for each that it lacks that it says nothing, and its source."""
    if not leaflet:
        yield Fact("leaflet", name, renderer.say("no_leaflet", name=name))
        return
    for kind in SECTIONS:
        if kind in leaflet:
            yield _section(renderer, name, kind, leaflet[kind], "leaflet_says")
        else:
            silent = renderer.say("leaflet_silent", name=name, section=renderer.word("section", kind))
            yield Fact(f"leaflet.{kind}", name, silent)
    yield from source_facts(renderer, name, leaflet, "dosage")


def overview_facts(renderer: Renderer, name: str, leaflet: Mapping[str, LeafletSection]) -> list[Fact]:
    """Return the sections that tell what a product is, without its name, for an answer about this product alone."""
    kinds = [kind for kind in _OVERVIEW if kind in leaflet]
    found = [_section(renderer, name, kind, leaflet[kind], f"leaflet_{kind}") for kind in kinds]
    return found or [Fact("leaflet", name, renderer.say("no_leaflet", name=name))]


def source_facts(
    renderer: Renderer, name: str, leaflet: Mapping[str, LeafletSection], kind: str
) -> Iterator[Fact]:
    """Yield where the text of this section, or else of the first, comes from and of when it is."""
    source, day = leaflet_source(renderer, leaflet, kind)
    if source and day:
        text = renderer.say("source", source=source, date=renderer.date(day))
        yield Fact("source", name, text, brief="", on_card=(source_dated(renderer, leaflet, kind),))


def _section(renderer: Renderer, name: str, kind: str, on_file: LeafletSection, key: str) -> Fact:
    text = renderer.of({"label_en": on_file["en"], "label_he": on_file["he"]})
    # Only a dosage is for somebody: for adults, unless it speaks of children too.
    is_for_adults = kind == "dosage" and not _CHILDREN & set(text.lower().replace(":", " ").split())
    section = renderer.word("section", kind)
    said = renderer.say(f"{key}_adults" if is_for_adults else key, name=name, section=section, text=text)
    return Fact(f"leaflet.{kind}", name, said, quotes=(text,))
