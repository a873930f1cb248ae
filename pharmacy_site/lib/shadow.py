"""Simplify a text so that it can be searched for personal values, and find the places again as typed. Pure."""

import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from pharmacy_site.lib.text import is_invisible

_DASHES: Final = frozenset("-‐‑‒–—―−־﹘﹣－")


class Shadow:
    """A text in ASCII digits, with one kind of dash and blank, lower case, without accents and invisible characters.

    Search `text`; `typed` and `replaced` take places in it and answer with what was typed there.
    """

    def __init__(self, original: str) -> None:
        self.original = original
        self.places: Sequence[int] = range(len(original))
        if original.isascii() and original.replace("\n", " ").isprintable():
            self.text = original.lower()
            return
        plain = list(map(_plain, original))
        self.text = "".join(plain)
        if len(self.text) < len(original):
            self.places = [place for place, char in enumerate(plain) if char]

    def typed(self, start: int, end: int) -> str:
        """Return what was typed at these places of the shadow, without invisible characters."""
        return "".join(self.original[place] for place in self.places[start:end])

    def replaced(self, spans: Iterable[tuple[int, int, str]]) -> str:
        """Return the text as typed, with each span of the shadow replaced. Spans do not overlap."""
        parts, done = [], 0
        for start, end, text in sorted(spans):
            parts += [self.original[done : self.places[start]], text]
            done = self.places[end - 1] + 1
        return "".join(parts) + self.original[done:]


@lru_cache(maxsize=4096)
def _plain(char: str) -> str:
    """Return the simple form of a character: at most one, so that places can be counted."""
    if char in "\t\v\f\r":
        return " "
    if char == "\n" or (char.isascii() and char.isprintable()):
        return char.lower()
    category = unicodedata.category(char)
    if category in {"Nd", "No"} and (digit := unicodedata.digit(char, None)) is not None:
        return str(digit)
    if category == "Mn" or is_invisible(char):
        return ""
    if category == "Zs":
        return " "
    if category in {"Zl", "Zp"}:
        return "\n"
    if char in _DASHES:
        return "-"
    if char in "״“”„＂″":
        return '"'
    if char in "׳‘’＇′":
        return "'"
    parts = unicodedata.normalize("NFKD", char).lower()
    base = "".join(part for part in parts if unicodedata.category(part) != "Mn")
    return base if len(base) == 1 else char
