"""Find the medicines that a request for a refill is about: "refill my metformin and the amoxicillin"."""

import re
from collections.abc import Sequence
from typing import Final

from agent.llm.offline.reading.message import Clause, Medicine
from agent.llm.offline.reading.references import ORDINALS, medications_of
from agent.state import RememberedMedication, RememberedPrescription
from pharmacy_site.lib.text import words

_AND: Final = frozenset(words("and or plus also & + ו וגם או גם וכן ועוד"))
_BETWEEN: Final = _AND | frozenset(
    words(
        "my the both of for a an another one some more please too as well prescription prescriptions rx medicine"
        " medication pills tablets capsules packs boxes each only just mg mcg refill refills את של שלי גם עוד בבקשה המרשם מרשם"
        " ניפוק לנפק עבור כדורים טבליות קפסולות חפיסות רק מג מקג"
    )
)
_JOINED: Final = r"(?:,|&|\+|\b(?:and|or|plus)\b|וגם|או|\bו(?=את\b|גם\b))\s*(?:(?:also|my|the|both|for|את|ואת|גם|של|עבור|\d{1,4}|of|tablets|pills|כדורים|טבליות)\s+)*"
_COUNT: Final = re.compile(r"ו?[\d.]+")
_ALL: Final = frozenset(words("all everything כל הכל כולמ כולנ"))


def refilled_in(clause: Clause) -> tuple[RememberedMedication, ...]:
    """Return the medicines of a clause that are named together, those nearest to "refill" when there are several groups.

    A name beside them that nothing on file is called is one of them: the customer is told that it is not on their file.
    """
    groups: list[list[Medicine]] = []
    for medicine in sorted(clause.medicines, key=lambda one: one.start):
        gap = clause.words[groups[-1][-1].end : medicine.start] if groups else []
        if groups and all(word in _BETWEEN or _COUNT.fullmatch(word) for word in gap):
            groups[-1].append(medicine)
        else:
            groups.append([medicine])
    if not groups:
        return ()
    asked = min(groups, key=lambda group: _distance(clause, group))
    known = medications_of(asked)
    return (*known, *_unknown_beside(clause, asked))


def rows_named(clause: Clause, rows: Sequence[RememberedPrescription]) -> tuple[RememberedMedication, ...]:
    """Return the medicines of listed prescriptions that are named by several positions: "the first and the third"."""
    places = [place for place, name in enumerate(ORDINALS[: len(rows)]) if clause.has(name)]
    places += [number - 1 for number in clause.numbers if 1 <= number <= len(rows)]
    found = medicines_of_rows([rows[place] for place in places])
    return found if len(found) > 1 else ()


def medicines_of_rows(rows: Sequence[RememberedPrescription]) -> tuple[RememberedMedication, ...]:
    """Return the medicines of prescriptions, each once."""
    by_medicine = {row["med_id"]: row for row in rows}
    return tuple({"id": pk, "en": row["en"], "he": row["he"]} for pk, row in by_medicine.items())


def asks_for_all(clause: Clause) -> bool:
    """Return whether a request without a name is about all prescriptions: "refill all of them"."""
    return not clause.medicines and (clause.has("both") or not _ALL.isdisjoint(clause.words))


def _distance(clause: Clause, group: list[Medicine]) -> int:
    """Return how far these names are from the word "refill"; a name behind it is nearer than one before it."""
    found = [0]
    for start, end in clause.cues.spans("refill"):
        behind, before = group[0].start - end, start - group[-1].end
        found.append(2 * behind + 1 if behind >= 0 else 2 * max(before, 0) + 2)
    return min(found[1:], default=0)


def _unknown_beside(clause: Clause, asked: list[Medicine]) -> list[RememberedMedication]:
    names = "|".join(re.escape(one.text) for one in asked)
    found: list[RememberedMedication] = []
    for unknown in clause.unknown:
        if _COUNT.fullmatch(unknown.text):
            continue
        name = re.escape(unknown.text)
        bare = unknown.text.removeprefix("ו") if unknown.text.startswith("ו") else ""
        behind = re.search(rf"(?:{names})\s*{_JOINED}{name}", clause.text, re.IGNORECASE)
        before = re.search(rf"{name}\s*{_JOINED}ו?(?:{names})", clause.text, re.IGNORECASE)
        glued = bare and re.search(rf"(?:{names})\s*,?\s*{name}", clause.text, re.IGNORECASE)
        if behind or before or glued:
            found.append({"query": bare if glued else unknown.text})
    return found
