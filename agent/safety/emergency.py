"""Emergencies in a customer's message, found by words alone, before any model or tool is asked.

A hit is a phrase of the lexicon that tells of danger. It counts unless the sentence only talks about a subject ("is
chest pain a listed side effect?"), denies it ("no chest pain") or remembers it ("had a stroke in 2019"). When in doubt a
hit counts: a surplus telephone number costs less than a missing one.
"""

from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from typing import Final

from agent.safety.lexicon import Lexicon, Sentence, Span
from pharmacy_site.lib.text import fold
from pharmacy_site.lib.vocabulary import NUMBER_WORDS, UNIT_WORDS

_TYPO_FROM: Final = 7  # shorter words have too many honest neighbours
_PERSON_REACH: Final = 5
_THING_REACH: Final = 2
_NUMBER_REACH: Final = 4
_SHORT_MESSAGE: Final = 4
_MANY_UNITS: Final = 6  # at this many at once a number needs no "too"
_MANY_MILLIGRAMS: Final = 4000
_ONE_STORY: Final = 40  # words
# Round numbers, in which people tell how many they took; also in Russian and Arabic.
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
    """What kind of help comes first."""

    MEDICAL = "MEDICAL"
    POISONING = "POISONING"
    SELF_HARM = "SELF_HARM"
    EXTRA_DOSE = "EXTRA_DOSE"


@lru_cache(maxsize=1)
def _lexicon() -> Lexicon:
    return Lexicon.load("emergency", typo_from=_TYPO_FROM)


def _inside(place: int, spans: frozenset[Span]) -> bool:
    return any(start <= place < end for start, end in spans)


def _negated(sentence: Sentence, hit: Span) -> bool:
    """Return whether "no", "not" or "without" stands before the hit, at most "any" or the like between."""
    ends = {hit[0]} | {start for start, end in sentence.spans("filler") if end == hit[0]}
    return any(end in ends and start < hit[0] for start, end in sentence.spans("not"))


def _followed_by(sentence: Sentence, hit: Span, concept: str) -> bool:
    return any(start == hit[1] for start, _ in sentence.spans(concept))


def _personal(sentence: Sentence, hit: Span) -> bool:
    """Return whether somebody has it: a person named shortly before the hit, with no talk of a subject between."""
    frames = sentence.spans("frame")
    hypothetical = sentence.spans("if_")
    for start, end in sentence.spans("person"):
        if not hit[0] - _PERSON_REACH <= end <= hit[1] or _inside(start, frames):
            continue
        if any(frame_end == start for _, frame_end in frames | hypothetical):
            continue  # "if I get…", "can cause my…"
        if not any(end <= frame_start < hit[0] for frame_start, _ in frames):
            return True
    return False


def _about_a_subject(sentence: Sentence, hit: Span, *, anywhere: bool) -> bool:
    """Return whether the sentence asks about the thing instead of telling that it happens."""
    if anywhere and _followed_by(sentence, hit, "topic_after"):
        return True
    hypothetical = sentence.spans("if_")
    if any(hit[0] < start < hit[1] for start, _ in hypothetical):
        return True
    frames = sentence.spans("frame") | hypothetical
    outside = [f for f in frames if not (hit[0] <= f[0] and f[1] <= hit[1])]
    if not any(anywhere or start < hit[0] for start, _ in outside):
        return False
    return not _personal(sentence, hit)


def _state(sentence: Sentence, hit: Span) -> bool:
    """A bodily state in the words of somebody who sees it: only a question that leads up to it takes it back."""
    return not _about_a_subject(sentence, hit, anywhere=False) and not _negated(sentence, hit)


def _condition(sentence: Sentence, hit: Span) -> bool:
    """A symptom that leaflets name too: a question anywhere in the sentence takes it back, unless it is somebody's."""
    return not _about_a_subject(sentence, hit, anywhere=True) and not _negated(sentence, hit)


def _past(sentence: Sentence) -> bool:
    """Return whether the sentence looks back further than hours."""
    return sentence.has("ago") and not sentence.has("recent")


