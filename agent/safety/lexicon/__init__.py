"""Find which concepts of a YAML lexicon a message mentions, and where.

A concept is a list of phrases. In a phrase a word matches itself (with Hebrew or Arabic prefix letters, and one
typo where the lexicon allows it), `word*` for every word that starts so, `=word` for exactly that word, `a_b` for two words
in a row, `<name>` for another concept, `a|b` for either, `..` for up to three other words and `...` for up to seven.
`#` is any number, `#6+` a count of at least six, in digits or words, and `#4000+mg` an amount in milligrams; see `counts.py`.

`<it>` stands for a span that the caller gives: see `Sentence.explains`.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final

from agent.safety.lexicon.counts import counts
from pharmacy_site.lib.text import deletions, fold, hebrew_stems, one_typo
from pharmacy_site.lib.vocabulary import SENTENCE_MARK
from pharmacy_site.lib.yaml_files import yaml_read

Span = tuple[int, int]  # first word, word after the last one
_NOWHERE: Final = frozenset[Span]()

_GAPS: Final = {"..": 3, "...": 7}
_ARABIC_PREFIX: Final = re.compile(r"^(?:و|ف)?(?:ب|ل|ك)?(?:ال|ل)?(?=\w{3})")
_ARABIC: Final = re.compile(r"[\u0621-\u064a]")
_SHORTEST_PREFIX: Final = 2
IT: Final = "it"
"""The concept whose only span is the one that `Sentence.explains` is asked about."""
_AT_LEAST: Final = re.compile(r"#(\d+)\+(?:mg)?")


@dataclass(frozen=True)
class _Element:
    """One place of a phrase: any of some words, of other concepts' spans, or of runs of words, after a gap."""

    gap: int
    words: frozenset[str]
    concepts: tuple[str, ...]
    runs: "tuple[_Phrase, ...]"


@dataclass(frozen=True)
class _Phrase:
    """The places of a phrase, and the words of which one must be there for each place that only words can fill."""

    elements: tuple[_Element, ...]
    needed: tuple[frozenset[str], ...]


@dataclass(frozen=True)
class _Concept:
    """The phrases of a concept, indexed by the words of their rarest place: without one of these no phrase can match."""

    phrases: tuple[_Phrase, ...]
    index_words: frozenset[str]
    phrases_of_word: Mapping[str, tuple[int, ...]]
    # For each phrase, the words with which its other places may begin.
    others: tuple[tuple[frozenset[str], ...], ...]


def _word(text: str) -> str:
    """Return a lexicon word in the folded form of messages, with its marks."""
    if text == "#" or _AT_LEAST.fullmatch(text):
        return text
    folded = fold(text)
    if not folded or " " in folded:
        raise ValueError(f"a lexicon word must be one word: {text!r}")
    return ("=" if text.startswith("=") else "") + folded + ("*" if text.endswith("*") else "")


def _element(part: str, gap: int) -> _Element:
    names, runs, single = [], [], []
    for choice in part.split("|"):
        if choice.startswith("<"):
            names.append(choice.strip("<>"))
        elif "_" in choice:
            runs.append(_phrase(choice.replace("_", " ")))
        else:
            single.append(_word(choice))
    return _Element(gap, frozenset(single), tuple(names), tuple(runs))


def _text(value: object) -> str:
    """Refuse what YAML does not read as text: an unquoted "# mg" is a comment and leaves nothing."""
    if not isinstance(value, str):
        raise ValueError(f"a lexicon phrase must be text: {value!r}")
    return value


def _phrase(text: str) -> _Phrase:
    elements, gap = [], 0
    for part in text.split():
        if part in _GAPS:
            gap = _GAPS[part]
        else:
            elements.append(_element(part, gap))
            gap = 0
    worded = [element.words for element in elements if not element.concepts and not element.runs]
    return _Phrase(tuple(elements), tuple(worded))


def _elements(phrases: Iterable[_Phrase]) -> Iterator[_Element]:
    for phrase in phrases:
        for element in phrase.elements:
            yield element
            yield from _elements(element.runs)


