"""Detect emergencies in a customer's message by word rules, before any model or tool is called.

A hit is a phrase of the lexicon that names a danger. It counts unless the sentence only mentions it as a subject ("is
chest pain a listed side effect?"), denies it ("no chest pain") or reports it as past ("had a stroke in 2019"). When in
doubt a hit counts: an emergency number that was not needed costs less than a missing one.
"""

from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from typing import Final

from agent.safety import statements
from agent.safety.lexicon import Lexicon, Sentence, Span
from pharmacy_site.lib.text import fold
from pharmacy_site.lib.vocabulary import NUMBER_WORDS, UNIT_WORDS

# Shorter words are one typo away from too many other words.
_TYPO_FROM: Final = 7
_NUMBER_REACH: Final = 4
_SHORT_MESSAGE: Final = 4
# From this number on "took 10 pills" is an overdose without a word like "too many".
_MANY_UNITS: Final = 6
_MANY_MILLIGRAMS: Final = 4000
# Words up to which a message is also read as one sentence.
_LONGEST_STORY: Final = 40
# Numbers in which people usually say how many they took; also in Russian and Arabic.
_ROUND: Final = frozenset({6, 7, 8, 9, 10, 12, 15, 20, 30, 40, 50, 60, 100})
_NUMBERS: Final = {
    **{fold(word): number for word, number in NUMBER_WORDS.items() if number in _ROUND},
    "ששה": 6,
    "dozen": 12,
    "תריסר": 12,
    "חמישעשרה": 15,
    "десять": 10,
    "двадцать": 20,
    "тридцать": 30,
    "عشر": 10,
    "عشرة": 10,
    "عشرين": 20,
    "ثلاثين": 30,
}
_MILLIGRAMS: Final = frozenset((*fold(UNIT_WORDS["mg"]).split(), "мг", "ملغ", "مغ"))
_GRAMS: Final = frozenset((*fold(UNIT_WORDS["g"]).split(), "грамм", "грамма", "граммов"))


class Emergency(StrEnum):
    """Kind of emergency, by the help that the customer needs first."""

    MEDICAL = "MEDICAL"
    POISONING = "POISONING"
    SELF_HARM = "SELF_HARM"
    EXTRA_DOSE = "EXTRA_DOSE"


@lru_cache(maxsize=1)
def _lexicon() -> Lexicon:
    return Lexicon.load("emergency", typo_from=_TYPO_FROM)


Check = Callable[[Sentence, Span], bool]

