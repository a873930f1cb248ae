"""Split a text into the features that classifiers weigh. Pure.

Letter sequences, because a misspelt word and one with Hebrew prefix letters share most of theirs with the right word; words;
and pairs of words that stand near each other, cut to their first letters, because "pills" or "gone" alone mean little.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from pharmacy_site.lib.text import fold

_SHORTEST: Final = 2  # letters of a sequence
_LONGEST: Final = 4
_STEM: Final = 4  # letters of a word in a pair
_APART: Final = 3  # places at most between the words of a pair
# A number is one of these: that many or more.
_SIZES: Final = (200, 50, 10, 5, 3, 0)


def features(text: str) -> Counter[str]:
    """Return how often each feature occurs in a text.

    "_ab" is a sequence at the beginning of a word, "=word" a word, "want+die" a pair. The edges of the text are words too: ""
    in a pair.
    """
    found: list[str] = []
    stems = [""]
    for word in fold(text).split():
        found += _of_word(word)
        stems.append(_size(word) if word[0].isdigit() else word[:_STEM])
    stems.append("")
    for place, first in enumerate(stems):
        found += [f"{first}+{second}" for second in stems[place + 1 : place + 1 + _APART]]
    return Counter(found)


@lru_cache(maxsize=20_000)
def _of_word(word: str) -> Sequence[str]:
    """Return the letter sequences of a word, and the word."""
    edged = f"_{word}_"
    lengths = range(_SHORTEST, min(_LONGEST, len(edged)) + 1)
    return (
        *(edged[start : start + length] for length in lengths for start in range(len(edged) - length + 1)),
        f"={word}",
    )


def _size(number: str) -> str:
    """Return how large a number is, roughly: "#10" from 10 to 49."""
    try:
        return next(f"#{least}" for least in _SIZES if float(number) >= least)
    except ValueError:
        return "#"
