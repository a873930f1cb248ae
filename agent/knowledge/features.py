"""Turn a text into a sparse vector: its words and the letter sequences of its words, weighted as BM25 does. Pure.

The engine multiplies with the inverse document frequency, so that a word which every entry has counts little. Words are
compared without diacritics, because people leave them out; a word that has some also counts as it was written. Letter
sequences meet misspelt words, Hebrew words with other prefix letters and other endings.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final
from zlib import crc32

from agent.knowledge.common_words import LANGUAGES, SAME, is_light
from pharmacy_site.lib.text import fold, hebrew_stems

VERSION: Final = 1
"""Of what is counted: a number more with every change, since a server's index has vectors of the code that built it."""
_LETTERS: Final = 3
_K1: Final = 1.2
_B: Final = 0.75
# Fixed, not counted: a vector must not change when another entry is published.
_USUAL_LENGTH: Final = {"w": 12.0, "m": 12.0, "l": 60.0, "a": 120.0, "p": 12.0}
_QUERY_WEIGHT: Final = {"w": 1.0, "m": 0.5, "l": 0.3, "a": 0.3, "p": 0.5}
_MOST_CHARACTERS: Final = 2_000
_LIGHT: Final = 0.2
_SYNONYM: Final = 0.3
_MARKED_WORD: Final = re.compile(r"[^\W\d_]+")
# Letters whose stroke is no mark that can be taken off.
_STROKES: Final = str.maketrans("đĐłŁøØ", "dDlLoO")


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Numbers of features in ascending order, and the weight of each."""

    indices: list[int]
    values: list[float]


def entry_vector(question: str, answer: str = "") -> SparseVector:
    """Return the vector of an entry: how much each feature says about it, whatever the other entries are.

    Of the answer only the words count, and less than those of the question.
    """
    features = Counter(_features(question))
    features.update(f"a{word}" for word in _words(answer[:_MOST_CHARACTERS]))
    lengths: Counter[str] = Counter()
    for feature, count in features.items():
        lengths[feature[0]] += count
    weights: dict[int, float] = {}
    for feature, count in features.items():
        kind = feature[0]
        norm = 1 - _B + _B * lengths[kind] / _USUAL_LENGTH[kind]
        weights[_hashed(feature)] = count * (_K1 + 1) / (count + _K1 * norm)
    return _vector(weights)


def query_vector(text: str, language: str = "") -> SparseVector:
    """Return the vector of a question that somebody asks.

    In a language whose light words are known ("is", "my"), these count little, and words that mean the same as one of the question
    count too.
    """
    features = Counter(_features(text))
    features.update(f"a{word}" for word in _words(text[:_MOST_CHARACTERS]))
    weights = {_hashed(feature): count * _QUERY_WEIGHT[feature[0]] for feature, count in features.items()}
    if language in LANGUAGES:
        heavy = [word for word in text_folded(text[:_MOST_CHARACTERS]).split() if not is_light(word)]
        kept = {_hashed(feature) for feature in _features(" ".join(heavy))}
        kept |= {_hashed(f"a{word}") for word in _words(" ".join(heavy))}
        weights = {key: weight if key in kept else weight * _LIGHT for key, weight in weights.items()}
        for same in {other for word in _words(" ".join(heavy)) for other in SAME.get(word, ())}:
            for kind in ("w", "a"):
                weights.setdefault(_hashed(f"{kind}{same}"), _QUERY_WEIGHT[kind] * _SYNONYM)
    return _vector(weights)


def text_folded(text: str) -> str:
    """Return the text without diacritics, capitals and punctuation, in which it is compared."""
    return fold(text.translate(_STROKES))


def _features(text: str) -> Iterator[str]:
    """Yield words ("w…"), pairs ("p…"), words with their marks ("m…") and letter sequences ("l…"), each as often as it occurs."""
    text = text[:_MOST_CHARACTERS]
    words = text_folded(text).split()
    yield from (f"w{word}" for word in _words(text))
    for word in words:
        framed = f" {word} "
        for start in range(len(framed) - _LETTERS + 1):
            yield f"l{framed[start : start + _LETTERS]}"
    # Words of Vietnamese are one syllable each: what is meant shows in pairs.
    yield from (f"p{one} {other}" for one, other in pairwise(words))
    known = set(words)
    for word in _MARKED_WORD.findall(text.casefold()):
        if word not in known:
            yield f"m{word}"


def _words(text: str) -> Iterator[str]:
    """Yield the folded words; yield Hebrew words also without letters that may be a prefix."""
    for word in text_folded(text).split():
        yield word
        yield from hebrew_stems(word)


def _hashed(feature: str) -> int:
    """Return a number that is the same in every process; two of a million features share one about a hundred times."""
    return crc32(feature.encode())


def _vector(weights: dict[int, float]) -> SparseVector:
    indices = sorted(weights)
    return SparseVector(indices, [weights[index] for index in indices])
