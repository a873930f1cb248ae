"""Finding the entries for a question in the knowledge base, against plain BM25 of a library on the same questions."""

import gc
import logging
import random
import time
from collections.abc import Callable, Sequence
from itertools import accumulate
from statistics import median
from typing import Any

from benchmarks.databases import Databases
from benchmarks.measure import SEED, percentile, ratio

TITLE = "Retrieval from the knowledge base"
NOTES = (
    "Baseline, in the same run and asked in turns with ours: bm25s, plain BM25 over the words of the same questions, in memory.",
    "retrieve_from_qdrant is all that the chat calls: the collection's state and the rows from the database, the search in",
    "the index of this process, relevance. edge and client are the engines alone, question to keys. Questions are entries with",
    "one word left out and one mistyped; found is the share whose entry is among the first five. × BM25: median of the pairs.",
    "The client's own search at 100,000 entries takes seconds: few questions. No Qdrant server was at hand: not measured.",
)
SIZES = (3_237, 100_000)
QUESTIONS = {"retrieve_from_qdrant": 400, "edge": 400, "client": {3_237: 60, 100_000: 3}}
TOPICS = 20
ROLE = "bench"
_TOP = 20
_WARM = 20


def measure(own: Databases) -> list[dict[str, Any]]:
    """Return a row for each way and size, and one for the baseline."""
    import django

    django.setup()
    rows: list[dict[str, Any]] = []
    for size in SIZES:
        texts = entries(size)
        plain = Plain(texts)
        common = {"database": own.vendor, "entries": size}
        for name, opened in ways(own.vendor).items():
            began = time.perf_counter()
            search = opened(texts)
            built = time.perf_counter() - began
            wanted = QUESTIONS[name]
            count = wanted[size] if isinstance(wanted, dict) else wanted
            ours, theirs, found = taken(search, plain.search, texts, count)
            rows.append(
                {
                    **common,
                    "what": name,
                    "questions": count,
                    "p50 ms": 1_000 * median(ours),
                    "p99 ms": 1_000 * percentile(ours, 0.99),
                    "× BM25": ratio(ours, theirs),
                    "BM25 p50 ms": 1_000 * median(theirs),
                    "BM25 p99 ms": 1_000 * percentile(theirs, 0.99),
                    "found": found,
                    "ready s": built,
                }
            )
            del search
            gc.collect()
    return rows


def ways(vendor: str) -> dict[str, Callable[[Sequence[str]], Callable[[str], list[int]]]]:
    """Return what is measured on a database; the engines know of none, and are measured once."""
    every = {"retrieve_from_qdrant": _with_rows}
    return every if vendor != "sqlite" else {**every, "edge": _edge, "client": _client}


def taken(
    ours: Callable[[str], list[int]], theirs: Callable[[str], Any], texts: Sequence[str], count: int
) -> tuple[list[float], list[float], float]:
    """Ask both in turns; return their seconds and the share that ours found."""
    chance = random.Random(SEED)
    asked = [(key, misread(texts[key], chance)) for key in chance.choices(range(len(texts)), k=count + _WARM)]
    seconds: tuple[list[float], list[float]] = ([], [])
    right = 0
    gc.collect()
    gc.disable()
    try:
        for number, (key, text) in enumerate(asked):
            if number < _WARM and count > _WARM:
                ours(text), theirs(text)
                continue
            if len(seconds[0]) == count:
                break
            began = time.perf_counter()
            found = ours(text)
            between = time.perf_counter()
            theirs(text)
            ended = time.perf_counter()
            seconds[0].append(between - began)
            seconds[1].append(ended - between)
            right += key in found[:5]
    finally:
        gc.enable()
    return seconds[0], seconds[1], right / count


def entries(size: int) -> list[str]:
    """Return invented questions of 8 to 14 words, whose words are as unevenly common as those of a language."""
    chance = random.Random(SEED)
    syllables = [
        "ba",
        "dor",
        "el",
        "fi",
        "gan",
        "hor",
        "ing",
        "kal",
        "lem",
        "mi",
        "nor",
        "os",
        "pra",
        "ren",
        "su",
        "tor",
    ]
    words = ["".join(chance.choices(syllables, k=chance.randint(2, 4))) for _ in range(20_000)]
    weights = list(accumulate(1 / (place + 3) for place in range(len(words))))
    return [
        " ".join(chance.choices(words, cum_weights=weights, k=chance.randint(8, 14))) for _ in range(size)
    ]


def misread(text: str, chance: random.Random) -> str:
    """Return the question without one word and with a typo in another."""
    words = text.split()
    del words[chance.randrange(len(words))]
    place = chance.randrange(len(words))
    cut = chance.randrange(len(words[place]))
    words[place] = words[place][:cut] + words[place][cut + 1 :]
    return " ".join(words)


class Plain:
    """Plain BM25 of the library bm25s."""

    def __init__(self, texts: Sequence[str]) -> None:
        import bm25s

        logging.getLogger("bm25s").setLevel(logging.WARNING)
        self._model = bm25s.BM25()
        self._model.index([text.split() for text in texts], show_progress=False)

    def search(self, text: str) -> Any:
        """Return the keys of the best entries."""
        known = [word for word in text.split() if word in self._model.vocab_dict]
        return self._model.retrieve([known], k=_TOP, show_progress=False, n_threads=0)[0][0]


def _with_rows(texts: Sequence[str]) -> Callable[[str], list[int]]:
    from agent.knowledge.retrieval import retrieve_from_qdrant

    role = f"{ROLE}{len(texts)}"
    published(texts, role)

    def search(text: str) -> list[int]:
        found = retrieve_from_qdrant(text, "", "", role, _TOP, language="en")
        return [int(candidate["id"]) for candidate in found]

    search(texts[0])
    return search


def published(texts: Sequence[str], role: str, subtopics: int = 0) -> None:
    """Publish entries with these questions as a role's collection."""
    from django.db import transaction

    from agent.knowledge.indexing import indexes_forget
    from agent.knowledge.services import entries_publish
    from agent.models import KnowledgeEntry

    indexes_forget()
    for start in range(0, len(texts), 5_000):
        batch = [
            KnowledgeEntry(
                role=role,
                language="en",
                entry_id=str(start + place),
                demuc=f"Topic {place % TOPICS}",
                chu_de_con=f"Part {place // TOPICS % subtopics}" if subtopics else "",
                question=text,
                answer=text,
                source="bench",
            )
            for place, text in enumerate(texts[start : start + 5_000])
        ]
        with transaction.atomic():
            KnowledgeEntry.objects.bulk_create(batch, batch_size=500)
            entries_publish(entries=batch, actor="system:bench")


def _edge(texts: Sequence[str]) -> Callable[[str], list[int]]:
    from agent.knowledge.engines.edge import EdgeIndex

    return _engine(EdgeIndex(), texts)


def _client(texts: Sequence[str]) -> Callable[[str], list[int]]:
    from agent.knowledge.engines.memory import MemoryIndex

    return _engine(MemoryIndex(), texts)


def _engine(index: Any, texts: Sequence[str]) -> Callable[[str], list[int]]:
    from agent.knowledge.features import entry_vector, query_vector
    from agent.knowledge.index import IndexedEntry, Query

    index.build(
        IndexedEntry(key, "en", f"Topic {key % TOPICS}", "", entry_vector(text, text))
        for key, text in enumerate(texts)
    )

    def search(text: str) -> list[int]:
        (hits,) = index.search([Query(query_vector(text), language="en")], _TOP)
        return [hit.key for hit in hits]

    return search
