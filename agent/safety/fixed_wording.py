"""Check an answer made of fixed sentences by word rules, before it is sent."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from agent.safety.lexicon import Lexicon, Sentence, Span

_TYPO_FROM: Final = 8


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    """Return the lexicon of `lexicon/policy.yaml`, by which questions and answers are checked."""
    return Lexicon.load("policy", typo_from=_TYPO_FROM)


_MARKUP: Final = re.compile(
    r"https?://|www\.|javascript:|data:\w+/|!\[|\]\(|</?[a-z!][^>]*>?|&#?\w+;", re.IGNORECASE
)
_NEGATION_REACH: Final = 2
_PROFESSIONAL_REACH: Final = 6
# Rule and the concept that breaks it.
_OUTPUT_RULES: Final = (
    ("advice", "out_advice"),
    ("comparison", "out_comparison"),
    ("push", "out_push"),
    ("dose_for_person", "out_dose"),
    ("diagnosis", "out_diagnosis"),
    ("safe_claim", "out_safe"),
)


def _excused(s: Sentence, rule: str, hit: Span) -> bool:
    """Return whether a hit is denied, declined, or sends the customer to a professional."""
    start, end = hit
    turns = [b for _, b in s.spans("but") if b <= start]
    since = max(turns, default=0)
    if any(since <= a < start for a, _ in s.spans("refusal")):
        return True
    if rule == "safe_claim":
        return any((a <= start and end <= b) or a < start <= b for a, b in s.spans("out_safe_no"))
    if rule == "diagnosis" and any(end <= a <= end + 1 for a, _ in s.spans("product_form")):
        return True  # "this is a cough syrup"
    if rule == "advice" and any(start < a <= end + _PROFESSIONAL_REACH for a, _ in s.spans("professional")):
        return True
    return rule != "push" and any(
        start - _NEGATION_REACH <= b <= start and a >= since for a, b in s.spans("not")
    )


def _begins(s: Sentence, hit: Span) -> bool:
    """Return whether the sentence begins with this imperative: "Take it with…", "just try Advil"."""
    return hit[0] == 0 or any(end == hit[0] for _, end in s.spans("lead"))


@lru_cache(maxsize=4096)
def _script(char: str) -> str:
    """Return HEBREW or LATIN for a letter of one of them, and nothing for any other character."""
    name = unicodedata.name(char, "") if char.isalpha() else ""
    return next((script for script in ("HEBREW", "LATIN") if name.startswith(script)), "")


def wrong_language(text: str, lang: str) -> bool:
    """Return whether a text is written in the other language."""
    if text.isascii():
        return lang == "he" and any(map(str.isalpha, text))
    scripts = list(map(_script, text))
    hebrew, latin = scripts.count("HEBREW"), scripts.count("LATIN")
    return (latin > 0 and hebrew == 0) if lang == "he" else hebrew > latin


def wording_rules(sentences: Iterable[Sentence]) -> list[str]:
    """Return the names of the rules that some sentences break by their words."""
    broken: list[str] = []
    for sentence in sentences:
        if "advice" not in broken and any(_begins(sentence, hit) for hit in sentence.spans("out_imperative")):
            broken.append("advice")
        for rule, concept in _OUTPUT_RULES:
            if rule not in broken and any(
                not _excused(sentence, rule, hit) for hit in sentence.spans(concept)
            ):
                broken.append(rule)
    return broken


def markup(text: str) -> bool:
    """Return whether a text holds links, tags or other markup."""
    return bool(_MARKUP.search(text))


def check_output(text: str, lang: str, *, quoted: Sequence[str] = ()) -> list[str]:
    """Return the names of the rules that an answer breaks, [] when it may be sent.

    `quoted` are a leaflet's or source's exact texts, which may say what the answer itself may not.
    """
    broken = ["markup"] if markup(text) else []
    own = text
    for quote in sorted((q for q in quoted if q.strip()), key=len, reverse=True):
        own = own.replace(quote, ". ")
    broken += wording_rules(lexicon().read(own))
    if wrong_language(own, lang):
        broken.append("wrong_language")
    return broken
