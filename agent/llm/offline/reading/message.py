"""A parsed message: its clauses with the medicines, places, cues and numbers in them."""

import re
from dataclasses import dataclass, field
from typing import Final

from agent.llm.offline.reading.known_words import cue_lexicon
from agent.safety.lexicon import Sentence
from agent.state import RememberedMedication
from pharmacy_site.lib.text import words
from stores.places import PlaceMention

SHORTEST_NAME: Final = 3
_PARTS: Final = re.compile(r"[\s\-־]+")


@dataclass(frozen=True)
class Medicine:
    """A product that a message names: what may be meant (one, or several to ask about) and how it was written."""

    start: int
    end: int
    text: str
    candidates: tuple[RememberedMedication, ...]
    by: str = ""
    variant: str = ""  # the kind of it that was asked for: "children" or "extended"
    needs_prescription: bool = False  # whether every product that may be meant does


@dataclass(frozen=True)
class Unknown:
    """Words that are neither known nor a name on file: perhaps a name."""

    start: int
    end: int
    text: str


@dataclass
class Clause:
    """One question or statement of a message. Word positions count inside the clause."""

    text: str
    words: list[str]
    asks: bool
    medicines: list[Medicine] = field(default_factory=list)
    places: list[PlaceMention] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    unknown: list[Unknown] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)
    strengths: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    cues: Sentence = field(default_factory=lambda: cue_lexicon().sentence([], asks=False))
    form_words: int = 0
    form_text: str = ""

    def has(self, *names: str) -> bool:
        """Return whether any of these cues is in the clause."""
        return self.cues.has(*names)

    def without(self, strong: str, weak: str) -> bool:
        """Return whether cue `strong` is here by more than the phrases of cue `weak`."""
        return bool(self.cues.spans(strong) - self.cues.spans(weak))


@dataclass(frozen=True)
class Message:
    """A parsed message."""

    text: str
    clauses: tuple[Clause, ...]
    contacts: tuple[str, ...]

    @property
    def names_only(self) -> bool:
        """Return whether its Latin words are all names: such a message has no language of its own."""
        return all(
            _covered(clause) >= len(clause.words) and (clause.medicines or clause.places)
            for clause in self.clauses
        ) and bool(self.clauses)

    @property
    def named_ids(self) -> list[int]:
        """Return the ids of the products that its names may mean, each once."""
        medicines = [medicine for clause in self.clauses for medicine in clause.medicines]
        ids = [int(one["id"]) for medicine in medicines for one in medicine.candidates if "id" in one]
        return list(dict.fromkeys(ids))


def _covered(clause: Clause) -> int:
    spans: list[Medicine | PlaceMention] = [*clause.medicines, *clause.places]
    return sum(span.end - span.start for span in spans) + clause.form_words


def as_written(text: str, start: int, end: int) -> str:
    """Return the words of a span as the customer wrote them, when words and blanks line up."""
    size = len(words(text))
    raw = next((raw for raw in (text.split(), _PARTS.split(text)) if len(raw) == size), [])
    return " ".join(raw[start:end]).strip("?!.,;:\"'()")
