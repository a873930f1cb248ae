"""Decide whether a message is an emergency, and of which kind. Pure.

Rules name what happened; a classifier, which learned from `fixtures/understanding/urgency.jsonl`, scores how urgent the whole
message is. A sure rule is an alarm. Any other rule needs a score of `AGREES`, and without a rule the score must reach `ALONE`, or
that of one of its sentences `SENTENCE`, since a long story hides one. The thresholds were chosen on sentences by authors left out of the training (`manage.py train_understanding --report`), `AGREES` and
`_CALLS` also on messages that had been measured before (docs/emergencies-missed.md).
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from agent.safety.emergency.rules import Emergency, Rule, matched
from agent.understanding import URGENT
from agent.understanding.classifier import Classifier

_LABELS: Final[Mapping[str, Emergency]] = {
    "medical": Emergency.MEDICAL,
    "poisoning": Emergency.POISONING,
    "crisis": Emergency.SELF_HARM,
    "extra_dose": Emergency.EXTRA_DOSE,
    "adverse": Emergency.ADVERSE,
}
AGREES: Final = 0.2
"""From this score on a rule that is not sure is an alarm."""
ALONE: Final = 0.28
"""From this score on a message is an alarm without a rule."""
SENTENCE: Final = 0.8
"""From this score of a sentence on a message is an alarm, if it scores `_NOT_SURELY_HARMLESS` as a whole."""
_NOT_SURELY_HARMLESS: Final = -0.4
"""Below this score a message is clearly no emergency; nine of ten ordinary messages are."""
_SHORTEST_SENTENCE: Final = 4  # words
_SENTENCE_END: Final = re.compile(r"(?<=[.!?…\n])\s+")
_WORRYING: Final = 0.0
"""From this score on a message may be an emergency."""
_CALLS: Final = -0.5
_CALLS_NEAR: Final = 0.8
"""From the score `_CALLS` for a kind that needs a call on, and so little below the best kind, it needs a call as well."""
_LETTERS: Final = re.compile(r"[a-z\u05d0-\u05ea]", re.IGNORECASE)
# In a crisis the least word of a deed needs an ambulance; elsewhere such words mean nothing.
_TAKEN: Final = re.compile(
    r"(?<!not )(?<!n't )(?<!n’t )(?<!never )(?<!if i )\b(?:took|taken|swallowed|drank|downed|overdosed)\b"
    r"|(?<![א-ת])(?<!לא )(?<!אם )(?:לקחתי|לקחה|לקח|בלעתי|בלעה|בלע|שתיתי|שתתה)(?![א-ת])",
    re.IGNORECASE,
)
_HURT: Final = re.compile(
    r"\b(?:bleeding|unconscious|passed out|won['’]?t wake|not waking|i cut my|she cut her|he cut his|too deep|deeper than)\b"
    r"|(?<![א-ת])(?<!לא )(?:חתכתי|חתכה|חותכת|חותך|מדמם|מדממת)(?![א-ת])|לא (?:מתעורר|מגיב)|(?:איבדה|איבד) (?:את ה)?הכרה|לא מפסיק לדמם",
    re.IGNORECASE,
)
CLASSIFIER: Final = "classifier"
"""The `Alarm.rule` of an alarm that the classifier raised without a rule."""
CALL_NOW: Final = frozenset({Emergency.POISONING, Emergency.SELF_HARM, Emergency.MEDICAL})
"""Kinds that need a call; the others need a pharmacist or a doctor first."""
_ORDER: Final = tuple(Emergency)
# Kinds whose answer says what another kind's answer would say as well.
_COVERED: Final[Mapping[Emergency, frozenset[Emergency]]] = {
    Emergency.POISONING: frozenset({Emergency.EXTRA_DOSE, Emergency.ADVERSE}),
    Emergency.SELF_HARM: frozenset({Emergency.EXTRA_DOSE, Emergency.ADVERSE}),
    Emergency.MEDICAL: frozenset({Emergency.EXTRA_DOSE, Emergency.ADVERSE}),
    Emergency.EXTRA_DOSE: frozenset({Emergency.ADVERSE}),
}


class Alarm(NamedTuple):
    """Emergency that a message describes, with the name of the rule that recognised it."""

    kind: Emergency
    rule: str
    language: str = ""
    """The language in which to give the number as well, besides English and Hebrew."""


@lru_cache(maxsize=1)
def _classifiers() -> tuple[Classifier, Classifier]:
    urgency, kinds = Classifier.load("urgency"), Classifier.load("urgency_kind")
    if {*kinds.header.labels} != {*_LABELS}:
        raise ValueError(f"urgency_kind.tsv has the labels {kinds.header.labels}")
    return urgency, kinds


def _score(text: str) -> float:
    """Return the score for urgency; that of a harmless text where it has no word in Latin or Hebrew letters."""
    return _classifiers()[0].scores(text)[URGENT] if _LETTERS.search(text) else -1.0


def is_alarm(text: str, urgency: Classifier) -> bool:
    """Return whether a message is an emergency by this classifier and the rules."""
    score = urgency.scores(text)[URGENT]
    return bool(urgent_part(text, score, urgency) or _rules_counting(text, score))


def urgent_part(text: str, score: float, urgency: Classifier) -> str:
    """Return what the classifier takes for an emergency: the message, one of its sentences, or nothing."""
    if score >= ALONE:
        return text
    sentences = _SENTENCE_END.split(text) if score >= _NOT_SURELY_HARMLESS else []
    scores = {one: urgency.scores(one)[URGENT] for one in sentences if len(one.split()) >= _SHORTEST_SENTENCE}
    worst = max(scores, key=lambda one: scores[one], default="")
    return worst if worst and scores[worst] >= SENTENCE else ""


def _rules_counting(text: str, score: float) -> Sequence[Rule]:
    """Return the rules that a message matches and that are alarms at this score."""
    return matched(text, with_evidence=score >= AGREES)


def alarms(text: str) -> list[Alarm]:
    """Return the alarms that a message raises, in the order in which help is needed."""
    score = _score(text)
    found = [Alarm(rule.kind, rule.name, rule.language) for rule in _rules_counting(text, score)]
    urgent = urgent_part(text, score, _classifiers()[0])
    kinds = _kinds(urgent) if urgent else []
    known = {alarm.kind for alarm in found}
    if known & CALL_NOW:  # pills were taken, which is a crisis as well
        kinds = [kind for kind in kinds[:1] if kind == Emergency.SELF_HARM and kind not in known]
    found += [Alarm(kind, CLASSIFIER) for kind in kinds if not found or kind in CALL_NOW]
    if {alarm.kind for alarm in found} & CALL_NOW == {Emergency.SELF_HARM}:
        found += deeds(text)
    return sorted(found, key=lambda alarm: _ORDER.index(alarm.kind))


def deeds(text: str) -> list[Alarm]:
    """Return what a message of a crisis says was done or is the matter, however harmless it sounds by itself."""
    found = [Alarm(rule.kind, rule.name, rule.language) for rule in matched(text)]
    told = {Emergency.POISONING: _TAKEN, Emergency.MEDICAL: _HURT}
    return [
        *found,
        *(Alarm(kind, "A deed in a crisis") for kind, words in told.items() if words.search(text)),
    ]


def _kinds(text: str) -> list[Emergency]:
    """Return the kind that the classifier scores highest, and one that needs a call if it may be that."""
    scores = {_LABELS[label]: score for label, score in _classifiers()[1].scores(text).items()}
    best = max(scores, key=lambda kind: scores[kind])
    call = max(CALL_NOW, key=lambda kind: scores[kind])
    is_near = scores[call] >= _CALLS and scores[best] - scores[call] <= _CALLS_NEAR
    return [best, call] if call != best and is_near else [best]


def kinds_of(found: Sequence[Alarm]) -> list[Emergency]:
    """Return the kinds of these alarms that need an answer of their own, in the order of help."""
    kinds = list(dict.fromkeys(alarm.kind for alarm in found))
    covered = {other for kind in kinds for other in _COVERED.get(kind, ())}
    return [kind for kind in kinds if kind not in covered]


def detect_all(text: str) -> list[Emergency]:
    """Return every kind of emergency in a message that needs an answer of its own, in the order of help."""
    return kinds_of(alarms(text))


def detect(text: str) -> Emergency | None:
    """Return the kind of emergency that comes first in the message, or None."""
    return next(iter(detect_all(text)), None)


def sounds_urgent(text: str) -> bool:
    """Return whether a message may be an emergency, although it is not taken for one.

    An answer to such a message that was not understood names the number to call.
    """
    return _score(text) >= _WORRYING


def is_surely_harmless(text: str) -> bool:
    """Return whether a message is clearly no emergency: only such a one counts as calm while an emergency is open."""
    return _score(text) < _NOT_SURELY_HARMLESS
