"""Hold a collection's index in this process with Qdrant Edge, the engine of the Qdrant server as a library."""

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import qdrant_edge as edge

from agent.knowledge.index import FIELDS, FUSED_OF, RRF_K, Hit, IndexedEntry, IndexLost, Query

_BATCH: Final = 1_000


class EdgeIndex:
    """One collection in a temporary folder of this process, which goes with it."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="knowledge-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._shard: Any = None

    def build(self, entries: Iterable[IndexedEntry], *, dense_size: int = 0) -> None:
        """Put in all entries."""
        shard = edge.EdgeShard.create(str(self._folder), _config(dense_size))
        for name in FIELDS:
            shard.update(edge.UpdateOperation.create_field_index(name, edge.PayloadSchemaType.Keyword))
        rest = iter(entries)
        count = 0
        while batch := list(islice(rest, _BATCH)):
            shard.update(edge.UpdateOperation.upsert_points([_point(entry) for entry in batch]))
            count += len(batch)
        # In a small collection a search is as quick without, and building takes a third of the time.
        if count >= _BATCH:
            shard.optimize()
        self._shard = shard

    def update(self, entries: Sequence[IndexedEntry], removed: Sequence[int]) -> None:
        """Add or replace `entries`, and delete the entries whose keys are in `removed`."""
        shard = self._whole()
        if removed:
            shard.update(edge.UpdateOperation.delete_points(list(removed)))
        if entries:
            shard.update(edge.UpdateOperation.upsert_points([_point(entry) for entry in entries]))
        if len(entries) >= _BATCH:
            shard.optimize()

    def search(self, queries: Sequence[Query], limit: int) -> list[list[Hit]]:
        """Return the best entries for each query."""
        shard = self._whole()
        return [
            [Hit(int(found.id), found.score) for found in shard.query(_request(query, limit))]
            for query in queries
        ]

    def count(self) -> int:
        """Return how many entries are in it."""
        return int(self._whole().count(edge.CountRequest(exact=True)))

    def _whole(self) -> Any:
        if self._shard is None or not self._folder.exists():
            raise IndexLost
        return self._shard


def _config(dense_size: int) -> Any:
    dense = {"dense": edge.EdgeVectorParams(size=dense_size, distance=edge.Distance.Cosine)}
    return edge.EdgeConfig(
        vectors=dense if dense_size else None,
        # Every query goes through the inverted index: below the library's threshold it would read all entries instead.
        sparse_vectors={
            "sparse": edge.EdgeSparseVectorParams(full_scan_threshold=1, modifier=edge.Modifier.Idf)
        },
        optimizers=edge.EdgeOptimizersConfig(indexing_threshold=1),
        # The rows are the record: a log of what was written to the index would only be a second one.
        wal_enabled=False,
    )


def _point(entry: IndexedEntry) -> Any:
    vector: dict[str, Any] = {"sparse": edge.SparseVector(entry.sparse.indices, entry.sparse.values)}
    if entry.dense is not None:
        vector["dense"] = list(entry.dense)
    return edge.Point(entry.key, vector, {name: getattr(entry, name) for name in FIELDS})


def _request(query: Query, limit: int) -> Any:
    conditions: list[Any] = [
        edge.FieldCondition(key=name, match=edge.MatchValue(value))
        for name, value in query.conditions.items()
    ]
    where = edge.Filter(must=conditions) if conditions else None
    sparse = edge.Query.Nearest(edge.SparseVector(query.sparse.indices, query.sparse.values), using="sparse")
    if query.dense is None:
        return edge.QueryRequest(limit=limit, query=sparse, filter=where)
    dense = edge.Query.Nearest(list(query.dense), using="dense")
    fusion: Any = edge.Fusion.Rrf(k=RRF_K)
    return edge.QueryRequest(
        limit=limit,
        query=fusion,
        prefetches=[
            edge.Prefetch(limit=limit * FUSED_OF, query=kind, filter=where) for kind in (sparse, dense)
        ],
    )