def _alive(sentence: Sentence, hit: Span) -> bool:
    """A state of somebody: an app that does not respond or a box that collapsed needs no ambulance."""
    things = [end for _, end in sentence.spans("machine") if hit[0] - _THING_REACH <= end <= hit[1]]
    people = [end for _, end in sentence.spans("person") if end <= hit[1]]
    if things and max(things) > max(people, default=0):
        return False
    return _state(sentence, hit)


def _current(sentence: Sentence, hit: Span) -> bool:
    """A condition that people also have had: it must not lie in the past."""
    return _condition(sentence, hit) and not _past(sentence)


def _event(sentence: Sentence, hit: Span) -> bool:
    """Something that was done: "if", a question that leads up to it, or "did not" takes it back."""
    done = sentence.spans("took") | sentence.spans("swallowed") | sentence.spans("dosed")
    undone = any(
        end == start for _, end in sentence.spans("not") for start, _ in done if hit[0] <= start < hit[1]
    )
    return not undone and _state(sentence, hit)


def _stated(sentence: Sentence, hit: Span) -> bool:
    """A wish or plan: it counts however it is wrapped, unless denied or asked about as a leaflet's subject."""
    if sentence.has("gripe") and not sentence.has("deadly_wish"):
        return False  # "I can't take it anymore, your site is so slow"
    return not _negated(sentence, hit) and not (
        sentence.has("suicide_topic") and _about_a_subject(sentence, hit, anywhere=True)
    )


def _always(sentence: Sentence, hit: Span) -> bool:
    return True


Check = Callable[[Sentence, Span], bool]