def _concept(
    phrases: Sequence[_Phrase], places: Sequence[Sequence[frozenset[str]]], common: Mapping[str, int]
) -> _Concept:
    phrases_of_word: dict[str, list[int]] = defaultdict(list)
    others = []
    for number, of_phrase in enumerate(places):
        rarest = min(of_phrase, key=lambda words: sum(common[word] for word in words))
        others.append(tuple(words for words in of_phrase if words is not rarest))
        for word in rarest:
            phrases_of_word[word].append(number)
    numbers = {word: tuple(found) for word, found in phrases_of_word.items()}
    return _Concept(tuple(phrases), frozenset(numbers), numbers, tuple(others))


@dataclass
class Sentence:
    """One sentence of a message, its folded words, and where each concept occurs in it."""

    words: list[str]
    asks: bool
    _concepts: Mapping[str, _Concept]
    _places: Mapping[str, set[int]]
    _numbers: Sequence[int] = ()
    """The number of each word's sentence, for a text of several; else ()."""
    _known: dict[str, frozenset[Span]] = field(default_factory=dict)
    _present: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        # As a set: an intersection then iterates over the smaller of two sets.
        self._present = frozenset(self._places)

    @property
    def keys(self) -> frozenset[str]:
        """The lexicon's words that the words of this sentence match."""
        return self._present

    def spans(self, concept: str) -> frozenset[Span]:
        """Return where the concept occurs. Raises KeyError for an unknown concept, so that a misspelt name is noticed."""
        known = self._known.get(concept)
        if known is None:
            known = self._known[concept] = _NOWHERE  # ends the search in a concept that refers to itself
            one, absent = self._concepts[concept], self._present.isdisjoint
            if words := self._present & one.index_words:
                found: set[Span] = set()
                for place in {place for word in words for place in one.phrases_of_word[word]}:
                    if not any(map(absent, one.others[place])):
                        found |= self._phrase_spans(one.phrases[place])
                if found:
                    known = self._known[concept] = frozenset(found)
        return known

    def _phrase_spans(self, phrase: _Phrase) -> set[Span]:
        if any(map(self._present.isdisjoint, phrase.needed)):
            return set()
        current = self._element_spans(phrase.elements[0])
        for element in phrase.elements[1:]:
            if not current:
                break
            nexts = self._element_spans(element)
            current = {
                (a, d)
                for a, b in current
                for c, d in nexts
                if b <= c <= b + element.gap - self._ends(b - 1, c)
            }
        return current

    def _ends(self, first: int, last: int) -> int:
        """Return how many sentences end between two words."""
        return self._numbers[last] - self._numbers[first] if self._numbers else 0

    def explains(self, concept: str, hit: Span) -> bool:
        """Return whether a phrase of the concept covers this hit, in the place of `<it>`, within one sentence."""
        one = self._concepts[concept]
        self._known[IT] = frozenset({hit})
        try:
            return any(
                not self._crosses(span, hit) for phrase in one.phrases for span in self._phrase_spans(phrase)
            )
        finally:
            del self._known[IT]

    def _crosses(self, span: Span, hit: Span) -> bool:
        """Return whether a sentence ends inside the span but outside the hit."""
        return self._ends(span[0], span[1] - 1) > self._ends(hit[0], hit[1] - 1)

    def _element_spans(self, element: _Element) -> set[Span]:
        present = self._present & element.words
        found = {(place, place + 1) for word in present for place in self._places[word]}
        for concept in element.concepts:
            found |= self.spans(concept)
        for run in element.runs:
            found |= self._phrase_spans(run)
        return found

    def has(self, *concepts: str) -> bool:
        """Return whether any of the concepts occurs."""
        return any(self.spans(concept) for concept in concepts)


