"""Recognise what stands around a product's name in a clause: a number, a place, an unknown word, "is there … in it"."""

from agent.answers.facts.leaflets import SECTIONS
from agent.llm.offline.frames import SHORT
from agent.llm.offline.reading.message import Clause, Medicine, Unknown
from agent.llm.offline.reading.references import ORDINALS
from pharmacy_site.lib.text import fold
from stores.places import PlaceMention


def asks_what_is_in(clause: Clause) -> bool:
    """Return whether a clause asks what a product contains: "there is" right before "in" and its name."""
    medicine = clause.medicines[0]
    return (
        medicine.start > 0
        and clause.words[medicine.start] == f"ב{fold(medicine.text)}"
        and clause.words[medicine.start - 1].removeprefix("ש") == "יש"
        and not clause.has(*SECTIONS)
    )


def asks_for_unknown_content(clause: Clause) -> bool:
    """Return whether unknown words are what a product may contain: "is there aspartame in it?", "contains aspartame?"."""
    if not clause.unknown or not clause.has("ingredient", "excipients"):
        return False
    first = clause.unknown[0].start
    return clause.has("it") or any(end == first for _start, end in clause.cues.spans("contains"))


def is_name_and_place(clause: Clause) -> bool:
    """Return whether a clause is hardly more than one unknown name and a place: "zorbulin in Ramat Aviv"."""
    if len(clause.unknown) != 1 or not clause.places:
        return False
    spans: list[Unknown | PlaceMention] = [*clause.unknown, *clause.places]
    single = clause.unknown[0].end - clause.unknown[0].start == 1
    return single and len(clause.words) - sum(span.end - span.start for span in spans) <= SHORT


def is_strength(clause: Clause) -> bool:
    """Return whether a clause is hardly more than a number that can only be a strength."""
    return len(clause.numbers) == 1 and clause.numbers[0] > len(ORDINALS) and len(clause.words) <= SHORT


def amount_asked_of(clause: Clause) -> Medicine | None:
    """Return the product whose contents are asked for: Acamol in "how much paracetamol is in Acamol?"."""
    if len(clause.medicines) < 2 or not clause.has("amount"):
        return None
    inner, outer = clause.medicines[0], clause.medicines[-1]
    hebrew = clause.words[outer.start] == f"ב{fold(outer.text)}".split()[0]
    inside = hebrew or clause.words[outer.start - 1] in ("in", "of")
    return outer if inside and inner.end <= outer.start else None


def is_listed(clause: Clause, name: Unknown) -> bool:
    """Return whether "or" or "and" joins an unknown name to a known one."""
    for medicine in clause.medicines:
        first, second = (name, medicine) if name.start < medicine.start else (medicine, name)
        between = clause.words[first.end : second.start]
        joined = (
            not between
            and clause.words[second.start].startswith("ו")
            and len(clause.words[second.start]) > SHORT
        )
        if joined or between in (["או"], ["or"], ["and"], ["וגמ"]):
            return True
    return False


def is_beside(clause: Clause, name: Unknown) -> bool:
    """Return whether an unknown name is next to a known one, with at most one word between."""
    return any(name.start - m.end in (0, 1) or m.start - name.end in (0, 1) for m in clause.medicines)
