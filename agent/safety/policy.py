"""Check by word rules which questions may be answered, and what an answer may say.

`check_input` distinguishes a request for advice, which calls no tool, from a question about facts. What a product's own
leaflet says is a fact, so its subjects (food, driving, pregnancy, storage, age, a missed dose) are answered unless the
customer ties them to an illness of their own. `check_output` is the final check of an answer made of fixed sentences.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from agent.safety.fixed_wording import check_output, lexicon
from agent.safety.lexicon import Sentence

__all__ = ["InputVerdict", "check_input", "check_output"]

_DECIDE_AT_END: Final = frozenset({("should", "i"), ("shall", "i"), ("should", "we"), ("shall", "we")})
# A message of at most so many words that only names a complaint is a request for advice.
_LONGEST_COMPLAINT: Final = 9


class InputVerdict(StrEnum):
    """What a message asks for; everything but ANSWER is declined politely."""

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


def _asks_push(s: Sentence) -> bool:
    return s.has("buy") and not s.has("place", "leaflet", "rx")


def _asks_dose(s: Sentence, *, measured: bool) -> bool:
    """Return whether the customer asks for a dose for a person; the dosage on a label is a fact.

    A person is named, or has a weight or an age, or the customer asks what they themselves should take.
    """
    if (s.has("more_than_label") and s.has("may_i", "should_explicit")) or s.has("units_for"):
        return True
    # "By my weight" is no label's dosage.
    if s.has("leaflet") and not (measured and s.has("self") and s.has("must")):
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
    """Return whether the customer asks which product is better; which is nearer, cheaper or the same is a fact."""
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
    """Return whether the customer asks about stock; "יש" also begins what the customer has ("יש לי חום")."""
    owned = {place for span in s.spans("have_person") for place in range(*span)}
    return s.has("stock") or any(start not in owned for start, _ in s.spans("have_he"))


def _wants_recommendation(s: Sentence) -> bool:
    """Return whether the customer asks to be recommended something: "I did not ask for a recommendation" does not."""
    declined = {place for span in s.spans("recommend_no") for place in range(*span)}
    return any(not declined.issuperset(range(*span)) for span in s.spans("recommend"))


def _asks_what_for(s: Sentence) -> bool:
    """Return whether the customer asks what to take for a complaint; "the white pills for allergy" names a product."""
    described = s.spans("described_product")
    return any(
        not any(first <= start and end <= last for first, last in described)
        for start, end in s.spans("what_for")
    )


def _asks_advice(s: Sentence, *, own: bool) -> bool:
    if tuple(s.words[-2:]) in _DECIDE_AT_END:
        return True  # "my coach says take it, should I?", although "says" may mean a leaflet
    factual = s.has("topic", "leaflet", "process", "place", "money", "same", "general_schedule") and not own
    listing = s.has("list_words") or _asks_stock(s)
    if s.has("storage") and not own and not s.has("recommend", "your_view", "should_explicit"):
        return False  # "how long can I keep it once opened"
    if s.has("should_instead"):
        return not s.has("leaflet")  # "what can I get instead" asks which products are equal
    if s.has("how_to_treat", "how_long_mine", "or_not", "except_med", "symptom_when"):
        return not s.has("leaflet", "disposal")
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
    if s.has("change_he") and (own or s.asks or len(s.words) <= _LONGEST_COMPLAINT):
        return not listing and not s.has("leaflet", "rx")
    if _wants_recommendation(s):
        return not (s.has("place", "process", "money", "leaflet", "stock") and not own) or s.has("what_for")
    if _asks_what_for(s):
        return not (listing and not s.has("better")) and not s.has("leaflet", "money")
    if s.has("give_mine") and s.has("may_i") and not listing and not s.has("leaflet", "process", "together"):
        return True
    if s.has("should_explicit", "helps_me") and not factual and not listing:
        return own or not s.has("plain_help")
    return own and s.has("may_i") and not listing and not s.has("process", "place")


def _only_complains(sentences: Sequence[Sentence]) -> bool:
    """Return whether a short message names the customer's complaint and no question about facts."""
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
        sum(len(s.words) for s in sentences) <= _LONGEST_COMPLAINT
        and any(s.has("i_have") and s.has("complaint") for s in sentences)
        and not any(_asks_stock(s) or s.has(*facts) for s in sentences)
    )


def describes_product(text: str) -> bool:
    """Return whether a message describes a product by its looks: "the white pills for allergy"."""
    return any(s.has("described_product") for s in lexicon().read(text))


def wants_decision(text: str) -> bool:
    """Return whether a message asks us to decide for somebody: "should I", "do you recommend", "what is best for"."""
    return any(
        s.has("decide_for", "your_view", "worth_it_he", "or_not", "give_mine")
        or (s.has("what_for") and s.has("better"))
        for s in lexicon().read(text)
    )


def check_input(text: str) -> InputVerdict:
    """Return what a customer's message asks for, in English or Hebrew."""
    sentences = lexicon().read(text)
    own = any(s.has("i_have") for s in sentences)
    measured = any(s.has("measured") for s in sentences)
    found = set()
    for s in sentences:
        if _asks_push(s):
            found.add(InputVerdict.PUSH)
        if _asks_dose(s, measured=measured):
            found.add(InputVerdict.DOSE_FOR_PERSON)
        if _asks_comparison(s, own=own):
            # "Which is best for a headache" names no products to compare: it asks what to take.
            alone = (own or s.has("what_for")) and not s.has("than")
            found.add(InputVerdict.ADVICE if alone else InputVerdict.COMPARISON)
        if _asks_diagnosis(s):
            found.add(InputVerdict.DIAGNOSIS)
        if _asks_advice(s, own=own):
            found.add(InputVerdict.ADVICE)
    if not found and _only_complains(sentences):
        return InputVerdict.ADVICE
    return next((verdict for verdict in _ORDER if verdict in found), InputVerdict.ANSWER)
