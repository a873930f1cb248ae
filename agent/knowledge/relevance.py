"""Say how much of a question an entry covers, from 0 to 1. Pure.

The scores of an index compare entries with each other, not with "nothing fits". Here each word of the question counts
by how rare it is in the collection, and a word that the collection does not know counts most; "is", "my" and the like
count little.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from math import log1p
from typing import Final

from rapidfuzz import fuzz, process

from agent.knowledge.common_words import SAME, is_light
from agent.knowledge.features import text_folded
from pharmacy_site.lib.text import hebrew_stems

COVERS: Final = 0.6
"""From here on an entry counts as covering a question well."""
_MOST_WORDS: Final = 40
_SHORTEST: Final = 3
"""Of words that may be misspelt."""
_LIGHT: Final = 0.1
"""What a word that says little counts of its weight."""
_SYNONYM: Final = 0.9
_SIMILAR: Final = 80.0
"""How alike two words must be, from 0 to 100, to be spellings of one word."""


class Vocabulary:
    """Count in how many entries of a collection each word occurs, and keep their questions."""

    def __init__(self) -> None:
        self.entries = 0
        self._found: Counter[str] = Counter()
        self._questions: set[str] = set()

    def add(self, question: str, answer: str) -> None:
        """Count an entry's words."""
        self.entries += 1
        self._found.update(_words((question, answer)))
        self._questions.add(text_folded(question))

    def has_question(self, text: str) -> bool:
        """Return whether a text is the question of one of the entries; capitals and punctuation do not matter."""
        return text_folded(text) in self._questions

    def weights(self, query: str) -> dict[str, float]:
        """Return what each word of a question counts."""
        asked = dict.fromkeys(text_folded(query).split()[:_MOST_WORDS])
        return {word: self._weight(word) for word in asked}

    def _weight(self, word: str) -> float:
        found = max(self._found[form] for form in (word, *hebrew_stems(word)))
        if found > self.entries:
            return 0.0
        return log1p((self.entries - found + 0.5) / (found + 0.5)) * (_LIGHT if is_light(word) else 1)


def relevance(weights: Mapping[str, float], *texts: str) -> float:
    """Return how much of a question, whose words count so much, the entry with these texts covers."""
    total = sum(weights.values())
    if not total:
        return 0.0
    there = _words(texts)
    return sum(weight * _match(word, there) for word, weight in weights.items()) / total


def _words(texts: Iterable[str]) -> set[str]:
    words = {word for text in texts for word in text_folded(text).split()}
    return words | {stem for word in words for stem in hebrew_stems(word)}


def _match(word: str, there: Set[str]) -> float:
    if word in there or any(stem in there for stem in hebrew_stems(word)):
        return 1.0
    if len(word) < _SHORTEST:
        return 0.0
    same = SAME.get(word) or next((SAME[stem] for stem in hebrew_stems(word) if stem in SAME), frozenset())
    if same & there:
        return _SYNONYM
    best = process.extractOne(word, there, scorer=fuzz.ratio, score_cutoff=_SIMILAR)
    return best[1] / 100 if best else 0.0
