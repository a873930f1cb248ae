"""Hold a collection's index in memory with qdrant-client, where Qdrant Edge cannot be installed.

The client compares sparse vectors in Python, number by number, and dense ones with numpy. So each sparse vector is also folded
into a dense one of fixed length (feature hashing), by which the client finds candidates; their exact weights put these in order.
"""

import math
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import numpy as np
from qdrant_client import QdrantClient, models
from qdrant_client.hybrid.fusion import reciprocal_rank_fusion

from agent.knowledge.engines.client import conditions_of
from agent.knowledge.features import SparseVector
from agent.knowledge.index import FIELDS, FUSED_OF, RRF_K, Hit, IndexedEntry, IndexLost, Query

_NAME: Final = "entries"
_BATCH: Final = 500
_LENGTH: Final = 4_096
_CANDIDATES: Final = 400


class MemoryIndex:
    """One collection in this process; it goes with it."""

    def __init__(self) -> None:
        self._client = QdrantClient(":memory:")
        # The client's in-memory collections are not made for threads.
        self._lock = threading.Lock()
        self._weights: dict[int, dict[int, float]] = {}
        """The feature weights of each entry, by the key of the entry."""
        self._entries_with: Counter[int] = Counter()
        """How many entries contain each feature."""

    def build(self, entries: Iterable[IndexedEntry], *, dense_size: int = 0) -> None:
        """Put in all entries."""
        sizes = {"folded": _LENGTH, "dense": dense_size}
        kinds = {"folded": models.Distance.DOT, "dense": models.Distance.COSINE}
        self._client.create_collection(
            _NAME,
            {
                name: models.VectorParams(size=size, distance=kinds[name])
                for name, size in sizes.items()
                if size
            },
        )
        rest = iter(entries)
        while batch := list(islice(rest, _BATCH)):
            self.update(batch, [])

    def update(self, entries: Sequence[IndexedEntry], removed: Sequence[int]) -> None:
        """Add or replace `entries`, and delete the entries whose keys are in `removed`."""
        with self._lock:
            self._check_is_built()
            self._put(entries, removed)

    def search(self, queries: Sequence[Query], limit: int) -> list[list[Hit]]:
        """Return the best entries for each query."""
        with self._lock:
            self._check_is_built()
            return [self._found(query, limit) for query in queries]

    def count(self) -> int:
        """Return how many entries are in it."""
        with self._lock:
            self._check_is_built()
            return len(self._weights)

    def _check_is_built(self) -> None:
        if not self._client.collection_exists(_NAME):
            raise IndexLost

    def _put(self, entries: Sequence[IndexedEntry], removed: Sequence[int]) -> None:
        for key in (*removed, *(entry.key for entry in entries)):
            self._entries_with.subtract(self._weights.pop(key, {}).keys())
        if removed:
            self._client.delete(_NAME, models.PointIdsList(points=list(removed)))
        for entry in entries:
            self._weights[entry.key] = dict(zip(entry.sparse.indices, entry.sparse.values, strict=True))
            self._entries_with.update(entry.sparse.indices)
        for start in range(0, len(entries), _BATCH):
            self._client.upsert(
                _NAME, [_point(entry, self._weights[entry.key]) for entry in entries[start : start + _BATCH]]
            )

    def _found(self, query: Query, limit: int) -> list[Hit]:
        wanted = self._weighed(query.sparse)
        each = limit if query.dense is None else limit * FUSED_OF
        candidates = self._nearest("folded", _folded(wanted), query, max(each, _CANDIDATES))
        for point in candidates:
            point.score = _product(wanted, self._weights.get(int(point.id), {}))
        by_words = sorted((point for point in candidates if point.score > 0), key=lambda point: -point.score)
        if query.dense is None:
            best = by_words[:limit]
        else:
            by_meaning = self._nearest("dense", list(query.dense), query, each)
            best = reciprocal_rank_fusion([by_words[:each], by_meaning], limit, ranking_constant_k=RRF_K)
        return [Hit(int(point.id), point.score) for point in best]

    def _nearest(self, name: str, vector: list[float], query: Query, limit: int) -> list[models.ScoredPoint]:
        found = self._client.query_points(
            _NAME, vector, using=name, query_filter=conditions_of(query), limit=limit, with_payload=False
        )
        return found.points

    def _weighed(self, sparse: SparseVector) -> dict[int, float]:
        """Return the weights of the features that some entry has, times their inverse document frequency, as Qdrant does."""
        total = len(self._weights)
        weights = {}
        for feature, weight in zip(sparse.indices, sparse.values, strict=True):
            if found := self._entries_with[feature]:
                weights[feature] = weight * math.log((total - found + 0.5) / (found + 0.5) + 1)
        return weights


def _product(wanted: Mapping[int, float], weights: Mapping[int, float]) -> float:
    return sum(weight * weights[feature] for feature, weight in wanted.items() if feature in weights)


def _folded(weights: Mapping[int, float]) -> list[float]:
    """Return the weights as a vector of `_LENGTH`; features that share a place add up or, as often, cancel out."""
    folded = np.zeros(_LENGTH, dtype=np.float32)
    features = np.fromiter(weights.keys(), dtype=np.int64, count=len(weights))
    values = np.fromiter(weights.values(), dtype=np.float32, count=len(weights))
    signs = np.where(features >> 16 & 1, 1.0, -1.0)
    np.add.at(folded, features % _LENGTH, values * signs)
    return list(folded.tolist())


def _point(entry: IndexedEntry, weights: Mapping[int, float]) -> models.PointStruct:
    vector: dict[str, Any] = {"folded": _folded(weights)}
    if entry.dense is not None:
        vector["dense"] = list(entry.dense)
    return models.PointStruct(
        id=entry.key, vector=vector, payload={name: getattr(entry, name) for name in FIELDS}
    )
