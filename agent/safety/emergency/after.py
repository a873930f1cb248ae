"""Read what customers write after an alarm: that it is over, that somebody seems fine, whether to wait. Pure."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

from agent.safety.emergency.rules import TYPO_FROM, Pattern, PatternFile, concepts_of, matches
from agent.safety.lexicon import Lexicon
from pharmacy_site.lib.vocabulary import SENTENCE_MARK
from pharmacy_site.lib.yaml_files import yaml_read

_FILE: Final = Path(__file__).with_name("after.yaml")
_ENDS: Final = frozenset({"over", "ended"})

Remark = Literal["over", "ended", "coming", "vomit", "wait", "fine", "forget", "alone", "what_now"]


class RemarkRule(Pattern):
    """One thing that customers say after an alarm, and the name of our answer."""

    answer: Remark


class _RemarkFile(PatternFile):
    rules: tuple[RemarkRule, ...]


@lru_cache(maxsize=1)
def _loaded() -> tuple[Lexicon, tuple[RemarkRule, ...]]:
    file = _RemarkFile.model_validate(yaml_read(_FILE))
    return Lexicon({**file.words, **concepts_of(file.rules)}, typo_from=TYPO_FROM), file.rules


def remark_rules() -> tuple[RemarkRule, ...]:
    """Return all rules; only tests need them."""
    return _loaded()[1]


def remark_in(text: str) -> Remark | None:
    """Return what a message says about the emergency that is open; None when it says nothing of it."""
    return next((rule.answer for rule, _ in _remarks(text)), None)


def words_after_end(text: str) -> str | None:
    """Return what a message says behind the report that help was there or no danger is; None when it reports no such thing."""
    first = next(_remarks(text), None)
    return first[1] if first and first[0].answer == "over" else None


def _remarks(text: str) -> Iterator[tuple[RemarkRule, str]]:
    """Yield the rules that a message matches, each with the folded words behind its last match."""
    lexicon, rules = _loaded()
    message, stated = lexicon.read_whole(text), lexicon.read_whole(_without_questions(text))
    for rule in rules:
        read = stated if rule.answer in _ENDS else message
        if found := matches(read, rule):
            yield rule, " ".join(read.words[max(end for _, end in found) :])


def _without_questions(text: str) -> str:
    """Return a message without its questions, since a question ("is everything fine?") must not end an emergency."""
    parts, start = [], 0
    for mark in SENTENCE_MARK.finditer(text):
        if "?" not in mark.group() and "؟" not in mark.group():
            parts.append(text[start : mark.end()])
        start = mark.end()
    return "".join([*parts, text[start:]])
