"""Mask what looks personal in a customer's words before they are stored: contacts, dates of birth, codes, numbers of people. Pure.

What a placeholder hides from a language model (`personal.py`) is masked here for good. Amounts, prices, hours and the
numbers of prescriptions, orders and requests stay, because staff read them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final

from agent.safety.privacy.personal import NUMBER_OF_OURS, Found, personal_in
from pharmacy_site.lib.json_values import rebuilt
from pharmacy_site.lib.shadow import Shadow
from prescriptions.masking import CODE_WORD, ID_WORD, MASK

_CONTACTS: Final = frozenset({"EMAIL", "PHONE"})
_NUMBERS: Final = frozenset({"ID", "CODE"})
_BEFORE: Final = 40
"""How many characters before a number are searched for words that say what it is."""
_LABEL: Final = re.compile(r"(?<![^\W\d_])[a-z]-?$")
"""Of a request or a hand-off: "R-1000042"."""
_FEWEST_DIGITS: Final = 4
"""Of a number that is looked for however its digits are separated."""


@dataclass(frozen=True)
class Value:
    """A value that was masked, as it was typed, and its kind: EMAIL, PHONE, DATE, ID or CODE."""

    kind: str
    typed: str

    @property
    def is_contact(self) -> bool:
        """Whether somebody can be reached by it."""
        return self.kind in _CONTACTS


@dataclass(frozen=True)
class Storable:
    """A text that may be stored, and the values that were masked in it."""

    text: str
    values: tuple[Value, ...] = ()


def storable(text: str, *, today: date | None = None) -> Storable:
    """Return the text with all that looks personal masked."""
    shadow = Shadow(text)
    found = [
        one
        for one in personal_in(shadow.text, today or datetime.now(UTC).date())
        if not _is_ours(shadow.text, one)
    ]
    shown = shadow.replaced((start, end, MASK) for start, end, _ in found)
    return Storable(shown, tuple(Value(kind, shadow.typed(start, end)) for start, end, kind in sorted(found)))


def without(value: Any, values: Sequence[Value]) -> Any:
    """Return JSON with these values masked in all its texts, however their digits are separated and letters written."""
    if not values:
        return value
    wanted = re.compile("|".join(_pattern(one) for one in values))

    def leaf(text: Any) -> Any:
        if not isinstance(text, str):
            return text
        shadow = Shadow(text)
        return shadow.replaced((*match.span(), MASK) for match in wanted.finditer(shadow.text))

    return rebuilt(value, leaf)


def _is_ours(text: str, found: Found) -> bool:
    """Return whether a number is that of a prescription, an order or a request, and not named as a person's."""
    start, _end, kind = found
    before = text[max(0, start - _BEFORE) : start]
    is_named = bool(ID_WORD.search(before) or CODE_WORD.search(before))
    return kind in _NUMBERS and not is_named and bool(NUMBER_OF_OURS.search(before) or _LABEL.search(before))


def _pattern(value: Value) -> str:
    plain = Shadow(value.typed).text
    digits = [char for char in plain if char.isdigit()]
    if value.kind != "EMAIL" and len(digits) >= _FEWEST_DIGITS and not any(map(str.isalpha, plain)):
        return r"(?<!\d)\+?\(?" + r"[\s.\-()/]{0,3}".join(digits) + r"(?!\d)"
    return r"\s+".join(map(re.escape, plain.split()))
