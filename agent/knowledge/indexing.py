"""Keep this process's index of each collection as new as the rows.

Every search first reads one row, the collection's state. An index that is behind takes in what was published since; one
that is lost, not whole, or older than the last rebuild asked for is built again. While one thread does that, others go on
with the older index: whatever it returns is looked up in the rows, so at worst something new is not found for a moment.
"""

import logging
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError
from django.db.models import F, QuerySet

from agent.knowledge.embeddings import embedding_model, embedding_read
from agent.knowledge.features import entry_vector
from agent.knowledge.index import CollectionIndex, Hit, IndexedEntry, IndexLost, IndexUnavailable, Query
from agent.knowledge.relevance import Vocabulary
from agent.knowledge.roles import CUSTOMER
from agent.knowledge.wordings import Wordings
from agent.models import KnowledgeCollection, KnowledgeEntry
from pharmacy_site.lib.breaker import Breaker
from pharmacy_site.lib.importing import Progress, quiet

log = logging.getLogger(__name__)
_CHUNK: Final = 1_000
_ROUNDS: Final = 3
_IN_MEMORY: Final = ":memory:"


class _State(NamedTuple):
    """How new something is: how much was published, and which rebuild it comes from."""

    generation: int
    rebuild: int
    token: UUID

    def is_before(self, other: "_State") -> bool:
        """Return whether what was published since is all that the other one has more."""
        return self.rebuild == other.rebuild and self.generation < other.generation


@dataclass
class _Held:
    """What this process knows of one collection's index."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    index: CollectionIndex | None = None
    state: _State | None = None
    dense_size: int = 0
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    wordings: dict[str, Wordings] = field(default_factory=dict)
    """For each language, the entries that have other wordings."""


_held: dict[str, _Held] = {}


def collection_search(role: str, queries: Sequence[Query], limit: int) -> list[list[Hit]]:
    """Return the best published entries of one role's collection for each query; nothing for an unknown role.

    Raises IndexUnavailable.
    """
    state = _state(role)
    if state is None:
        return [[] for _ in queries]
    server = _server_url()
    if server and not _breaker(server).admits():
        raise IndexUnavailable("breaker_open")
    held = _held.setdefault(role, _Held())
    try:
        found = _search(role, held, state, queries, limit)
    except IndexUnavailable as error:
        log.warning("the index of %s is unavailable: %s", role, error)
        _breaker(server).failed()
        raise
    _breaker(server).succeeded()
    return found


def _search(role: str, held: _Held, state: "_State", queries: Sequence[Query], limit: int) -> list[list[Hit]]:
    for _ in range(_ROUNDS):
        index = _current(role, held, state)
        try:
            return index.search(_without_dense(queries, held.dense_size), limit)
        except IndexLost:
            log.warning("the index of %s is lost and built again", role)
            held.state = None
    raise IndexUnavailable("lost")


@lru_cache(maxsize=4)
def _breaker(url: str) -> Breaker:
    return Breaker("Qdrant", failures=3, seconds=10.0)


def collection_dense_size(role: str) -> int:
    """Return the length of the embeddings in this process's index, 0 when it has none or is not built yet."""
    held = _held.get(role)
    return held.dense_size if held else 0


def collection_vocabulary(role: str) -> Vocabulary:
    """Return the words of the collection that was searched last."""
    return _held.setdefault(role, _Held()).vocabulary


def collection_may_have_question(role: str, texts: Iterable[str]) -> bool:
    """Return whether one of these texts may be a published question; True while this process's index is out of date."""
    held = _held.get(role)
    if held is None or held.state is None or held.state != _state(role):
        return True
    return any(held.vocabulary.has_question(text) for text in texts)


def collection_similarities(role: str, text: str, language: str) -> dict[int, float]:
    """Return how similar a text is to each entry that has other wordings, of the collection that was searched last."""
    held = _held.get(role)
    found = held.wordings.get(language) if held else None
    return found.similarities(text) if found else {}