# Kind, concept, how it may be taken back, concepts that rule it out in the same sentence.
_RULES: Final[tuple[tuple[Emergency, str, Check, tuple[str, ...]], ...]] = (
    (Emergency.POISONING, "overdose_event", _event, ("ago",)),
    (Emergency.POISONING, "swallowed_many", _event, ("goods", "one_too_many")),
    (Emergency.POISONING, "child_swallowed", _event, ("usual",)),
    (Emergency.POISONING, "caustic_event", _event, ()),
    (Emergency.POISONING, "poisoned", _current, ("food",)),
    (Emergency.SELF_HARM, "suicide_intent", _stated, ("recovered", "boredom")),
    (Emergency.SELF_HARM, "lethal", _always, ("lethal_not",)),
    (Emergency.MEDICAL, "no_breath", _alive, ("nose", "joke")),
    (Emergency.MEDICAL, "breath_topic", _condition, ("nose", "joke")),
    (Emergency.MEDICAL, "unconscious", _alive, ("ago", "joke")),
    (Emergency.MEDICAL, "fit", _current, ("harmless_fit",)),
    (Emergency.MEDICAL, "seizing", _alive, ("ago",)),
    (Emergency.MEDICAL, "chest_pain", _current, ()),
    (Emergency.MEDICAL, "allergic", _condition, ("ago",)),
    (Emergency.MEDICAL, "used_epipen", _event, ("ago",)),
    (Emergency.MEDICAL, "attack_now", _current, ("joke",)),
    (Emergency.MEDICAL, "stroke_sign", _condition, ("ago", "talk_to", "laugh")),
    (Emergency.MEDICAL, "severe_bleeding", _condition, ()),
    (Emergency.MEDICAL, "infant_fever", _condition, ("goods",)),
    (Emergency.MEDICAL, "ambulance", _state, ("small_burn",)),
    (Emergency.MEDICAL, "dying", _state, ("not_dying",)),
    (Emergency.MEDICAL, "bite", _state, ("ago",)),
    (Emergency.MEDICAL, "drowning", _state, ()),
    (Emergency.EXTRA_DOSE, "extra_dose", _event, ("goods", "paper", "ago", "regimen")),
)
# The same in any order: the thing that was done, and what else the message must name.
_JOINT: Final[tuple[tuple[Emergency, str, tuple[str, ...], tuple[str, ...]], ...]] = (
    (Emergency.POISONING, "swallowed", ("caustic",), ("goods", "harmless_food")),
    (Emergency.POISONING, "swallowed", ("pills", "many_units"), ("goods", "one_too_many")),
    (Emergency.POISONING, "caustic", ("took", "hurt_by_it"), ("goods", "harmless_food")),
    (Emergency.POISONING, "fumes", ("hurt_by_it",), ("goods",)),
    (Emergency.POISONING, "empty_pack", ("child", "found_so"), ("goods",)),
    (Emergency.SELF_HARM, "took", ("pills", "on_purpose"), ("goods",)),
    (Emergency.EXTRA_DOSE, "dosed", ("pills", "double", "mistake"), ("goods", "paper", "regimen")),
)
# Signs that say little alone; together they are an emergency. What each weighs, and what it takes.
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
# A name of a danger alone ("stroke!", "overdose help") is taken for a call.
_BARE: Final = (
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
            # One has had ten of many things; only pills are meant here.
            if (verb not in had or place + 1 in pills) and _state(sentence, (verb[0], place + 1)):
                return True
    return False


def _signs(story: Sentence) -> bool:
    """Return whether signs that are weak one by one add up: "grey, sweating and his arm is heavy"."""
    if _past(story) or story.has("mild", "joke", "harmless_fit", "nose", "blood_no", "machine_says"):
        return False
    if not story.has("person", "now", "sign_sudden"):
        return False
    weight = sum(
        w
        for sign, w in _SIGNS.items()
        if any(
            not _about_a_subject(story, hit, anywhere=False)
            and (sign == "sign_silent" or not _negated(story, hit))
            for hit in story.spans(sign)
        )
    )
    return weight >= _ENOUGH_SIGNS


def _joint(story: Sentence) -> set[Emergency]:
    """Return what a whole message tells of, whichever of its parts comes first."""
    if _past(story) or story.has("frame", "if_"):
        return set()
    return {
        kind
        for kind, done, named, ruled_out in _JOINT
        if all(story.has(c) for c in named)
        and not story.has(*ruled_out)
        and any(_event(story, hit) for hit in story.spans(done))
    }


def _corrected(sentences: list[Sentence]) -> bool:
    """Return whether the chest was a slip: "my chest hurts… sorry, my back"."""
    story = _lexicon().sentence([word for sentence in sentences for word in sentence.words], asks=False)
    if not story.has("chest_pain") or not story.has("corrected"):
        return False
    last = max(end for _, end in story.spans("chest"))
    other = any(story.has(c) for kind, c, _, _ in _RULES if kind == Emergency.MEDICAL and c != "chest_pain")
    return not other and any(start >= last for start, _ in story.spans("corrected"))


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
            if kind in found or any(_past(sentence) if c == "ago" else sentence.has(c) for c in ruled_out):
                continue
            if any(check(sentence, hit) for hit in sentence.spans(concept)):
                found.add(kind)
        if not sentence.has("goods") and _swallowed_number(sentence):
            found.add(Emergency.POISONING)
    if found == {Emergency.MEDICAL} and _corrected(sentences):
        found.clear()
    words = [word for sentence in sentences for word in sentence.words]
    if len(words) <= _ONE_STORY:
        story = _lexicon().sentence(words, asks=False)
        found |= _joint(story)
        if Emergency.MEDICAL not in found and _signs(story):
            found.add(Emergency.MEDICAL)
    if not found and sum(len(sentence.words) for sentence in sentences) <= _SHORT_MESSAGE:
        for kind, concept in _BARE:
            for sentence in sentences:
                if any(_current(sentence, hit) for hit in sentence.spans(concept)):
                    found.add(kind)
    if Emergency.POISONING in found:
        found.discard(Emergency.EXTRA_DOSE)  # the stronger redirect says it all
    order = (Emergency.POISONING, Emergency.SELF_HARM, Emergency.MEDICAL, Emergency.EXTRA_DOSE)
    return [kind for kind in order if kind in found]


def detect(text: str) -> Emergency | None:
    """Return the kind of emergency that comes first in the message, or None."""
    return next(iter(detect_all(text)), None)


def hints(text: str) -> bool:
    """Return whether a message touches on what emergencies are made of, though no rule calls it one.

    Rules never know every wording. An answer that did not understand such a message names the number to call.
    """
    return any(sentence.has(*_HINTS) for sentence in _lexicon().read(text))
