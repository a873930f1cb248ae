"""The topics (DEMUC) and subtopics (CHU_DE_CON) of a role's collection, and which one a question is about."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypedDict

from agent.knowledge.retrieval import Candidate, retrieve_from_qdrant
from agent.models import KnowledgeEntry

_HIGH: Final = 0.75
_MEDIUM: Final = 0.5
_VOTERS: Final = 10


class Topic(TypedDict):
    """What a question seems to be about; empty when nothing was found."""

    demuc: str
    chu_de_con: str
    confidence: Literal["high", "medium", "low"]


def get_demuc_list_for_role(role: str) -> list[str]:
    """Return the topics that have published entries for a role, in the order of the alphabet."""
    return _labels("live__demuc", role=role)


def get_chu_de_con_for_demuc(role: str, demuc: str) -> list[str]:
    """Return the subtopics of a topic."""
    return [label for label in _labels("live__chu_de_con", role=role, live__demuc=demuc) if label]


def format_demuc_list_for_prompt(demuc_list: Sequence[str]) -> str:
    """Return topics or subtopics as a numbered list."""
    return "\n".join(f"{place}. {label}" for place, label in enumerate(demuc_list, start=1))


def topic_by_retrieval(query: str, role: str, *, language: str) -> Topic:
    """Return the topic of the entries that match best, without a model; each counts by its score."""
    return topic_of(retrieve_from_qdrant(query, "", "", role, _VOTERS, language=language))


def topic_of(candidates: Sequence[Candidate]) -> Topic:
    """Return the topic that most of the candidates speak for, and its subtopic."""
    best = candidates[:_VOTERS]
    demuc, share = label_of([(candidate["DEMUC"], candidate["score"]) for candidate in best])
    inner = [
        (candidate["CHU_DE_CON"], candidate["score"]) for candidate in best if candidate["DEMUC"] == demuc
    ]
    return {
        "demuc": demuc,
        "chu_de_con": label_of(inner)[0],
        "confidence": "high" if share >= _HIGH else "medium" if share >= _MEDIUM else "low",
    }


def label_of(votes: Iterable[tuple[str, float]]) -> tuple[str, float]:
    """Return the label with most votes, each counting by its score squared, and its share; ("", 0) without any."""
    totals: dict[str, float] = defaultdict(float)
    for label, score in votes:
        totals[label] += score**2
    whole = sum(totals.values())
    if not whole:
        return "", 0.0
    first = max(totals, key=lambda label: totals[label])
    return first, totals[first] / whole


def _labels(column: str, **where: str) -> list[str]:
    rows = KnowledgeEntry.objects.filter(live__isnull=False, **where)
    return list(rows.order_by(column).values_list(column, flat=True).distinct())
