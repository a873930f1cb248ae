"""What a customer may be answered, and what an answer may say: two checks by words alone.

`check_input` tells a request for advice from a question about facts; a request for advice calls no tool. What a
product's own leaflet says is a fact, so its subjects (food, driving, pregnancy, storage, age, a missed dose) are answered
unless the customer ties them to an illness of their own. `check_output` is the last look at an answer before it is sent.
"""

import re
import unicodedata
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Final

from agent.lexicon import Lexicon, Sentence, Span

_TYPO_FROM: Final = 8
_COMPLAINT_ONLY: Final = 9  # a message of at most so many words that only complains asks for advice silently


class InputVerdict(StrEnum):
    """What a message asks for; everything but ANSWER is declined kindly."""

    ANSWER = "ANSWER"
    ADVICE = "ADVICE"
    COMPARISON = "COMPARISON"
    DOSE_FOR_PERSON = "DOSE_FOR_PERSON"
    DIAGNOSIS = "DIAGNOSIS"
    PUSH = "PUSH"


_ORDER: Final = (
    InputVerdict.PUSH,
    InputVerdict.DOSE_FOR_PERSON,
    InputVerdict.COMPARISON,
    InputVerdict.DIAGNOSIS,
    InputVerdict.ADVICE,
)


@lru_cache(maxsize=1)
def _lexicon() -> Lexicon:
    return Lexicon.load("policy", typo_from=_TYPO_FROM)


# ---- a customer's message ---------------------------------------------------------------------------------------------


def _asks_push(s: Sentence) -> bool:
    return s.has("buy") and not s.has("place", "leaflet", "rx")


def _asks_dose(s: Sentence, *, measured: bool) -> bool:
    """How much for somebody: a named person, a weight or an age, or "should I"; a label's dosage is a fact."""
    if (s.has("more_than_label") and s.has("may_i", "should_explicit")) or s.has("units_for"):
        return True
    if s.has("leaflet"):
        return False
    if (
        (s.has("may_i") or (s.asks and s.has("bare_take_he")))
        and s.has("amount")
        and not s.has("two_medicines", "stock", "rx")
    ):
        return True
    if (
        not s.has("how_much")
        or (s.has("how_much_is") and not s.has("interval"))
        or not s.has("dosing", "measured", "giving")
    ):
        return False
    whom = s.has("relative", "for_person") or measured
    return whom or (s.has("must") and s.has("self")) or (s.has("giving") and s.has("child"))


def _asks_diagnosis(s: Sentence) -> bool:
    if s.has("topic") and not s.has("self", "relative"):
        return False  # "is it allowed during breastfeeding?"
    if s.has("separately_joined") and not s.has("complaint"):
        return False  # "X and Y together, is it dangerous?" asks about an interaction
    if s.has("what_is_it") and not s.has("used_for"):
        return True
    return s.has("diagnosis") and not s.has("diagnosis_no", "leaflet", "stock", "buy")


def _asks_comparison(s: Sentence, *, own: bool) -> bool:
    """Which does more good; which is nearer, cheaper or the same is a fact."""
    if s.has("place", "money", "leaflet") or s.has("better_no"):
        return False
    if s.has("better"):
        if s.has("topic") and not s.has("which") and not s.has("than"):
            return False
        return s.has("than", "which", "versus") or s.asks
    if s.has("versus"):
        return not s.has("same")
    if s.has("choice") and not s.has("stock", "used_for", "separately_joined", "process", "same"):
        if s.has("topic") and not own and not s.has("giving"):
            return False
        return s.asks or s.has("giving", "should", "may_i")
    return s.has("or_") and s.has("complaint") and not s.has("stock", "topic", "used_for")


def _asks_stock(s: Sentence) -> bool:
    """Whether the shop has it; "יש" also begins what the customer has ("יש לי חום")."""
    owned = {place for span in s.spans("have_person") for place in range(*span)}
    return s.has("stock") or any(start not in owned for start, _ in s.spans("have_he"))


