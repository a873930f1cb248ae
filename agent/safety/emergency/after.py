"""Read what customers write after an alarm: that it is over, that somebody seems fine, whether to wait. Pure."""

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, NamedTuple

from agent.safety.emergency.rules import TYPO_FROM, Pattern, PatternFile, Phrases, concepts_of, matches
from agent.safety.lexicon import Lexicon
from pharmacy_site.lib.text import fold
from pharmacy_site.lib.yaml_files import yaml_read

_FILE: Final = Path(__file__).with_name("after.yaml")

Remark = Literal["over", "coming", "vomit", "wait", "fine", "forget", "alone", "what_now"]


class RemarkRule(Pattern):
    """One thing that customers say after an alarm, and the name of our answer."""

    answer: Remark


class _RemarkFile(PatternFile):
    ends: Phrases
    ends_crisis: Phrases
    confirmations: Phrases
    rules: tuple[RemarkRule, ...]


class _Remarks(NamedTuple):
    lexicon: Lexicon
    rules: tuple[RemarkRule, ...]
    ends: frozenset[str]
    ends_crisis: frozenset[str]
    confirmations: frozenset[str]


@lru_cache(maxsize=1)
def _loaded() -> _Remarks:
    file = _RemarkFile.model_validate(yaml_read(_FILE))
    lexicon = Lexicon({**file.words, **concepts_of(file.rules)}, typo_from=TYPO_FROM)
    return _Remarks(
        lexicon, file.rules, _folded(file.ends), _folded(file.ends_crisis), _folded(file.confirmations)
    )


def _folded(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(fold(text) for text in texts)


def remark_rules() -> tuple[RemarkRule, ...]:
    """Return all rules; only tests need them."""
    return _loaded().rules


def remark_in(text: str) -> Remark | None:
    """Return what a message says about the emergency that is open; None when it says nothing of it."""
    read = _loaded()
    message = read.lexicon.read_whole(text)
    return next((rule.answer for rule in read.rules if matches(message, rule)), None)


def is_end(text: str, *, in_crisis: bool, was_asked: bool) -> bool:
    """Return whether a message, read as a whole, says that the emergency is over.

    `was_asked`: the answer before asked whether it is, so that a yes says so.
    """
    read, whole = _loaded(), fold(text)
    ends = read.ends_crisis if in_crisis else read.ends | read.ends_crisis
    return "?" not in text and (whole in ends or (was_asked and whole in read.confirmations))
