"""Measure retrieval: re-ask the questions of a collection in other words, and see whether their entry is found again.

Next to it, in the same run and on the same questions, stands plain BM25 from a library (words in small letters), on
questions only and on questions with answers; the better of the two counts.
"""

import gzip
import json
import logging
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any, Final

from agent.knowledge.engines.edge import EdgeIndex
from agent.knowledge.features import entry_vector, query_vector, text_folded
from agent.knowledge.importing import entries_read
from agent.knowledge.index import IndexedEntry, Query
from agent.knowledge.relevance import Vocabulary, relevance
from agent.knowledge.topics import label_of
from agent.models import KnowledgeEntry
from evaluation.paraphrases import PARAPHRASES, SYNONYMS, with_synonyms

SEED: Final = 20_251
DEPTH: Final = 10
_VOTERS: Final = 10
_WORD: Final = re.compile(r"\w+")


@dataclass
class Item:
    """An entry that is re-asked; `synonyms` are other names for what it is about."""

    question: str
    answer: str
    demuc: str
    synonyms: dict[str, str] = field(default_factory=dict)


@dataclass
class Ranks:
    """At which place the right entry was found for each question, 0 for not among the first ten."""

    places: list[int]

    def recall(self, depth: int) -> float:
        """Return the share of questions whose entry was among the first."""
        return mean(0 < place <= depth for place in self.places)

    @property
    def mrr(self) -> float:
        """Return the mean of 1/place."""
        return mean(1 / place if place else 0.0 for place in self.places)

    def row(self) -> dict[str, float]:
        """Return the figures of a table."""
        return {
            **{f"@{depth}": round(self.recall(depth), 3) for depth in (1, 5, 10)},
            "MRR": round(self.mrr, 3),
        }


def items_of_file(path: Path) -> list[Item]:
    """Return what `import_knowledge` would import, with the synonyms that a file of JSON lines may have."""
    entries = entries_read(path, role="evaluated")
    synonyms = _synonyms(path)
    return [
        Item(entry.question, entry.answer, entry.demuc, synonyms.get(entry.entry_id, {})) for entry in entries
    ]


def items_of_role(role: str, language: str) -> list[Item]:
    """Return the published entries of a role in one language."""
    rows = KnowledgeEntry.objects.filter(role=role, language=language, live__isnull=False)
    columns = ("live__question", "live__answer", "live__demuc")
    return [Item(*row) for row in rows.order_by("pk").values_list(*columns)]


def collections_published() -> list[tuple[str, str]]:
    """Return every role and language that has published entries."""
    rows = KnowledgeEntry.objects.filter(live__isnull=False).order_by("role", "language")
    return list(rows.values_list("role", "language").distinct())


def collection_measure(items: Sequence[Item], sample: int) -> dict[str, Any]:
    """Return recall and mean reciprocal rank for each kind of paraphrase, ours and plain BM25's, and topic accuracy."""
    chance = random.Random(SEED)
    chosen = chance.sample(range(len(items)), min(sample, len(items)))
    same: dict[str, set[int]] = defaultdict(set)
    for number, item in enumerate(items):
        same[text_folded(item.question)].add(number)
    index = _Index(items)
    plain = [
        _Bm25([item.question for item in items]),
        _Bm25([f"{item.question} {item.answer}" for item in items]),
    ]
    rows = []
    for kind, change in {**PARAPHRASES, "synonyms": None}.items():
        asked = _asked(items, chosen, change, random.Random(f"{SEED}{kind}"))
        if not asked:
            continue
        right = {number: same[text_folded(items[number].question)] for number, _ in asked}
        ours = _ranks(asked, right, index.search)
        both = [_ranks(asked, right, each.search) for each in plain]
        best = max(both, key=lambda ranks: ranks.recall(5))
        rows.append({"paraphrase": kind, "questions": len(asked), "ours": ours.row(), "bm25": best.row()})
    return {"entries": len(items), "rows": rows, "topics": index.topics(chosen, same)}


