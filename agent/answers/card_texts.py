"""Read what a card shows without a click: what an answer's text may leave to it, and what it need not repeat of the text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from agent.answers.card_types import Card
from agent.answers.render import label, say
from pharmacy_site.lib.text import Language

_ISOLATES: Final = dict.fromkeys(map(ord, "\u2066\u2067\u2068\u2069"))
_OF_CARD: Final = ("title", "tag", "columns")
_BELOW: Final = ("note", "source")
_BLOCKS: Final[Mapping[str, Sequence[str]]] = {
    "stores": ("name", "stock", "km", "hours", "today", "note", "phone"),
    "products": ("name", "tag", "stock"),
    "pairs": ("label", "names", "text"),
    "steps": ("label", "mark", "time"),
    "items": ("title", "text", "date"),
    "prescriptions": ("name", "status", "refills", "refill", "rows", "ask"),
}
"""What `static/chat/cards.js` shows of each block of a card, in its order."""
_NUMBERED: Final = ("stores", "products")
"""Blocks that are numbered if there are several, so that a customer can point at one."""
_LANGUAGES: Final[tuple[Language, ...]] = ("en", "he")
_SENTENCES: Final[Mapping[str, Mapping[str, str]]] = {
    "ingredient": {"contains_one": "ingredients", "contains_many": "ingredients"},
    "strength": {"strength_of": "strength"},
    "price": {"price": "price"},
}
"""Which sentences say a row of a product's card, and as what; the same value may stand in a text for another reason."""


def bare(text: str) -> str:
    """Return a text without marks of direction, for comparing."""
    return text.translate(_ISOLATES)


def card_lines(card: Mapping[str, Any]) -> list[str]:
    """Return what a card shows, a line for its head, each block and each row."""
    lines = [" – ".join(line) for line in _lines(card) if line]
    for name in _NUMBERED:
        blocks = len(card["data"].get(name, ()))
        if blocks > 1:  # behind the head, as the only blocks of their card
            lines[1 : blocks + 1] = [
                f"{place}. {line}" for place, line in enumerate(lines[1 : blocks + 1], 1)
            ]
    return lines


def texts_shown(card: Mapping[str, Any]) -> set[str]:
    """Return each text that a card shows, bare."""
    return {bare(text) for line in _lines(card) for text in line}


def _lines(card: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the texts of each line of a card."""
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
        title = str(data.get("title", ""))
        left["rows"] = [row for row in left["rows"] if not _is_said(title, row[0], row[1], said)]
    if "prescriptions" in left:
        items = left["prescriptions"]
        left["prescriptions"] = [_without_state(item, said, is_alone=len(items) == 1) for item in items]
    return left


def _is_said(title: str, name: str, value: str, said: str) -> bool:
    """Return whether a text has this product's own sentence with the value of its row."""
    plain = bare(value).removeprefix("₪")
    return any(
        name == label("column", column, language)
        and bare(say(sentence, language, **{"name": title, key: plain})) in said
        for language in _LANGUAGES
        for column, sentences in _SENTENCES.items()
        for sentence, key in sentences.items()
    )


def _without_state(item: Mapping[str, Any], said: str, *, is_alone: bool) -> dict[str, Any]:
    """Return a prescription without the refills and the status that the text's line about it gives."""
    line = f"{item['name']} - {item['refills']}"
    has_refills = bare(line) in said or (is_alone and bare(item["refills"]) in said)
    has_status = bare(f"{line} ({item['status'].lower()})") in said
    left = {"refills": has_refills, "status": has_status}
    return {key: value for key, value in item.items() if not left.get(key)}