class Lexicon:
    """The concepts of one YAML file, prepared for finding them in messages."""

    def __init__(self, concepts: Mapping[str, Iterable[str]], *, typo_from: int = 0) -> None:
        self._phrases = {
            name: tuple(_phrase(_text(text)) for text in phrases) for name, phrases in concepts.items()
        }
        elements = [element for phrases in self._phrases.values() for element in _elements(phrases)]
        for name in {name for element in elements for name in element.concepts}:
            if name not in self._phrases and name != IT:
                raise ValueError(f"the lexicon has no concept {name!r}")
        self._concepts = self._concepts_indexed()
        words = {word for element in elements for word in element.words}
        self._exact = {word[1:] for word in words if word.startswith("=")}
        self._whole = {word for word in words if not word.startswith("=") and not word.endswith("*")}
        self._starts: dict[str, list[str]] = defaultdict(list)
        for word in words:
            if word.endswith("*"):
                if len(word) <= _SHORTEST_PREFIX:
                    raise ValueError(f"too short a beginning: {word!r}")
                self._starts[word[:_SHORTEST_PREFIX]].append(word[:-1])
        self._at_least = sorted(
            (int(match[1]), word) for word in words if (match := _AT_LEAST.fullmatch(word))
        )
        self._typo_from = typo_from
        self._near: dict[str, list[str]] = defaultdict(list)
        if typo_from:
            for word in self._whole:
                if len(word) >= typo_from:
                    for key in (word, *deletions(word)):
                        self._near[key].append(word)
        own = self._whole | self._exact
        self._keys_of_own = {word: tuple(self._keys(word)) for word in own if word[0] != "#"}

    def _concepts_indexed(self) -> dict[str, _Concept]:
        """Return the concepts by name, each with its phrases indexed by the words of their rarest place."""
        begins: dict[str, frozenset[str]] = dict.fromkeys(self._phrases, frozenset())

        def of(element: _Element) -> frozenset[str]:
            return element.words.union(
                *(begins.get(concept, frozenset()) for concept in element.concepts),
                *(of(run.elements[0]) for run in element.runs),
            )

        while True:
            wider = {
                name: frozenset[str]().union(*(of(phrase.elements[0]) for phrase in phrases))
                for name, phrases in self._phrases.items()
            }
            if wider == begins:
                break
            begins = wider
        places = {
            name: [
                [of(element) for element in phrase.elements if element.concepts != (IT,)]
                for phrase in phrases
            ]
            for name, phrases in self._phrases.items()
        }
        common = Counter(
            word
            for of_concept in places.values()
            for of_phrase in of_concept
            for words in of_phrase
            for word in words
        )
        return {name: _concept(phrases, places[name], common) for name, phrases in self._phrases.items()}

    @classmethod
    def load(cls, name: str, *, typo_from: int = 0) -> "Lexicon":
        """Return the lexicon in `<name>.yaml` beside this module."""
        return cls(yaml_read(Path(__file__).with_name(f"{name}.yaml")), typo_from=typo_from)

    def read(self, text: str) -> list[Sentence]:
        """Return the sentences of a message."""
        sentences, start = [], 0
        for mark in [*SENTENCE_MARK.finditer(text), None]:
            part = text[start : mark.start()] if mark else text[start:]
            asks = bool(mark and ("?" in mark.group() or "؟" in mark.group()))
            start = mark.end() if mark else start
            if words := fold(part).split():
                sentences.append(self.sentence(words, asks=asks))
        return sentences

    def read_whole(self, text: str) -> Sentence:
        """Return a whole message as one sentence in which gaps know where its sentences end."""
        words, numbers = [], []
        for number, part in enumerate(SENTENCE_MARK.split(text)):
            of_part = fold(part).split()
            words += of_part
            numbers += [number] * len(of_part)
        return self.sentence(words, asks=False, numbers=numbers)

    def sentence(self, words: list[str], *, asks: bool, numbers: Sequence[int] = ()) -> Sentence:
        """Return the sentence of these folded words."""
        places: dict[str, set[int]] = defaultdict(set)
        for place, word in enumerate(words):
            keys = self._keys_of_own.get(word)
            for key in self._keys(word) if keys is None else keys:
                places[key].add(place)
        if self._at_least:
            for place, key in counts(words, self._at_least):
                places[key].add(place)
        return Sentence(words, asks, self._concepts, places, numbers)

    def _keys(self, word: str) -> set[str]:
        """Return the lexicon's words that this word of a message matches."""
        keys = {f"={word}"} if word in self._exact else set()
        if word[0].isdigit():
            keys.add("#")
        readings = _readings(word)
        for reading in readings:
            if reading in self._whole:
                keys.add(reading)
            keys.update(
                f"{s}*" for s in self._starts.get(reading[:_SHORTEST_PREFIX], ()) if reading.startswith(s)
            )
        # A word that matches already is no typo of another one.
        if self._typo_from and not keys and len(word) >= self._typo_from - 1:
            for key in (word, *deletions(word)):
                keys.update(near for near in self._near.get(key, ()) if one_typo(near, word))
        return keys


@lru_cache(maxsize=4096)
def _readings(word: str) -> tuple[str, ...]:
    if _ARABIC.search(word):
        bare = _ARABIC_PREFIX.sub("", word)
        return (word,) if bare == word else (word, bare)
    return (word, *hebrew_stems(word))
