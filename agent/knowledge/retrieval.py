"""Find entries for a question, and return their full text: the specification's `retrieve_from_qdrant` and what belongs to it.

The collection is the role's, which the server chose. Whatever an index returns is looked up in the rows: only what is
published in this collection and language is ever returned.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypedDict

from agent.knowledge.embeddings import question_embedding
from agent.knowledge.features import query_vector, text_folded
from agent.knowledge.index import Hit, Query
from agent.knowledge.indexing import (
    collection_dense_size,
    collection_search,
    collection_similarities,
    collection_vocabulary,
)
from agent.knowledge.relevance import relevance
from agent.knowledge.wordings import confidence
from agent.models import KnowledgeEntry
from pharmacy_site.lib.text import clean

TOP_K: Final = 20
_MOST_CHARACTERS: Final = 1_000
_MOST_BY_WORDINGS: Final = 6


class Candidate(TypedDict):
    """An entry that may answer a question; `relevance` is how much of the question it covers, 0 to 1.

    `confidence` is how sure it is that it answers, 0 to 1; None for an entry that has no other wordings than its question.
    """

    id: str
    CAUHOI: str
    score: float
    DEMUC: str
    CHU_DE_CON: str
    relevance: float
    confidence: float | None


class FullQA(TypedDict):
    """A published entry: question, answer, explanation, and where the answer is from."""

    id: str
    DEMUC: str
    CHU_DE_CON: str
    CAUHOI: str
    CAUTRALOI: str
    GIAITHICH: str
    source: str
    version: int


def retrieve_from_qdrant(
    query: str, demuc: str, chu_de_con: str, collection_name: str, top_k: int = TOP_K, *, language: str
) -> list[Candidate]:
    """Return the best entries of a role's collection for a question, the best first.

    An empty topic or subtopic means any. The query goes to an embeddings API if one is set: take out before what is
    known of the customer.
    """
    (found,) = _searched(query, [(demuc, chu_de_con)], collection_name, top_k, language)
    return found


def retrieve_by_words(
    query: str, collection_name: str, top_k: int, *, language: str, demuc: str = ""
) -> list[Candidate]:
    """Return the best entries by words and letters alone: the query, which may be any message, goes to no embeddings API."""
    (found,) = _searched(query, [(demuc, "")], collection_name, top_k, language, has_dense=False)
    return found


def retrieve_both_ways(
    query: str, demuc: str, chu_de_con: str, collection_name: str, top_k: int = TOP_K, *, language: str
) -> list[Candidate]:
    """Search with the subtopic and without it, and return each entry once: a wrong subtopic must not hide the answer."""
    ways = [(demuc, chu_de_con), (demuc, "")] if chu_de_con else [(demuc, "")]
    found: dict[str, Candidate] = {}
    for answer in _searched(query, ways, collection_name, top_k, language):
        for candidate in answer:
            found.setdefault(candidate["id"], candidate)
    return sorted(
        found.values(),
        key=lambda each: (not _is_asked(query, each), -(each["confidence"] or 0.0), -each["score"]),
    )


def get_full_qa_by_ids(ids: Iterable[str], collection_name: str, *, language: str) -> list[FullQA]:
    """Return the published entries with these ids, in the order of the ids. Leave out unknown and unpublished ones."""
    wanted = list(dict.fromkeys(ids))
    rows = KnowledgeEntry.objects.filter(
        role=collection_name, language=language, entry_id__in=wanted, live__isnull=False
    ).select_related("live")
    by_id = {row.entry_id: row for row in rows}
    return [_full(by_id[entry_id]) for entry_id in wanted if entry_id in by_id]


def coverage(query: str, qa: FullQA, collection_name: str) -> float:
    """Return how much of a question a full entry covers, 0 to 1, as in `Candidate.relevance`; after a search in the collection."""
    weights = collection_vocabulary(collection_name).weights(clean(query)[:_MOST_CHARACTERS])
    return relevance(weights, qa["CAUHOI"], qa["CAUTRALOI"])


def _full(row: KnowledgeEntry) -> FullQA:
    live = row.live
    assert live is not None
    return {
        "id": row.entry_id,
        "DEMUC": live.demuc,
        "CHU_DE_CON": live.chu_de_con,
        "CAUHOI": live.question,
        "CAUTRALOI": live.answer,
        "GIAITHICH": live.explanation,
        "source": live.source,
        "version": live.number,
    }


def _searched(
    query: str,
    ways: Sequence[tuple[str, str]],
    role: str,
    top_k: int,
    language: str,
    *,
    has_dense: bool = True,
) -> list[list[Candidate]]:
    """Return the candidates for each pair of topic and subtopic in `ways`."""
    text = clean(query)[:_MOST_CHARACTERS]
    sparse = query_vector(text, language)
    if not sparse.indices or not language:
        return [[] for _ in ways]
    dense = question_embedding(text) if has_dense and collection_dense_size(role) else None
    queries = [Query(sparse, dense, language, demuc, chu_de_con) for demuc, chu_de_con in ways]
    answers = collection_search(role, queries, top_k)
    sure = _confidences(role, text, language)
    best = sorted(sure, key=sure.__getitem__, reverse=True)[:_MOST_BY_WORDINGS]
    rows = _rows({hit.key for hits in answers for hit in hits} | {*best}, role, language)
    weights = collection_vocabulary(role).weights(text)
    covered = {key: round(relevance(weights, row.question, row.answer), 3) for key, row in rows.items()}
    # A question that was asked word for word, as from a button, is answered by its own entry.
    return [
        sorted(
            _candidates([*hits, *_others(best, hits, rows, way)], rows, covered, sure),
            key=lambda each: (not _is_asked(text, each), -(each["confidence"] or 0.0)),
        )
        for hits, way in zip(answers, ways, strict=True)
    ]


def _confidences(role: str, text: str, language: str) -> dict[int, float]:
    """Return for each entry with other wordings how sure it is that it answers the text."""
    similar = collection_similarities(role, text, language)
    first, second = ([*sorted(similar.values(), reverse=True), 0.0, 0.0])[:2]
    return {key: confidence(value, second if value == first else first) for key, value in similar.items()}


def _others(
    best: Sequence[int], hits: Sequence[Hit], rows: "Mapping[int, _Row]", way: tuple[str, str]
) -> list[Hit]:
    """Return the entries that the wordings found and the index did not, if they are of the topic and subtopic."""
    known = {hit.key for hit in hits}
    return [
        Hit(key, 0.0)
        for key in best
        if key not in known
        and (row := rows.get(key))
        and all(wanted in ("", label) for wanted, label in zip(way, (row.demuc, row.chu_de_con), strict=True))
    ]


def _is_asked(query: str, candidate: Candidate) -> bool:
    return text_folded(clean(query)) == text_folded(candidate["CAUHOI"])


class _Row(NamedTuple):
    """What a candidate needs of its published version; models with all their columns take three times as long."""

    entry_id: str
    question: str
    answer: str
    demuc: str
    chu_de_con: str


def _rows(keys: set[int], role: str, language: str) -> dict[int, _Row]:
    """Return those of the rows that are published in this collection and language.

    They are read by their keys alone: with more conditions PostgreSQL may walk through the whole collection.
    """
    rows = KnowledgeEntry.objects.filter(pk__in=keys).values_list(
        *("pk", "role", "language", "live_id", "entry_id"),
        *("live__question", "live__answer", "live__demuc", "live__chu_de_con"),
    )
    return {
        key: _Row(*texts)
        for key, row_role, row_language, live, *texts in rows
        if live and (row_role, row_language) == (role, language)
    }


def _candidates(
    hits: Sequence[Hit], rows: Mapping[int, _Row], covered: Mapping[int, float], sure: Mapping[int, float]
) -> list[Candidate]:
    return [
        {
            "id": row.entry_id,
            "CAUHOI": row.question,
            "score": hit.score,
            "DEMUC": row.demuc,
            "CHU_DE_CON": row.chu_de_con,
            "relevance": covered[hit.key],
            "confidence": sure.get(hit.key),
        }
        for hit in hits
        if (row := rows.get(hit.key))
    ]
