"""How sure a refill request must have been read, and how like a name on file what was written must be. Pure.

Code computes both numbers; a number that a model reports is never one of them.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from rapidfuzz.distance import OSA

from pharmacy_site.lib.text import compact, hebrew_stems

SURE: Final = 0.85
"""Above this confidence of what is asked a request goes on."""
DOUBTFUL: Final = 0.70
"""From this confidence on the customer is asked; below it a person takes over (breaker 1)."""
MATCH_SURE: Final = 0.95
"""Above this likeness a name is the one that was written."""
MATCH_LIKELY: Final = 0.75
"""From this likeness on a name is offered; below it a pharmacist looks for what is meant."""
MOST_OFFERED: Final = 3
MOST_TURNS: Final = 3
"""After so many turns that answer nothing, the request is handed to a person (breaker 7)."""
_SHORTEST_STEM: Final = 3
_EXACTNESS: Final = 4  # decimals, so that 0.95 - 0.1 is 0.85


class Verdict(StrEnum):
    """What follows from a confidence or a likeness."""

    GO_ON = "go_on"
    ASK = "ask"
    STOP = "stop"


def reading_verdict(confidence: float) -> Verdict:
    """Return what follows from the confidence in what a customer asks for."""
    return _verdict(confidence, SURE, DOUBTFUL)


def match_verdict(likeness: float) -> Verdict:
    """Return what follows from the likeness of what was written to a name on file."""
    return _verdict(likeness, MATCH_SURE, MATCH_LIKELY)


def likeness(written: str, names: Iterable[str]) -> float:
    """Return how like the nearest of these names what was written is: 1 for the same, less for each letter that differs.

    A Hebrew word is compared without its prefix letters, too. Letters that are missing, surplus, different or swapped with
    their neighbour count as one each, as in the catalogue's search.
    """
    whole = compact(written)
    readings = [whole, *(stem for stem in hebrew_stems(whole) if len(stem) >= _SHORTEST_STEM)]
    known = {compact(name) for name in names} - {""}
    if not whole or not known:
        return 0.0
    return max(OSA.normalized_similarity(reading, name) for reading in readings for name in known)


def _verdict(value: float, sure: float, likely: float) -> Verdict:
    rounded = round(value, _EXACTNESS)
    if rounded > sure:
        return Verdict.GO_ON
    return Verdict.ASK if rounded >= likely else Verdict.STOP