def collection_rebuild(role: str, progress: Progress = quiet) -> int:
    """Build the collection's index anew here, have all processes do so, and return how many entries it has."""
    KnowledgeCollection.objects.filter(role=role).update(rebuild=F("rebuild") + 1)
    state = _state(role)
    if state is None:
        return 0
    held = _held.setdefault(role, _Held())
    with held.lock:
        _build(role, held, state, progress)
        assert held.index is not None
        return held.index.count()


def indexes_warm_up() -> None:
    """Build the index of each collection, the customers' first, so that nobody waits for it.

    A process does so while it starts, perhaps before the tables are there: what fails is left to the first search.
    """
    try:
        roles = list(KnowledgeCollection.objects.values_list("role", flat=True))
        for role in sorted(roles, key=lambda role: role != CUSTOMER):
            if state := _state(role):
                _current(role, _held.setdefault(role, _Held()), state)
    except (DatabaseError, IndexUnavailable) as error:
        log.info("not all indexes were built at the start: %s", type(error).__name__)


def indexes_forget() -> None:
    """Drop all indexes of this process; the next search builds its own again."""
    _held.clear()
    _breaker.cache_clear()


def _state(role: str) -> _State | None:
    found = KnowledgeCollection.objects.filter(role=role)
    row = found.values_list("generation", "rebuild", "token").first()
    return _State(*row) if row else None


def _without_dense(queries: Sequence[Query], dense_size: int) -> Sequence[Query]:
    """Return the queries without embeddings that the index does not have, or has in another length."""
    if all(query.dense is None or len(query.dense) == dense_size for query in queries):
        return queries
    return [Query(query.sparse, None, query.language, query.demuc, query.chu_de_con) for query in queries]


def _current(role: str, held: _Held, state: _State) -> CollectionIndex:
    """Return an index that is as new as `state`, or an older one while another thread brings it up to date."""
    index = held.index
    if index is not None and held.state == state:
        return index
    # Without any index there is nothing to answer from: wait for the thread that builds it.
    must_wait = index is None or held.state is None
    if not held.lock.acquire(blocking=must_wait):
        assert index is not None
        return index
    try:
        if held.state == state:
            pass  # another thread was first
        elif held.index is not None and held.state is not None and held.state.is_before(state):
            _update(role, held, held.state.generation, state)
        elif not _adopt(role, held, state):
            _build(role, held, state, quiet)
        assert held.index is not None
        return held.index
    finally:
        held.lock.release()


def _adopt(role: str, held: _Held, state: _State) -> bool:
    """Use what a Qdrant server has already, if that is whole; return whether it was."""
    if not _server_url() or (held.index is not None and held.state is None):
        return False
    has = KnowledgeCollection.objects.filter(role=role).values_list("indexed_generation", "indexed_rebuild")
    generation, rebuild = has.get()
    if generation is None or rebuild != state.rebuild:
        return False
    index = _open(role, state)
    try:
        index.count()
    except IndexLost:
        return False
    vocabulary = Vocabulary()
    for row in _published(role).iterator(chunk_size=_CHUNK):
        vocabulary.add(row[4], row[5])
    held.index, held.state = index, None
    held.dense_size, held.vocabulary, held.wordings = _dense_size(role), vocabulary, _wordings(role)
    _update(role, held, generation, state)
    return True


def _build(role: str, held: _Held, state: _State, progress: Progress) -> None:
    """Build a new index from all published rows, and use it from then on."""
    rows = _published(role)
    total, dense_size = rows.count(), _dense_size(role)
    vocabulary = Vocabulary()

    def entries() -> Iterator[IndexedEntry]:
        for done, row in enumerate(rows.iterator(chunk_size=_CHUNK)):
            if done % _CHUNK == 0:
                progress("indexing", done / total)
            vocabulary.add(row[4], row[5])
            yield _entry(row, dense_size)

    index = _open(role, state)
    index.build(entries(), dense_size=dense_size)
    progress("indexing", 1.0)
    held.vocabulary, held.wordings = vocabulary, _wordings(role)
    held.index, held.state, held.dense_size = index, state, dense_size
    _record(role, state)


