"""Load the rules of emergencies and find those that a message matches. Pure.

A rule says what happened (`what`, phrases of which one must match) and what else must be in the message (`also`). Most rules
are evidence, which counts when the classifier agrees; see `detection.py`. A `sure` rule is an alarm whatever the classifier
says. A match does not count where a phrase of `explained.yaml`, or of the rule's own `unless`, explains the matched words
themselves: it denies them, only asks about them, or makes them a figure of speech. No word elsewhere in the message cancels it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from agent.safety.lexicon import Lexicon, Sentence, Span
from pharmacy_site.lib.yaml_files import yaml_read

_FOLDER: Final = Path(__file__).parent
_NO_RULES: Final = frozenset({"explained.yaml", "after.yaml"})
TYPO_FROM: Final = 7  # letters; shorter words are one typo away from too many others
Phrases = tuple[str, ...]


class Emergency(StrEnum):
    """Kind of emergency, by the help that the customer needs first."""

    POISONING = "POISONING"
    SELF_HARM = "SELF_HARM"
    MEDICAL = "MEDICAL"
    EXTRA_DOSE = "EXTRA_DOSE"
    ADVERSE = "ADVERSE"


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Pattern(_Data):
    """Describe one thing that a message may say: by phrases, by sentences that say it and by sentences that do not."""

    name: str
    what: Phrases = ()
    """Any of these phrases."""
    unless: Phrases = ()
    """Phrases around `<it>` that explain the matched words as something else."""
    applies_to: Annotated[Phrases, Field(alias="for", min_length=1)]
    """Sentences that say it."""
    passes: Phrases = ()
    """Sentences close to it that do not."""


class PatternFile(_Data):
    """A YAML file of patterns, with words that they share."""

    words: Mapping[str, Phrases] = Field(default_factory=dict)


class Rule(Pattern):
    """One event that is an emergency: what happened is in `what`."""

    kind: Emergency
    sure: bool = False
    """An alarm even where the classifier disagrees."""
    language: str = ""
    """The language of its words when it is none that the assistant speaks: "ru", "uk", "ar", "fr", "es", "am"."""
    also: Phrases = ()
    """Each of these occurs somewhere in the message, in any order."""
    at_most_words: int = 0
    """The rule is only for messages of so few words; 0 for any."""


class RuleFile(PatternFile):
    """One YAML file of rules; its words are shared with all files."""

    rules: tuple[Rule, ...] = ()


class _Prepared(NamedTuple):
    """A rule with the names of its concepts in the lexicon."""

    rule: Rule
    also: Sequence[str]
    explained: Sequence[str]
    """Names of the groups of phrases that explain a match of any rule."""


class _Rules(NamedTuple):
    lexicon: Lexicon
    prepared: Sequence[_Prepared]
    by_word: Mapping[str, Sequence[int]]
    """For each word that may show a rule's event, the places of such rules: most rules need not be tried."""


@lru_cache(maxsize=1)
def _loaded() -> _Rules:
    explained: Mapping[str, list[str]] = yaml_read(_FOLDER / "explained.yaml")
    concepts: dict[str, Iterable[str]] = dict(explained)
    rules: list[Rule] = []
    for path in sorted(_FOLDER.glob("*.yaml")):
        if path.name in _NO_RULES:
            continue
        file = RuleFile.model_validate(yaml_read(path))
        for name, phrases in file.words.items():
            if name in concepts:
                raise ValueError(f"{path.name}: the words {name!r} are defined twice")
            concepts[name] = phrases
        rules += file.rules
    names = [rule.name for rule in rules]
    if len(set(names)) < len(names):
        raise ValueError("two rules have one name")
    concepts |= concepts_of(rules)
    prepared = []
    for rule in rules:
        also = {f"also: {rule.name} {number}": [phrase] for number, phrase in enumerate(rule.also)}
        concepts |= also
        prepared.append(_Prepared(rule, tuple(also), tuple(explained)))
    lexicon = Lexicon(concepts, typo_from=TYPO_FROM)
    by_word: dict[str, list[int]] = defaultdict(list)
    for place, (rule, _, _) in enumerate(prepared):
        for word in lexicon.index_words(f"what: {rule.name}"):
            by_word[word].append(place)
    return _Rules(lexicon, prepared, by_word)


def concepts_of(patterns: Iterable[Pattern]) -> dict[str, Iterable[str]]:
    """Return the concepts by which `matches` finds these patterns in a lexicon."""
    found: dict[str, Iterable[str]] = {}
    for pattern in patterns:
        found[f"what: {pattern.name}"] = pattern.what
        found[f"unless: {pattern.name}"] = pattern.unless
    return found


def matches(message: Sentence, pattern: Pattern, explained: Iterable[str] = ()) -> list[Span]:
    """Return where a message says it, in words that neither its `unless` nor one of these groups explains."""
    groups = [*explained, f"unless: {pattern.name}"]
    return unexplained(message, f"what: {pattern.name}", groups)


def unexplained(message: Sentence, concept: str, groups: Sequence[str]) -> list[Span]:
    """Return where a concept occurs without a phrase of these groups around it."""
    return [
        hit for hit in message.spans(concept) if not any(message.explains(group, hit) for group in groups)
    ]


def rules_all() -> Sequence[Rule]:
    """Return every rule, for tests."""
    return [prepared.rule for prepared in _loaded().prepared]


def _applies(message: Sentence, prepared: _Prepared) -> bool:
    rule = prepared.rule
    if rule.at_most_words and len(message.words) > rule.at_most_words:
        return False
    return all(map(message.has, prepared.also)) and bool(matches(message, rule, prepared.explained))


def matched(text: str) -> list[Rule]:
    """Return the rules that a message matches."""
    lexicon, prepared, by_word = _loaded()
    message = lexicon.read_whole(text)
    places = {place for word in message.keys for place in by_word.get(word, ())}
    return [prepared[place].rule for place in sorted(places) if _applies(message, prepared[place])]
