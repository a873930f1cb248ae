"""Every engine gives the same answers: found, filtered, replaced, removed, lost."""

import gc
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.knowledge.engines.client import ClientIndex
from agent.knowledge.engines.edge import EdgeIndex
from agent.knowledge.engines.memory import MemoryIndex
from agent.knowledge.features import entry_vector, query_vector
from agent.knowledge.index import CollectionIndex, IndexedEntry, IndexLost, Query
from benchmarks.knowledge_retrieval import entries, misread

QUESTIONS = {
    1: ("Where do I keep insulin?", "Storage", "Cold"),
    2: ("Where do I keep tablets?", "Storage", "Dry"),
    3: ("How do I renew a prescription for insulin?", "Refills", ""),
}
ENGINES = [EdgeIndex, ClientIndex, MemoryIndex]


def indexed(
    key: int, question: str = "", dense: list[float] | None = None, language: str = "en"
) -> IndexedEntry:
    text, demuc, chu_de_con = QUESTIONS.get(key, ("", "Storage", ""))
    return IndexedEntry(key, language, demuc, chu_de_con, entry_vector(question or text), dense)


def found(index: CollectionIndex, text: str, **conditions: Any) -> list[int]:
    return [hit.key for hit in index.search([Query(query_vector(text), **conditions)], 10)[0]]


@pytest.fixture(params=ENGINES)
def index(request: pytest.FixtureRequest) -> CollectionIndex:
    built: CollectionIndex = request.param()
    built.build([indexed(key) for key in QUESTIONS])
    return built


def test_the_best_comes_first_and_filters_hold(index: CollectionIndex) -> None:
    assert found(index, "keeping insulin")[0] == 1
    assert set(found(index, "insulin")[:2]) == {1, 3}
    assert found(index, "insulin", demuc="Refills") == [3]
    assert found(index, "keep", demuc="Storage", chu_de_con="Dry") == [2]
    assert found(index, "insulin", language="he") == []
    assert index.count() == 3


def test_several_queries_are_answered_in_their_order(index: CollectionIndex) -> None:
    queries = [Query(query_vector("insulin"), demuc="Refills"), Query(query_vector("tablets"))]
    assert [hits[0].key for hits in index.search(queries, 5)] == [3, 2]


def test_a_changed_entry_replaces_the_old_one_and_a_removed_one_is_gone(index: CollectionIndex) -> None:
    index.update([indexed(1, "What are the opening hours?"), indexed(9, "Is there parking?")], [2])
    assert found(index, "opening hours")[0] == 1 and found(index, "parking")[0] == 9
    assert 2 not in found(index, "keep tablets")
    assert index.count() == 3


def test_a_rare_word_counts_more_than_a_common_one(index: CollectionIndex) -> None:
    many = [indexed(100 + number, f"Where do I keep thing {number}?") for number in range(200)]
    index.update(many, [])
    assert found(index, "where do I keep insulin")[0] == 1
    assert found(index, "insulin where")[0] in (1, 3)


def test_the_engine_in_memory_finds_what_qdrant_edge_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.knowledge.engines.memory._CANDIDATES", 100)  # of 600
    texts, chance = entries(600), random.Random(1)
    indexes: list[CollectionIndex] = [EdgeIndex(), MemoryIndex()]
    for index in indexes:
        index.build([indexed(key, text) for key, text in enumerate(texts)])
    for key in chance.sample(range(len(texts)), 40):
        query = Query(query_vector(misread(texts[key], chance)))
        edge, memory = ([(hit.key, hit.score) for hit in index.search([query], 5)[0]] for index in indexes)
        assert [found for found, _ in memory] == [found for found, _ in edge] and memory[0][0] == key
        assert [score for _, score in memory] == pytest.approx([score for _, score in edge], rel=1e-3)


@pytest.mark.parametrize("engine", ENGINES)
def test_embeddings_are_fused_with_words(engine: Callable[[], CollectionIndex]) -> None:
    index = engine()
    dense = {1: [1.0, 0.0], 2: [0.0, 1.0], 3: None}
    index.build([indexed(key, dense=dense[key]) for key in QUESTIONS], dense_size=2)
    by_words = found(index, "renew prescription")
    fused = [hit.key for hit in index.search([Query(query_vector("renew prescription"), [0.0, 1.0])], 10)[0]]
    assert by_words[0] == 3 and 2 not in by_words[:1]
    assert set(fused[:2]) == {2, 3}
    nobody = index.search([Query(query_vector("renew"), [0.0, 1.0], language="he")], 10)
    assert nobody == [[]]


@pytest.mark.parametrize("engine", ENGINES)
def test_an_index_that_was_not_built_is_lost(engine: Callable[[], CollectionIndex]) -> None:
    index = engine()
    for use in (
        index.count,
        lambda: index.search([Query(query_vector("x"))], 1),
        lambda: index.update([indexed(1)], []),
    ):
        with pytest.raises(IndexLost):
            use()


def test_a_server_s_older_collections_are_dropped_when_a_newer_one_is_whole() -> None:
    old = ClientIndex("customer", number=1)
    old.build([indexed(1)])
    other = ClientIndex("customer_care", number=0)
    other.client = old.client
    other.build([indexed(1)])
    new = ClientIndex("customer", number=2)
    new.client = old.client
    new.build([indexed(1), indexed(2)])
    assert new.count() == 2 and other.count() == 1
    with pytest.raises(IndexLost):
        old.count()


def test_the_folder_goes_with_its_index() -> None:
    index = EdgeIndex()
    index.build([indexed(1)])
    folder: Path = index._folder
    assert folder.exists()
    del index
    gc.collect()
    assert not folder.exists()