def _update(role: str, held: _Held, since: int, state: _State) -> None:
    """Take in what was published or withdrawn since; a count that then differs from the rows means a lost part."""
    assert held.index is not None
    changed = KnowledgeEntry.objects.filter(role=role, generation__gt=since)
    rows = list(_values(changed.filter(live__isnull=False)))
    for row in rows:
        # Words of an entry that is published again count once more: nothing that a relevance would show.
        held.vocabulary.add(row[4], row[5])
    entries = [_entry(row, held.dense_size) for row in rows]
    removed = list(changed.filter(live__isnull=True).values_list("pk", flat=True))
    try:
        held.index.update(entries, removed)
        is_whole = held.index.count() == _published(role).count()
    except IndexLost:
        is_whole = False
    if is_whole:
        held.wordings = _wordings(role)
        held.state = state
        _record(role, state)
    elif _state(role) == state:
        log.warning("the index of %s is not whole and is built again", role)
        _build(role, held, state, quiet)


def _record(role: str, state: _State) -> None:
    """Note what the server's index has now, for processes that start later."""
    if _server_url():
        KnowledgeCollection.objects.filter(role=role).update(
            indexed_generation=state.generation, indexed_rebuild=state.rebuild
        )


def _server_url() -> str:
    """Return the address of the server that all processes share, or "" when each has an index of its own."""
    url: str = settings.QDRANT_URL
    return "" if url == _IN_MEMORY else url


def _open(role: str, state: _State) -> CollectionIndex:
    """Return an empty index of the engine that the settings choose. Its library is imported only here."""
    if server := _server_url():
        from agent.knowledge.engines.client import ClientIndex

        return ClientIndex(role, url=server, number=state.rebuild)
    if settings.QDRANT_URL == _IN_MEMORY:
        from agent.knowledge.engines.memory import MemoryIndex

        return MemoryIndex()
    from agent.knowledge.engines.edge import EdgeIndex

    return EdgeIndex()


_COLUMNS: Final = (
    *("pk", "language", "live__demuc", "live__chu_de_con", "live__question", "live__answer"),
    *("live__embedding", "live__embedding_model"),
)
_Row = tuple[Any, ...]


def _published(role: str) -> "QuerySet[KnowledgeEntry, _Row]":
    return _values(KnowledgeEntry.objects.filter(role=role, live__isnull=False))


def _values(rows: QuerySet[KnowledgeEntry]) -> "QuerySet[KnowledgeEntry, _Row]":
    return rows.order_by("pk").values_list(*_COLUMNS)


def _wordings(role: str) -> dict[str, Wordings]:
    """Return the entries that have other wordings, by language, with all their texts."""
    rows = KnowledgeEntry.objects.filter(role=role, live__isnull=False).exclude(live__asked_as="")
    texts: dict[str, dict[int, tuple[str, ...]]] = {}
    for key, language, question, asked_as, answer in rows.order_by("pk").values_list(
        "pk", "language", "live__question", "live__asked_as", "live__answer"
    ):
        texts.setdefault(language, {})[key] = (question, *asked_as.splitlines(), answer)
    return {language: _wordings_of(tuple(entries.items())) for language, entries in texts.items()}


@lru_cache(maxsize=6)
def _wordings_of(entries: tuple[tuple[int, tuple[str, ...]], ...]) -> Wordings:
    """Return entries as they are compared; reading them takes a third of a second, and most collections seldom change."""
    return Wordings(dict(entries))


def _entry(row: _Row, dense_size: int) -> IndexedEntry:
    key, language, demuc, chu_de_con, question, answer, embedding, model = row
    dense = embedding_read(embedding) if dense_size and embedding and model == embedding_model() else None
    if dense is not None and len(dense) != dense_size:
        dense = None
    return IndexedEntry(key, language, demuc, chu_de_con, entry_vector(question, answer), dense)


def _dense_size(role: str) -> int:
    """Return the length of the collection's embeddings, 0 if it has none of the model in use."""
    model = embedding_model()
    if not model:
        return 0
    some = (
        KnowledgeEntry.objects.filter(role=role, live__embedding_model=model, live__embedding__isnull=False)
        .values_list("live__embedding", flat=True)
        .first()
    )
    return len(embedding_read(some)) if some else 0
