"""The interface of an index of entries: what is put in, what is asked, and which engine holds it.

An index is derived from the database and can be lost at any time. It returns keys and scores only: what a customer
reads is always a row.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from agent.knowledge.features import SparseVector

FIELDS: Final = ("language", "demuc", "chu_de_con")
"""The fields of an entry that a query can filter on."""
FUSED_OF: Final = 4
"""How many candidates each kind of vector contributes to the fusion, as a multiple of the entries wanted."""
RRF_K: Final = 60
"""The k of reciprocal rank fusion, where a candidate scores 1 / (k + rank)."""


@dataclass(frozen=True, slots=True)
class IndexedEntry:
    """What an index stores of a published entry; `dense` is its embedding, if there is one."""

    key: int
    language: str
    demuc: str
    chu_de_con: str
    sparse: SparseVector
    dense: Sequence[float] | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """A question as vectors, and what an entry must have; an empty text means anything."""

    sparse: SparseVector
    dense: Sequence[float] | None = None
    language: str = ""
    demuc: str = ""
    chu_de_con: str = ""

    @property
    def conditions(self) -> dict[str, str]:
        """The fields that an entry must match exactly."""
        wanted = {"language": self.language, "demuc": self.demuc, "chu_de_con": self.chu_de_con}
        return {name: value for name, value in wanted.items() if value}


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry's key and how well it matches; scores compare only within one answer."""

    key: int
    score: float


class IndexLost(Exception):
    """The index is not there, or not whole, and has to be built again from the rows."""


class IndexUnavailable(Exception):
    """The index cannot be reached or built now: nothing is found, and that is no answer."""


class CollectionIndex(Protocol):
    """The index of one role's collection, built once. Every other method may raise IndexLost, all IndexUnavailable."""

    def build(self, entries: Iterable[IndexedEntry], *, dense_size: int = 0) -> None:
        """Put in all entries; `dense_size` is the length of their embeddings, 0 for none."""

    def update(self, entries: Sequence[IndexedEntry], removed: Sequence[int]) -> None:
        """Put these entries in, in place of older ones with the same keys, and take the removed keys out."""

    def search(self, queries: Sequence[Query], limit: int) -> list[list[Hit]]:
        """Return the best entries for each query, the best first."""

    def count(self) -> int:
        """Return how many entries are in it."""
