"""Hold a collection's index on a Qdrant server, which is shared: what one process puts in, all find.

Without an address the client plays the server in this process's memory, for tests.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final

from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from agent.knowledge.features import VERSION
from agent.knowledge.index import (
    FIELDS,
    FUSED_OF,
    RRF_K,
    Hit,
    IndexedEntry,
    IndexLost,
    IndexUnavailable,
    Query,
)

_BATCH: Final = 500
_SECONDS: Final = 3
_NOT_FOUND: Final = 404


class ClientIndex:
    """One collection of a Qdrant server, or of this process when there is no address.

    Each `number` is a collection of its own: the older one answers until the newer one is whole, and two processes that
    build the same number write the same points.
    """

    def __init__(self, role: str = "", *, url: str = "", number: int = 0) -> None:
        self.client = (
            QdrantClient(url=url, timeout=_SECONDS, check_compatibility=False)
            if url
            else QdrantClient(":memory:")
        )
        self._is_server = bool(url)
        self._prefix = f"knowledge_{role}.v{VERSION}."
        self.name = f"{self._prefix}{number}"
        self._number = number

    def build(self, entries: Iterable[IndexedEntry], *, dense_size: int = 0) -> None:
        """Put in all entries, then drop the collections that this one replaces."""
        with _translated():
            self._create(dense_size)
        rest = iter(entries)
        while batch := list(islice(rest, _BATCH)):
            with _translated():
                self.client.upsert(self.name, [_point(entry) for entry in batch], wait=True)
        with _translated():
            for collection in self.client.get_collections().collections:
                number = collection.name.removeprefix(self._prefix)
                if number != collection.name and number.isdigit() and int(number) < self._number:
                    self.client.delete_collection(collection.name)

    def update(self, entries: Sequence[IndexedEntry], removed: Sequence[int]) -> None:
        """Add or replace `entries`, and delete the entries whose keys are in `removed`."""
        with _translated():
            if removed:
                self.client.delete(self.name, models.PointIdsList(points=list(removed)), wait=True)
            for start in range(0, len(entries), _BATCH):
                points = [_point(entry) for entry in entries[start : start + _BATCH]]
                self.client.upsert(self.name, points, wait=True)

    def search(self, queries: Sequence[Query], limit: int) -> list[list[Hit]]:
        """Return the best entries for each query."""
        with _translated():
            found = self.client.query_batch_points(self.name, [_request(query, limit) for query in queries])
        return [[Hit(int(point.id), point.score) for point in answer.points] for answer in found]

    def count(self) -> int:
        """Return how many entries are in it."""
        with _translated():
            return self.client.count(self.name, exact=True).count

    def _create(self, dense_size: int) -> None:
        if not self.client.collection_exists(self.name):
            dense = {"dense": models.VectorParams(size=dense_size, distance=models.Distance.COSINE)}
            self.client.create_collection(
                self.name,
                vectors_config=dense if dense_size else {},
                sparse_vectors_config={"sparse": models.SparseVectorParams(modifier=models.Modifier.IDF)},
            )
        if self._is_server:
            for name in FIELDS:
                self.client.create_payload_index(self.name, name, models.PayloadSchemaType.KEYWORD, wait=True)


@contextmanager
def _translated() -> Iterator[None]:
    """Raise IndexLost when the collection is not there, IndexUnavailable when the server fails to answer."""
    try:
        yield
    except UnexpectedResponse as error:
        if error.status_code == _NOT_FOUND:
            raise IndexLost from None
        raise IndexUnavailable(f"status {error.status_code}") from None
    except ResponseHandlingException as error:
        raise IndexUnavailable(type(error.source).__name__) from None
    except ValueError as error:
        # What the client's in-memory collections raise.
        if "not found" in str(error):
            raise IndexLost from None
        raise


def _point(entry: IndexedEntry) -> models.PointStruct:
    vector: dict[str, Any] = {
        "sparse": models.SparseVector(indices=entry.sparse.indices, values=entry.sparse.values)
    }
    if entry.dense is not None:
        vector["dense"] = list(entry.dense)
    return models.PointStruct(
        id=entry.key, vector=vector, payload={name: getattr(entry, name) for name in FIELDS}
    )


def conditions_of(query: Query) -> models.Filter | None:
    """Return what an entry must have, as Qdrant writes it."""
    conditions: list[Any] = [
        models.FieldCondition(key=name, match=models.MatchValue(value=value))
        for name, value in query.conditions.items()
    ]
    return models.Filter(must=conditions) if conditions else None


def _request(query: Query, limit: int) -> models.QueryRequest:
    where = conditions_of(query)
    sparse = models.SparseVector(indices=query.sparse.indices, values=query.sparse.values)
    if query.dense is None:
        return models.QueryRequest(query=sparse, using="sparse", filter=where, limit=limit)
    each = limit * FUSED_OF
    return models.QueryRequest(
        prefetch=[
            models.Prefetch(query=sparse, using="sparse", filter=where, limit=each),
            models.Prefetch(query=list(query.dense), using="dense", filter=where, limit=each),
        ],
        query=models.RrfQuery(rrf=models.Rrf(k=RRF_K)),
        limit=limit,
    )
