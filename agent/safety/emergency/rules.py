"""Load the rules of emergencies and find those that a message matches. Pure.

A rule says what happened: `what`, phrases of which one must match. Most rules are evidence, which counts when the classifier
agrees; see `detection.py`. A `sure` rule is an alarm whatever the classifier says. A match does not count where a phrase of
`explained.yaml`, or of the rule's own `unless`, explains the matched words themselves: it denies them, only asks about them, or
makes them a figure of speech. No word elsewhere in the message cancels it.
"""

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
    at_most_words: int = 0
    """The rule is only for messages of so few words; 0 for any."""


class RuleFile(PatternFile):
    """One YAML file of rules; its words are shared with all files."""

    rules: tuple[Rule, ...] = ()


class _Rules(NamedTuple):
    lexicon: Lexicon
    rules: Sequence[Rule]
    explained: Sequence[str]
    """Names of the groups of phrases that explain a match of any rule."""


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
    return _Rules(Lexicon(concepts, typo_from=TYPO_FROM), rules, tuple(explained))


def concepts_of(patterns: Iterable[Pattern]) -> dict[str, Iterable[str]]:
    """Return the concepts by which `matches` finds these patterns in a lexicon."""
    found: dict[str, Iterable[str]] = {}
    for pattern in patterns:
        found[f"what: {pattern.name}"] = pattern.what
        found[f"unless: {pattern.name}"] = pattern.unless
    return found


def matches(message: Sentence, pattern: Pattern, explained: Iterable[str] = ()) -> list[Span]:
    """Return where a message says it, in words that neither its `unless` nor one of these groups explains."""
    found = message.spans(f"what: {pattern.name}")
    if not found:
        return []
    groups = [*explained, f"unless: {pattern.name}"]
    return [hit for hit in found if not any(message.explains(group, hit) for group in groups)]


def rules_all() -> Sequence[Rule]:
    """Return all rules; only tests need them."""
    return _loaded().rules


def matched(text: str, *, with_evidence: bool = True) -> list[Rule]:
    """Return the rules that a message matches; only the sure ones where evidence would not count."""
    lexicon, rules, explained = _loaded()
    message = lexicon.read_whole(text)
    return [
        rule
        for rule in rules
        if (rule.sure or with_evidence)
        and not 0 < rule.at_most_words < len(message.words)
        and matches(message, rule, explained)
    ]
