"""What the knowledge flow returns: stored texts with their sources, in the order in which they are shown. Pure."""

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """How a question ended."""

    ANSWERED = "answered"
    """Stored answers were chosen for the question."""
    DIRECT = "direct"
    """Small talk: a sentence of ours, nothing was looked up."""
    STORED = "stored"
    """FallbackNode: the best stored answers as they are, because the model was overloaded."""
    NOTHING = "nothing"
    """Nothing in the collection covers the question."""
    UNAVAILABLE = "unavailable"
    """The index could not be searched."""


@dataclass(frozen=True)
class Quote:
    """A stored answer, or whole sentences of it, word for word; `version` is the number of the published version."""

    entry_id: str
    version: int
    question: str
    text: str
    source: str


@dataclass(frozen=True)
class KnowledgeAnswer:
    """The flow's result (S4): `quotes` in the order chosen, at most three `suggestions` (questions of the same collection).

    `direct` names a ready sentence for small talk (a name of `agent/answers/connecting_sentences.py`). `topic` and `subtopic` are S4's
    DEMUC and CHU_DE_CON; `path` the nodes passed, in order; `fallback` why FallbackNode was reached, empty if it was not.
    """

    status: Status
    quotes: tuple[Quote, ...] = ()
    is_sure: bool = True
    """Whether what is quoted is surely what was asked for; else it only comes closest."""
    suggestions: tuple[str, ...] = ()
    direct: str = ""
    topic: str = ""
    subtopic: str = ""
    path: tuple[str, ...] = ()
    fallback: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
