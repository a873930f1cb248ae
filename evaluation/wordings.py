"""Measure how surely questions are found by their wordings: `manage.py evaluate wordings`.

In each round one wording of every entry is left out and asked. It is also asked with its entry left out: then the right answer is none.
"""

import random
from collections.abc import Iterator
from typing import Any, Final

from agent.knowledge.coverage import ANSWERS
from agent.knowledge.wordings import Wordings, confidence
from agent.models import KnowledgeEntry

SEED: Final = 20261125
ROUNDS: Final = 5
_NEAR: Final = 3


def wordings_measure(rounds: int = ROUNDS) -> dict[str, dict[str, Any]]:
    """Return for each role and language with other wordings: recall of the first and of the first three, and what is answered."""
    rows = KnowledgeEntry.objects.filter(live__isnull=False).exclude(live__asked_as="").select_related("live")
    entries: dict[str, dict[int, tuple[list[str], str]]] = {}
    for row in rows.order_by("role", "language", "entry_id"):
        assert row.live is not None
        texts = row.live.asked_as.splitlines(), f"{row.live.question}\n{row.live.answer}"
        entries.setdefault(f"{row.role} {row.language}", {})[row.pk] = texts
    return {name: _measured(found, rounds) for name, found in entries.items()}


def lines(measured: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Yield the figures of each collection."""
    for name, found in measured.items():
        yield f"{name}: {found['entries']} entries, {found['asked']} wordings asked"
        yield f"  own entry first {found['first']:.3f}, among the first three {found['near']:.3f}"
        yield (
            f"  answered {found['answered']:.3f}, rightly {found['rightly']:.3f} of these;"
            f" answered without their entry {found['without']:.3f}"
        )


def _measured(entries: dict[int, tuple[list[str], str]], rounds: int) -> dict[str, Any]:
    chance = random.Random(SEED)
    first, near, sure, right, wrongly = [], [], [], [], []
    for _ in range(rounds):
        left_out = {key: chance.randrange(len(wordings)) for key, (wordings, _) in entries.items()}
        index = Wordings(
            {
                key: [text, *(one for place, one in enumerate(wordings) if place != left_out[key])]
                for key, (wordings, text) in entries.items()
            }
        )
        for key, (wordings, _text) in entries.items():
            similar = index.similarities(wordings[left_out[key]])
            ranked = sorted(similar, key=similar.__getitem__, reverse=True)
            first.append(ranked[0] == key)
            near.append(key in ranked[:_NEAR])
            sure.append(confidence(similar[ranked[0]], similar[ranked[1]]) >= ANSWERS)
            if sure[-1]:
                right.append(first[-1])
            others = [similar[one] for one in ranked if one != key]
            wrongly.append(confidence(others[0], others[1]) >= ANSWERS)
    return {
        "entries": len(entries),
        "asked": len(first),
        "first": _share(first),
        "near": _share(near),
        "answered": _share(sure),
        "rightly": _share(right),
        "without": _share(wrongly),
    }


def _share(found: list[bool]) -> float:
    return round(sum(found) / len(found), 3) if found else 0.0
