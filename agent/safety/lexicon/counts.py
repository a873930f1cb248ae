"""Find numbers that count pieces, and amounts of medicine, in a message's words. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from pharmacy_site.lib.text import fold
from pharmacy_site.lib.vocabulary import NUMBER_WORDS, UNIT_WORDS

_NUMBERS: Final = {fold(word): number for word, number in NUMBER_WORDS.items()} | {
    "dozen": 12,
    "dozens": 24,
    "תריסר": 12,
}
_IN_MILLIGRAMS: Final = {
    **dict.fromkeys(fold(UNIT_WORDS["mg"]).split(), 1),
    **dict.fromkeys(fold(UNIT_WORDS["g"]).split(), 1000),
}
# What a number before it counts: not pieces.
_NO_COUNT: Final = frozenset(
    [
        *fold(" ".join(UNIT_WORDS.values())).split(),
        *"percent hour hours hr hrs minute minutes min mins second seconds day days week weeks month months year".split(),
        *"years yr yrs yo am pm oclock shekel shekels nis ils dollars degrees kg kilo kilos km cm times x".split(),
        *fold(
            "שעה שעות דקה דקות שניות יום ימים שבוע שבועות חודש חודשים שנה שנים שקל שקלים אחוז אחוזים מעלות קילו"
        ).split(),
        *fold('ק"ג ק"מ ס"מ ש"ח פעמים בבוקר בערב בלילה בצהריים').split(),
    ]
)


def number_of(word: str) -> float:
    """Return the value of a folded word that is a number, in digits or words; 0 for any other."""
    if word[0].isdigit():
        try:
            return float(word)
        except ValueError:
            return 0
    # "ו" and "כ": "and" and "about". Other prefix letters make it a time: "בעשר" is "at ten".
    return _NUMBERS.get(word, 0) or (_NUMBERS.get(word[1:], 0) if word[0] in "וכ" else 0)


def counts(words: Sequence[str], at_least: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the place of each number with every key of `at_least` that it reaches: ("6", "#6+"), ("4000", "#4000+mg").

    A number before a unit, a time or a price is no count; "20 mg" and "2 g" are amounts in milligrams.
    """
    for place, word in enumerate(words):
        value = number_of(word)
        if not value:
            continue
        unit = words[place + 1] if place + 1 < len(words) else ""
        milligrams = value * _IN_MILLIGRAMS.get(unit, 0)
        is_count = unit not in _NO_COUNT and not milligrams
        for least, key in at_least:
            if (milligrams if key.endswith("mg") else value * is_count) >= least:
                yield place, key
