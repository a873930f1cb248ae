"""Ask a question in other words, by code: what somebody does who types badly, leaves marks out or uses another name. Pure."""

import random
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Final

_LONG_WORD: Final = re.compile(r"[^\W\d_]{4,}")
_ANY_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_STROKES: Final = str.maketrans("đĐ", "dD")
_LETTERS: Final[Sequence[str]] = ("abcdefghijklmnopqrstuvwxyz", "אבגדהוזחטיכלמנסעפצקרשת")

SYNONYMS: Final[Mapping[str, str]] = {
    "đái tháo đường": "tiểu đường",
    "ĐTĐ": "tiểu đường",
    "đường huyết": "đường máu",
    "răng miệng": "răng lợi",
    "nướu": "lợi",
    "thai kỳ": "mang thai",
    "phòng ngừa": "phòng tránh",
    "nguyên nhân": "lý do",
    "triệu chứng": "dấu hiệu",
    "biến chứng": "hậu quả",
}
"""Other words for the same thing in the Vietnamese collections; a file may bring its own for a question."""


def without_marks(text: str, chance: random.Random) -> str:
    """Leave out diacritics, niqqud included, as most people do on a telephone."""
    decomposed = unicodedata.normalize("NFD", text.translate(_STROKES))
    return "".join(char for char in decomposed if unicodedata.category(char) != "Mn")


def with_typos(text: str, chance: random.Random) -> str:
    """Make one mistake in every word of four letters or more."""
    return _LONG_WORD.sub(lambda word: _mistyped(word[0], chance), unicodedata.normalize("NFC", text))


def with_typos_everywhere(text: str, chance: random.Random) -> str:
    """Make one mistake in every word of two letters or more: most words of Vietnamese have two or three."""
    return _ANY_WORD.sub(lambda word: _mistyped(word[0], chance), unicodedata.normalize("NFC", text))


def with_typos_in_half(text: str, chance: random.Random) -> str:
    """Make one mistake in every other word of two letters or more, chosen at random."""
    composed = unicodedata.normalize("NFC", text)
    count = len(_ANY_WORD.findall(composed))
    wrong = set(chance.sample(range(count), (count + 1) // 2))
    places = iter(range(count))
    return _ANY_WORD.sub(
        lambda word: _mistyped(word[0], chance) if next(places) in wrong else word[0], composed
    )


def in_another_order(text: str, chance: random.Random) -> str:
    """Put the second half before the first."""
    words = text.rstrip("?!. ").split()
    middle = len(words) // 2
    return " ".join(words[middle:] + words[:middle])


def shortened(text: str, chance: random.Random) -> str:
    """Keep six words of ten, as in a search box."""
    words = text.rstrip("?!. ").split()
    kept = sorted(chance.sample(range(len(words)), max(2, len(words) * 6 // 10))) if len(words) > 2 else None
    return " ".join(words[place] for place in kept) if kept else text


def with_synonyms(text: str, chance: random.Random, known: Mapping[str, str] = SYNONYMS) -> str:
    """Replace what has another known name."""
    for word, other in known.items():
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", other, text, flags=re.IGNORECASE)
    return text


PARAPHRASES: Final[Mapping[str, Callable[[str, random.Random], str]]] = {
    "original": lambda text, chance: text,
    "no marks": without_marks,
    "typos": with_typos,
    "typos in half": with_typos_in_half,
    "typos everywhere": with_typos_everywhere,
    "no marks, typos": lambda text, chance: with_typos(without_marks(text, chance), chance),
    "word order": in_another_order,
    "shortened": shortened,
}


def _mistyped(word: str, chance: random.Random) -> str:
    place = chance.randrange(len(word))
    kind = chance.choice(("left out", "twice", "swapped", "another"))
    if kind == "left out":
        return word[:place] + word[place + 1 :]
    if kind == "twice":
        return word[: place + 1] + word[place:]
    if kind == "swapped" and place + 1 < len(word):
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    letters = _LETTERS[1] if "א" <= word[0] <= "ת" else _LETTERS[0]
    return word[:place] + chance.choice(letters) + word[place + 1 :]
