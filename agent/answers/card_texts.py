"""Read what a card shows without a click: what an answer's text may leave to it, and what it need not repeat of the text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from agent.answers.cards import Card
from agent.answers.render import label
from pharmacy_site.lib.text import Language

_ISOLATES: Final = dict.fromkeys(map(ord, "\u2066\u2067\u2068\u2069"))
_OF_CARD: Final = ("title", "tag", "columns")
_BELOW: Final = ("note", "source")
_BLOCKS: Final[Mapping[str, Sequence[str]]] = {
    "stores": ("name", "stock", "km", "hours", "today", "note", "phone"),
    "products": ("name", "tag", "stock"),
    "pairs": ("label", "names", "text"),
    "prescriptions": ("name", "status", "refills", "refill", "rows", "ask"),
}
"""What `static/chat/cards.js` shows of each block of a card, in its order."""
_LANGUAGES: Final[tuple[Language, ...]] = ("en", "he")
_SAID_IN_TEXT: Final = frozenset(
    label("column", key, language) for key in ("ingredient", "price") for language in _LANGUAGES
)
"""Labels of rows whose value is a sentence's whole content; "200 mg" may stand in a text for another reason."""


def bare(text: str) -> str:
    """Return a text without marks of direction, for comparing."""
    return text.translate(_ISOLATES)


def card_lines(card: Mapping[str, Any]) -> list[str]:
    """Return what a card shows, a line for its head, each block and each row."""
    return [" – ".join(line) for line in _lines(card) if line]


def texts_shown(card: Mapping[str, Any]) -> set[str]:
    """Return each text that a card shows, bare."""
    return {bare(text) for line in _lines(card) for text in line}


def _lines(card: Mapping[str, Any]) -> Iterator[list[str]]:
    data = card["data"]
    yield _texts(data, _OF_CARD)
    for name, keys in _BLOCKS.items():
        for block in data.get(name, ()):
            yield _texts(block, keys)
    for row in data.get("rows", ()):
        yield list(row)
    for key in _BELOW:
        yield _texts(data, (key,))


def _texts(block: Mapping[str, Any], keys: Iterable[str]) -> list[str]:
    found: list[str] = []
    for key in keys:
        value = block.get(key)
        if key == "rows":
            found += [text for row in value or () for text in row]
        elif key == "ask":
            # The second text is what the button sends.
            found += (value or ())[:1]
        else:
            found += value if isinstance(value, list) else [str(value)] if value else []
    return found


def without_repeats(cards: Sequence[Card], text: str) -> list[Card]:
    """Return cards without the sentences and values that the text beside them says in the same words."""
    said = bare(text)
    return [{"kind": card["kind"], "data": cast(Any, _shortened(card["data"], said))} for card in cards]


def _shortened(data: Mapping[str, Any], said: str) -> dict[str, Any]:
    left = {key: value for key, value in data.items() if key not in _BELOW or bare(str(value)) not in said}
    if "pairs" in left:
        left["pairs"] = [
            {key: value for key, value in pair.items() if key != "text" or bare(value) not in said}
            for pair in left["pairs"]
        ]
    if "rows" in left:
        rows = [row for row in left["rows"] if row[0] not in _SAID_IN_TEXT or bare(row[1]) not in said]
        left["rows"] = rows
    return left