# Kind, concept, the check that a hit must pass, concepts that rule it out in the same sentence.
_RULES: Final[tuple[tuple[Emergency, str, Check, tuple[str, ...]], ...]] = (
    (Emergency.POISONING, "overdose_event", statements.event, ("ago",)),
    (Emergency.POISONING, "swallowed_many", statements.event, ("goods", "one_too_many")),
    (Emergency.POISONING, "child_swallowed", statements.event, ("usual",)),
    (Emergency.POISONING, "caustic_event", statements.event, ()),
    (Emergency.POISONING, "poisoned", statements.current, ("food",)),
    (Emergency.SELF_HARM, "suicide_intent", statements.stated, ("recovered", "boredom")),
    (Emergency.SELF_HARM, "lethal", statements.always, ("lethal_not",)),
    (Emergency.MEDICAL, "no_breath", statements.alive, ("nose", "joke")),
    (Emergency.MEDICAL, "breath_topic", statements.condition, ("nose", "joke")),
    (Emergency.MEDICAL, "unconscious", statements.alive, ("ago", "joke")),
    (Emergency.MEDICAL, "fit", statements.current, ("harmless_fit",)),
    (Emergency.MEDICAL, "seizing", statements.alive, ("ago",)),
    (Emergency.MEDICAL, "chest_pain", statements.current, ()),
    (Emergency.MEDICAL, "allergic", statements.condition, ("ago",)),
    (Emergency.MEDICAL, "used_epipen", statements.event, ("ago",)),
    (Emergency.MEDICAL, "attack_now", statements.current, ("joke",)),
    (Emergency.MEDICAL, "stroke_sign", statements.condition, ("ago", "talk_to", "laugh")),
    (Emergency.MEDICAL, "severe_bleeding", statements.condition, ()),
    (Emergency.MEDICAL, "infant_fever", statements.condition, ("goods",)),
    (Emergency.MEDICAL, "ambulance", statements.state, ("small_burn",)),
    (Emergency.MEDICAL, "dying", statements.state, ("not_dying",)),
    (Emergency.MEDICAL, "bite", statements.state, ("ago",)),
    (Emergency.MEDICAL, "drowning", statements.state, ()),
    (Emergency.EXTRA_DOSE, "extra_dose", statements.event, ("goods", "paper", "ago", "regimen")),
)
# Rules across a whole message, in any order: kind, concept of the act, concepts that must all occur as well, concepts
# that rule it out.
_MESSAGE_RULES: Final[tuple[tuple[Emergency, str, tuple[str, ...], tuple[str, ...]], ...]] = (
    (Emergency.POISONING, "swallowed", ("caustic",), ("goods", "harmless_food")),
    (Emergency.POISONING, "swallowed", ("pills", "many_units"), ("goods", "one_too_many")),
    (Emergency.POISONING, "caustic", ("took", "hurt_by_it"), ("goods", "harmless_food")),
    (Emergency.POISONING, "fumes", ("hurt_by_it",), ("goods",)),
    (Emergency.POISONING, "empty_pack", ("child", "found_so"), ("goods",)),
    (Emergency.SELF_HARM, "took", ("pills", "on_purpose"), ("goods",)),
    (Emergency.EXTRA_DOSE, "dosed", ("pills", "double", "mistake"), ("goods", "paper", "regimen")),
)
# Signs that mean little alone but together are an emergency: the weight of each, and the sum that is enough.
_SIGNS: Final = {
    "sign_chest": 2,
    "sign_blood": 2,
    "sign_breath": 2,
    "sign_colour": 2,
    "sign_mind": 2,
    "sign_numb": 2,
    "sign_silent": 2,
    "sign_arm": 1,
    "sign_faint": 1,
    "sign_sweat": 1,
    "sign_vomit": 1,
    "sign_swell": 1,
    "sign_fall": 1,
    "sign_pregnant": 1,
    "sign_sudden": 1,
    "sign_pain": 1,
    "sign_fever": 1,
    "sign_stuck": 1,
}
_ENOUGH_SIGNS: Final = 4
# In a short message the mere name of a danger ("stroke!", "overdose help") counts as an emergency.
_SHORT_MESSAGE_RULES: Final = (
    (Emergency.MEDICAL, "attack"),
    (Emergency.POISONING, "bare_overdose"),
    (Emergency.SELF_HARM, "suicide_topic"),
)


def _number(word: str) -> float:
    if word[0].isdigit():
        try:
            return float(word)
        except ValueError:
            return 0
    return _NUMBERS.get(word, 0)


def _swallowed_number(sentence: Sentence) -> bool:
    """Return whether at least _MANY_UNITS of something were taken: "took 20 pills", "בלעתי 15 אקמול"."""
    words = sentence.words
    strengths = {start for start, _ in sentence.spans("not_pills")}
    pills = {start for start, _ in sentence.spans("pills")}
    clock = {end for _, end in sentence.spans("clock")}
    had = sentence.spans("had")
    if sentence.has("took") and any(
        (unit in _MILLIGRAMS and _number(word) >= _MANY_MILLIGRAMS)
        or (unit in _GRAMS and _number(word) * 1000 >= _MANY_MILLIGRAMS and pills)
        for word, unit in pairwise(words)
    ):
        return True
    for verb in sentence.spans("took") | had:
        for place in range(verb[1], min(verb[1] + _NUMBER_REACH, len(words) - 1)):
            if _number(words[place]) < _MANY_UNITS or place in clock or place + 1 in strengths:
                continue
            # "Had ten" is said of many things, so it counts with pills only.
            if (verb not in had or place + 1 in pills) and statements.state(sentence, (verb[0], place + 1)):
                return True
    return False


