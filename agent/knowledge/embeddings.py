"""Embeddings of entries and questions, when an API for them is configured. Without one, words and letters alone decide.

Those of entries are stored with the published version, so that no index that is built pays for them again. A failure
costs nothing but the dense half of a search.
"""

import logging
from array import array
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from django.conf import settings

from agent.inference.base import ModelUnavailable
from agent.models import KnowledgeEntry, KnowledgeVersion
from agent.safety.privacy.placeholders import Placeholders
from pharmacy_site.lib.breaker import Breaker
from pharmacy_site.lib.importing import Progress, quiet
from prescriptions.switches import board

log = logging.getLogger(__name__)
_BATCH: Final = 100
_MOST_CHARACTERS: Final = 8_000
_SECONDS_QUESTION: Final = 2.0
_SECONDS_BATCH: Final = 30.0


def embedding_model() -> str:
    """Return the name of the model for embeddings, empty when there is none."""
    has_api = settings.OPENAI_API_KEY or settings.OPENAI_BASE_URL
    return settings.OPENAI_EMBEDDING_MODEL if has_api else ""


def embedding_read(stored: bytes | memoryview) -> list[float]:
    """Return a stored embedding."""
    return array("f", bytes(stored)).tolist()


def question_embedding(text: str) -> Sequence[float] | None:
    """Return the embedding of a question, None when there is none. What looks personal in it is not sent."""
    if not embedding_model() or board.read().model_off or not _breaker(settings.OPENAI_BASE_URL).admits():
        return None
    try:
        (vector,) = _fetch([Placeholders().hide(text)], _SECONDS_QUESTION)
    except ModelUnavailable:
        return None
    return vector


def embeddings_complete(role: str, progress: Progress = quiet) -> int:
    """Fetch and store the embeddings that published entries of a role lack; return how many were stored.

    Stops at the first failure: what is missing then is fetched by the next run.
    """
    model = embedding_model()
    if not model:
        return 0
    versions = KnowledgeVersion.objects.filter(
        pk__in=KnowledgeEntry.objects.filter(role=role, live__isnull=False).values("live_id")
    )
    missing = list(versions.exclude(embedding_model=model).order_by("pk").values_list("pk", flat=True))
    stored = 0
    while stored < len(missing):
        batch = list(KnowledgeVersion.objects.filter(pk__in=missing[stored : stored + _BATCH]))
        try:
            vectors = _fetch([f"{row.question}\n{row.answer}" for row in batch], _SECONDS_BATCH)
        except ModelUnavailable:
            break
        for row, vector in zip(batch, vectors, strict=True):
            row.embedding, row.embedding_model = array("f", vector).tobytes(), model
        KnowledgeVersion.objects.bulk_update(batch, ["embedding", "embedding_model"])
        stored += len(batch)
        progress("embeddings", stored / len(missing))
    return stored


def _fetch(texts: Sequence[str], seconds: float) -> list[list[float]]:
    # Not above: its library is slow to load, and most installations have no key.
    from agent.inference.embeddings import embeddings_fetch

    breaker = _breaker(settings.OPENAI_BASE_URL)
    try:
        vectors = embeddings_fetch(
            [text[:_MOST_CHARACTERS] for text in texts],
            model=embedding_model(),
            key=settings.OPENAI_API_KEY,
            base_url=settings.OPENAI_BASE_URL,
            seconds=seconds,
        )
    except ModelUnavailable as error:
        breaker.failed()
        log.warning("embeddings unavailable: %s", error.reason)
        raise
    breaker.succeeded()
    return vectors


@lru_cache(maxsize=4)
def _breaker(base_url: str) -> Breaker:
    return Breaker("embeddings", failures=3, seconds=30.0)
