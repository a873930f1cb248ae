"""Tell connecting words of an answer ("From the leaflet:") from statements, advice and promises. Pure.

The classifier "glue" learned from `fixtures/understanding/glue.jsonl`. See docs/facts.md.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from agent.understanding.classifier import FOLDER, Classifier
from pharmacy_site.lib.text import hebrew_stems, words

CONNECT: Final = "connect"
"""The label of words that state nothing."""
LABELS: Final = (CONNECT, "claim", "advice", "promise")
WORDS: Final = FOLDER / "glue_words.txt"
END: Final = "(end)"
"""The last line of `WORDS`, so that a file that was cut off is noticed."""
THRESHOLD: Final = 0.2
"""The least score of "connect" at which a sentence may be shown; see `train_understanding --report`."""
THRESHOLD_OF_CLAUSE: Final = -0.5
_LONG_CLAUSE: Final = 3  # words
_CLAUSE_END: Final = re.compile(
    r"\s*[,;:–—]\s+|\s-\s|\s+(?:so|and|but|because|since|which)\s+|\s+(?=ו?(?:אז|אבל|כי|והנה|ולכן|שהוא|שהיא)\s)"
)
_ENDS: Final = {":": "endcolon", "?": "endquestion", "!": "endexclamation", ".": "endstop"}


def described(sentence: str) -> str:
    """Return a sentence with its last mark as a word, since features ignore marks and a question claims less."""
    bare = sentence.strip()
    return f"{bare} {_ENDS.get(bare[-1:], 'endopen')}"


def label_of(sentence: str, classifier: Classifier | None = None) -> str:
    """Return what a sentence does: "connect", "claim", "advice" or "promise"; not "connect" in case of doubt.

    A long clause is read by itself too, since a statement hides beside a question ("It is gentle, shall I check?").
    """
    weights = classifier or _classifier()
    label, margin = _best(weights.scores(described(sentence)))
    if margin < THRESHOLD:
        return label
    clauses = [clause for clause in _CLAUSE_END.split(sentence) if len(clause.split()) >= _LONG_CLAUSE]
    for clause in clauses if len(clauses) > 1 else ():
        label, margin = _best(weights.scores(described(clause)))
        if margin < THRESHOLD_OF_CLAUSE:
            return label
    return CONNECT


def margin_of(sentence: str) -> float:
    """Return how far above the other labels "connect" is for the whole sentence; below 0 it is another one."""
    return _best(_classifier().scores(described(sentence)))[1]


def unusual_words(sentence: str) -> list[str]:
    """Return the words of a sentence that connecting sentences seldom have: they may state something."""
    usual = _usual_words()
    return [word for word in words(sentence) if usual.isdisjoint((word, *hebrew_stems(word)))]


def _best(scores: Mapping[str, float]) -> tuple[str, float]:
    """Return the best label beside "connect", and how far "connect" is above it."""
    others = {label: score for label, score in scores.items() if label != CONNECT}
    worst = max(others, key=lambda label: others[label])
    return worst, min(scores[CONNECT], scores[CONNECT] - others[worst])


def warm_up() -> None:
    """Load the weights and words. Raises ValueError for a damaged file."""
    _classifier()
    _usual_words()


@cache
def _classifier() -> Classifier:
    return Classifier.load("glue")


@cache
def _usual_words() -> frozenset[str]:
    """Return the words of connecting sentences of at least two authors; written by `train_understanding`."""
    found = frozenset(WORDS.read_text(encoding="utf-8").split())
    if END not in found:
        raise ValueError(f"{WORDS.name} was cut off")
    return found