def _signs_add_up(story: Sentence) -> bool:
    """Return whether signs that are weak one by one add up: "grey, sweating and his arm is heavy"."""
    if statements.past(story) or story.has(
        "mild", "joke", "harmless_fit", "nose", "blood_no", "machine_says"
    ):
        return False
    if not story.has("person", "now", "sign_sudden"):
        return False
    weight = sum(
        w
        for sign, w in _SIGNS.items()
        if any(
            not statements.about_a_subject(story, hit, anywhere=False)
            and (sign == "sign_silent" or not statements.negated(story, hit))
            for hit in story.spans(sign)
        )
    )
    return weight >= _ENOUGH_SIGNS


def _message_emergencies(story: Sentence) -> set[Emergency]:
    """Return the emergencies that a whole message describes, whichever of its parts comes first."""
    if statements.past(story) or story.has("frame", "if_"):
        return set()
    return {
        kind
        for kind, act, required, ruled_out in _MESSAGE_RULES
        if all(story.has(c) for c in required)
        and not story.has(*ruled_out)
        and any(statements.event(story, hit) for hit in story.spans(act))
    }


def _chest_corrected(sentences: list[Sentence]) -> bool:
    """Return whether the customer corrected the chest to another place: "my chest hurts… sorry, my back"."""
    story = _lexicon().sentence([word for sentence in sentences for word in sentence.words], asks=False)
    if not story.has("chest_pain") or not story.has("corrected"):
        return False
    last = max(end for _, end in story.spans("chest"))
    other = any(story.has(c) for kind, c, _, _ in _RULES if kind == Emergency.MEDICAL and c != "chest_pain")
    return not other and any(start >= last for start, _ in story.spans("corrected"))


# Concepts that an emergency is likely to mention, for `hints`.
_HINTS: Final = (
    *(
        "chest",
        "no_breath",
        "swell",
        "unconscious",
        "seizing",
        "severe_bleeding",
        "dying",
        "caustic",
        "poisoned",
    ),
    *(
        "overdose_event",
        "bare_overdose",
        "child_swallowed",
        "swallowed",
        "suicide_intent",
        "suicide_topic",
        "lethal",
    ),
    *(
        "sign_chest",
        "sign_colour",
        "sign_arm",
        "sign_mind",
        "sign_faint",
        "sign_blood",
        "sign_vomit",
        "sign_numb",
    ),
    *("sign_silent", "sign_breath", "sign_swell", "sign_fall", "sign_stuck"),
)


def detect_all(text: str) -> list[Emergency]:
    """Return every kind of emergency in the message, in the order in which help is needed."""
    sentences = _lexicon().read(text)
    found: set[Emergency] = set()
    for sentence in sentences:
        for kind, concept, check, ruled_out in _RULES:
            if kind in found or any(
                statements.past(sentence) if c == "ago" else sentence.has(c) for c in ruled_out
            ):
                continue
            if any(check(sentence, hit) for hit in sentence.spans(concept)):
                found.add(kind)
        if not sentence.has("goods") and _swallowed_number(sentence):
            found.add(Emergency.POISONING)
    if found == {Emergency.MEDICAL} and _chest_corrected(sentences):
        found.clear()
    words = [word for sentence in sentences for word in sentence.words]
    if len(words) <= _LONGEST_STORY:
        story = _lexicon().sentence(words, asks=False)
        found |= _message_emergencies(story)
        if Emergency.MEDICAL not in found and _signs_add_up(story):
            found.add(Emergency.MEDICAL)
    if not found and sum(len(sentence.words) for sentence in sentences) <= _SHORT_MESSAGE:
        for kind, concept in _SHORT_MESSAGE_RULES:
            for sentence in sentences:
                if any(statements.current(sentence, hit) for hit in sentence.spans(concept)):
                    found.add(kind)
    if Emergency.POISONING in found:
        # The answer to a poisoning covers an extra dose as well.
        found.discard(Emergency.EXTRA_DOSE)
    order = (Emergency.POISONING, Emergency.SELF_HARM, Emergency.MEDICAL, Emergency.EXTRA_DOSE)
    return [kind for kind in order if kind in found]


def detect(text: str) -> Emergency | None:
    """Return the kind of emergency that comes first in the message, or None."""
    return next(iter(detect_all(text)), None)


def hints(text: str) -> bool:
    """Return whether a message mentions a sign of danger, although no rule calls it an emergency.

    Rules never cover every wording. An answer to such a message that was not understood names the number to call.
    """
    return any(sentence.has(*_HINTS) for sentence in _lexicon().read(text))
