"""Compare a question with everything that an entry says: its question in all wordings, and its answer. Pure.

TF-IDF over letter sequences, words and pairs of words, and the cosine between both, as in any text search. It needs entries with several
wordings: only then does it know how people ask for them. `docs/knowledge.md` has how much it finds.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final
from zlib import crc32

import numpy as np
import numpy.typing as npt

from pharmacy_site.lib.text import fold

_FEWEST: Final = 20
_SHORTEST: Final = 2  # letters of a sequence
_LONGEST: Final = 4
_STEM: Final = 4  # letters of a word in a pair
_APART: Final = 3  # places at most between the words of a pair
_MIXED: Final = np.uint32(
    2_654_435_761
)  # what the first of two numbers is multiplied with, so that "a b" and "b a" differ
_BIAS: Final = -3.6
_OF_SIMILARITY: Final = 16.2
_OF_LEAD: Final = 33.0
"""A logistic regression over wordings that were left out, half of them together with their entry (docs/knowledge.md)."""
_Ids = npt.NDArray[np.uint32]
_Weights = npt.NDArray[np.float32]


class Wordings:
    """The entries of one language that have other wordings, by their keys."""

    def __init__(self, entries: Mapping[int, Sequence[str]]) -> None:
        """Take for each entry all its texts. Of a few entries nobody knows which words are common: then none is compared."""
        entries = entries if len(entries) >= _FEWEST else {}
        self.keys = list(entries)
        counted = [_counted(texts) for texts in entries.values()]
        ids = np.concatenate([each for each, _ in counted] or [np.empty(0, np.uint32)])
        weights = np.concatenate([each for _, each in counted] or [np.empty(0, np.float32)])
        rows = np.repeat(np.arange(len(counted), dtype=np.uint32), [len(each) for each, _ in counted])
        order = np.argsort(ids, kind="stable")
        ids, weights, self._rows = ids[order], weights[order], rows[order]
        self._ids, self._starts, found = np.unique(ids, return_index=True, return_counts=True)
        self._ends = self._starts + found
        self._idf = np.log((len(counted) + 1) / (found + 1)) + 1
        weights = weights * np.repeat(self._idf, found)
        length = np.sqrt(np.bincount(self._rows, weights**2, minlength=len(counted)))
        # Millions of numbers, one for each text of an entry and feature: half a number's precision is enough.
        self._weights = (weights / length[self._rows]).astype(np.float32) if len(weights) else weights

    def similarities(self, text: str) -> dict[int, float]:
        """Return the cosine of a text and each entry, 0 to 1."""
        if not self.keys:
            return {}
        ids, weights = _counted((text,))
        places = np.searchsorted(self._ids, ids)
        known = (places < len(self._ids)) & (self._ids[np.minimum(places, len(self._ids) - 1)] == ids)
        places, weights = places[known], weights[known]
        weights = weights * self._idf[places]
        sums = np.zeros(len(self.keys))
        for start, end, weight in zip(self._starts[places], self._ends[places], weights, strict=True):
            # An entry has each feature once.
            sums[self._rows[start:end]] += weight * self._weights[start:end]
        length = math.sqrt(float((weights**2).sum())) or 1.0
        return {key: float(value) / length for key, value in zip(self.keys, sums, strict=True)}


def confidence(similarity: float, best_other: float) -> float:
    """Return how sure it is that an entry answers a question, 0 to 1: how similar it is, and how far ahead of the best other one."""
    score = _BIAS + _OF_SIMILARITY * similarity + _OF_LEAD * (similarity - best_other)
    return 1 / (1 + math.exp(-score))


def _counted(texts: Iterable[str]) -> tuple[_Ids, _Weights]:
    """Return the features of texts as numbers in ascending order, and the weight of how often each occurs."""
    by_text = [words for text in texts if (words := fold(text).split())]
    if not by_text:
        return np.empty(0, np.uint32), np.empty(0, np.float32)
    every = [word for words in by_text for word in words]
    numbers = np.array([_number(f"={word}") for word in every], np.uint32)
    features = [numbers, *_sequences(every), *_pairs(by_text)]
    ids, counts = np.unique(np.concatenate(features), return_counts=True)
    return ids, (1 + np.log(counts)).astype(np.float32)


@lru_cache(maxsize=30_000)
def _number(feature: str) -> int:
    return crc32(feature.encode())


def _sequences(words: Sequence[str]) -> Iterator[_Ids]:
    """Yield the letter sequences of words: a misspelt word has most of them in common with the right one."""
    letters = np.frombuffer("".join(f"_{word}_" for word in words).encode("utf-32-le"), np.uint32)
    word_of = np.repeat(np.arange(len(words)), [len(word) + 2 for word in words])
    found = letters
    for length in range(_SHORTEST, _LONGEST + 1):
        found = found[:-1] * _MIXED + letters[length - 1 :]
        yield found[word_of[: 1 - length] == word_of[length - 1 :]]


def _pairs(texts: Sequence[Sequence[str]]) -> Iterator[_Ids]:
    """Yield the pairs of words of one text that stand near each other, cut to their first letters. 0 stands for its beginning and its end."""
    stems = np.array(
        [stem for words in texts for stem in (0, *(_number(word[:_STEM]) for word in words), 0)], np.uint32
    )
    text_of = np.repeat(np.arange(len(texts)), [len(words) + 2 for words in texts])
    for apart in range(1, _APART + 1):
        first, second = stems[:-apart], stems[apart:]
        has_word = (first | second) != 0
        yield (first * _MIXED + second)[(text_of[:-apart] == text_of[apart:]) & has_word]