def relevance_measure(
    items: Sequence[Item], elsewhere: Sequence[str], sample: int, thresholds: Iterable[float]
) -> list[dict[str, float]]:
    """Return for each threshold of relevance how many re-asked questions, and how many from elsewhere, are answered."""
    index = _Index(items)
    chance = random.Random(SEED)
    chosen = chance.sample(range(len(items)), min(sample, len(items)))
    kinds = {
        kind: [index.relevance(change(items[number].question, chance)) for number in chosen]
        for kind, change in PARAPHRASES.items()
        if kind in ("original", "typos", "shortened")
    }
    kinds["elsewhere"] = [index.relevance(text) for text in elsewhere[:sample]]
    return [
        {
            "threshold": limit,
            **{kind: round(mean(value >= limit for value in values), 3) for kind, values in kinds.items()},
        }
        for limit in thresholds
    ]


class _Index:
    """The index of the product over the items, without the database."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items
        self._vocabulary = Vocabulary()
        self._index = EdgeIndex()
        self._index.build(self._entries())

    def _entries(self) -> Iterable[IndexedEntry]:
        for number, item in enumerate(self._items):
            self._vocabulary.add(item.question, item.answer)
            yield IndexedEntry(number, "xx", item.demuc, "", entry_vector(item.question, item.answer))

    def search(self, text: str, limit: int = DEPTH) -> list[int]:
        return [hit.key for hit in self._index.search([Query(query_vector(text))], limit)[0]]

    def relevance(self, text: str) -> float:
        weights = self._vocabulary.weights(text)
        best = [self._items[number] for number in self.search(text, 5)]
        return max((relevance(weights, item.question, item.answer) for item in best), default=0.0)

    def topics(self, chosen: Sequence[int], same: Mapping[str, set[int]]) -> dict[str, float]:
        """Return how often the topic is right: as asked, and without the entry itself among those that vote."""
        right = {"as asked": 0, "without the entry itself": 0}
        for number in chosen:
            item = self._items[number]
            itself = same[text_folded(item.question)]
            (hits,) = self._index.search([Query(query_vector(item.question))], _VOTERS + len(itself))
            for name, left_out in (("as asked", set[int]()), ("without the entry itself", itself)):
                votes = [(self._items[hit.key].demuc, hit.score) for hit in hits if hit.key not in left_out]
                right[name] += label_of(votes[:_VOTERS])[0] == item.demuc
        return {name: round(count / len(chosen), 3) for name, count in right.items()}


class _Bm25:
    """Plain BM25 of the library bm25s."""

    def __init__(self, texts: Sequence[str]) -> None:
        import bm25s

        logging.getLogger("bm25s").setLevel(logging.WARNING)
        self._count = len(texts)
        self._model = bm25s.BM25()
        self._model.index([_plain(text) for text in texts], show_progress=False)

    def search(self, text: str) -> list[int]:
        known = [word for word in _plain(text) if word in self._model.vocab_dict]
        if not known:
            return []
        depth = min(DEPTH, self._count)
        found, scores = self._model.retrieve([known], k=depth, show_progress=False, n_threads=0)
        return [int(key) for key, score in zip(found[0], scores[0], strict=True) if score > 0]


def _plain(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _asked(
    items: Sequence[Item],
    chosen: Sequence[int],
    change: Callable[[str, random.Random], str] | None,
    chance: random.Random,
) -> list[tuple[int, str]]:
    """Return the questions as they are asked; those that the change leaves as they are count only as originals."""
    asked = []
    for number in chosen:
        item = items[number]
        text = (
            with_synonyms(item.question, chance, item.synonyms or SYNONYMS)
            if change is None
            else change(item.question, chance)
        )
        if text != item.question or change is PARAPHRASES["original"]:
            asked.append((number, text))
    return asked


def _ranks(
    asked: Sequence[tuple[int, str]], right: Mapping[int, set[int]], search: Callable[[str], list[int]]
) -> Ranks:
    places = []
    for number, text in asked:
        found = search(text)
        places.append(next((place for place, key in enumerate(found, 1) if key in right[number]), 0))
    return Ranks(places)


def _synonyms(path: Path) -> dict[str, dict[str, str]]:
    """Return for each entry's id another name for what it is about, where the file has `focus` and `synonyms`."""
    opener = gzip.open if path.suffix == ".gz" else open
    found = {}
    with opener(path, "rt", encoding="utf-8-sig") as file:
        for line in file:
            if not line.startswith("{"):
                return {}
            row = json.loads(line)
            names = [name for name in row.get("synonyms") or [] if isinstance(name, str)]
            if row.get("focus") and names:
                found[f"{row.get('source')}:{row.get('id')}"] = {row["focus"]: names[0]}
    return found
