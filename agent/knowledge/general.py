"""Say whether a text is a general question about health, as against one about a product or about what is right for one person."""

from functools import cache
from typing import Final

from agent.knowledge.coverage import coverage_find
from agent.safety.policy import InputVerdict, check_input, wants_decision
from agent.understanding import HEALTH, PRODUCT
from agent.understanding.classifier import Classifier

_ABOUT_HEALTH: Final = 0.2
"""From this margin on a text is about health in general, whatever the collection holds."""
_CLEARLY: Final = 1.0
"""From this margin on it clearly is: then an entry need not be surely what is asked for."""
_ALMOST_ITS_WORDS: Final = 0.9
"""From this confidence on a text has nearly the words of one of an entry's wordings: then it need only be likelier about health."""
_SENTENCE: Final = 5  # words
_WORDED_ALIKE: Final = frozenset({InputVerdict.ADVICE, InputVerdict.DIAGNOSIS, InputVerdict.COMPARISON})
"""What the word rules may take a general question for: "is acne contagious?", "is honey any good for a cough?"."""


@cache
def _subjects() -> Classifier:
    return Classifier.load("subject")


def health_margin(text: str) -> float:
    """Return how much likelier a text is about health in general than about anything else; above 0 it is."""
    scores = _subjects().scores(text)
    return scores[HEALTH] - max(score for label, score in scores.items() if label != HEALTH)


def is_about_health(text: str) -> bool:
    """Return whether a text is about health in general, whatever the collection holds; nonsense is about nothing."""
    return health_margin(text) >= _ABOUT_HEALTH and _subjects().scores(text)[HEALTH] > 0


def names_no_product(text: str) -> bool:
    """Return whether a text is a sentence that is likelier about anything else than about a product; a short one may be a name."""
    scores = _subjects().scores(text)
    return len(text.split()) >= _SENTENCE and max(scores.values()) > scores[PRODUCT]


def is_answered_in_general(text: str, role: str, *, language: str) -> bool:
    """Return whether a text that word rules refuse as a request for advice is answered by a published entry all the same.

    It is one of the collection's questions word for word, or it is about health in general, asks nobody to decide, and an entry is
    surely about it, or covers it where it is clearly about health. What is quoted was reviewed and is the same for everybody. A lost index covers nothing: then it stays refused.
    """
    margin = health_margin(text)
    found = coverage_find(text, role, language=language, is_close=margin < _CLEARLY)
    if found is None or found.is_asked:
        return found is not None
    least = 0 if found.confidence >= _ALMOST_ITS_WORDS else _ABOUT_HEALTH
    return check_input(text) in _WORDED_ALIKE and not wants_decision(text) and margin >= least