def _asks_advice(s: Sentence, *, own: bool) -> bool:
    factual = s.has("topic", "leaflet", "process", "place", "money", "same") and not own
    listing = s.has("list_words") or _asks_stock(s)
    if s.has("storage") and not own and not s.has("recommend", "your_view", "should_explicit"):
        return False  # "how long can I keep it once opened"
    if s.has("how_to_treat", "how_long_mine", "or_not", "except_med", "symptom_when"):
        return not s.has("leaflet")
    if s.has("worth_it_he") or (own and s.asks and s.has("bare_take_he")):
        return not s.has("leaflet", "process", "place", "money", "separately_joined")
    if own and s.has("what_now", "which_product") and not s.has("leaflet", "process", "rx", "stock", "money"):
        return True
    if s.has("go_doctor_he") or (own and s.has("help_listing")):
        return not s.has("leaflet", "process")
    if s.asks and any(start == 0 for start, _ in s.spans("switch_he")):
        return not s.has("leaflet", "process", "place", "money")
    if s.has("your_view"):
        return not (s.has("place", "money", "leaflet", "logistics") and not own)
    if s.has("change_he") and (own or s.asks or len(s.words) <= _COMPLAINT_ONLY):
        return not listing and not s.has("leaflet", "rx")
    if s.has("recommend"):
        return not (s.has("place", "process", "money", "leaflet", "stock") and not own) or s.has("what_for")
    if s.has("what_for"):
        return not (listing and not s.has("better")) and not s.has("leaflet", "money")
    if s.has("give_mine") and s.has("may_i") and not listing and not s.has("leaflet", "process", "together"):
        return True
    if s.has("should_explicit", "helps_me") and not factual and not listing:
        return own or not s.has("plain_help")
    return own and s.has("may_i") and not listing and not s.has("process", "place")


def _complains(sentences: Sequence[Sentence]) -> bool:
    facts = (
        "process",
        "leaflet",
        "topic",
        "money",
        "place",
        "list_words",
        "same",
        "separately_joined",
        "used_for",
    )
    return (
        sum(len(s.words) for s in sentences) <= _COMPLAINT_ONLY
        and any(s.has("i_have") and s.has("complaint") for s in sentences)
        and not any(_asks_stock(s) or s.has(*facts) for s in sentences)
    )


def check_input(text: str) -> InputVerdict:
    """Return what a customer's message asks for, in English or Hebrew."""
    sentences = _lexicon().read(text)
    own = any(s.has("i_have") for s in sentences)
    measured = any(s.has("measured") for s in sentences)
    found = set()
    for s in sentences:
        if _asks_push(s):
            found.add(InputVerdict.PUSH)
        if _asks_dose(s, measured=measured):
            found.add(InputVerdict.DOSE_FOR_PERSON)
        if _asks_comparison(s, own=own):
            # "Which is best for a headache" names no rival: the customer wants to be told what to take.
            alone = (own or s.has("what_for")) and not s.has("than")
            found.add(InputVerdict.ADVICE if alone else InputVerdict.COMPARISON)
        if _asks_diagnosis(s):
            found.add(InputVerdict.DIAGNOSIS)
        if _asks_advice(s, own=own):
            found.add(InputVerdict.ADVICE)
    if not found and _complains(sentences):
        return InputVerdict.ADVICE
    return next((verdict for verdict in _ORDER if verdict in found), InputVerdict.ANSWER)


# ---- an answer --------------------------------------------------------------------------------------------------------

_MARKUP: Final = re.compile(
    r"https?://|www\.|javascript:|data:\w+/|!\[|\]\(|</?[a-z!][^>]*>?|&#?\w+;", re.IGNORECASE
)
_NEGATION_REACH: Final = 2
_PROFESSIONAL_REACH: Final = 6
# A rule, its concept, and what excuses a hit.
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
    """Return whether an order opens the sentence: "Take it with…", "just try Advil"."""
    return hit[0] == 0 or any(end == hit[0] for _, end in s.spans("lead"))


def _letters(text: str) -> tuple[int, int]:
    """Return how many Hebrew and how many Latin letters a text has."""
    names = [unicodedata.name(char, "") for char in text if char.isalpha()]
    return sum(name.startswith("HEBREW") for name in names), sum(name.startswith("LATIN") for name in names)


def wrong_language(text: str, lang: str) -> bool:
    """Return whether an answer is not in the language it should be in."""
    hebrew, latin = _letters(text)
    return (latin > 0 and hebrew == 0) if lang == "he" else hebrew > latin


def check_output(text: str, lang: str, *, quoted: Sequence[str] = ()) -> list[str]:
    """Return the names of the rules that an answer breaks, [] when it may be sent.

    `quoted` are a leaflet's or source's exact texts, which may say what the answer itself may not.
    """
    broken = ["markup"] if _MARKUP.search(text) else []
    own = text
    for quote in sorted((q for q in quoted if q.strip()), key=len, reverse=True):
        own = own.replace(quote, ". ")
    for sentence in _lexicon().read(own):
        if "advice" not in broken and any(_begins(sentence, hit) for hit in sentence.spans("out_imperative")):
            broken.append("advice")
        for rule, concept in _OUTPUT_RULES:
            if rule not in broken and any(
                not _excused(sentence, rule, hit) for hit in sentence.spans(concept)
            ):
                broken.append(rule)
    if wrong_language(own, lang):
        broken.append("wrong_language")
    return broken


def check_free(text: str, lang: str, *, quoted: Sequence[str] = ()) -> list[str]:
    """Return the names of the rules that a language model's own wording breaks, [] when it may be shown."""
    return check_output(text, lang, quoted=quoted)
