"""Ask an OpenAI-compatible server for the embeddings of texts, with the `openai` SDK."""

from collections.abc import Sequence
from functools import lru_cache
from math import isfinite
from typing import Final

import httpx2
import openai

from agent.inference.base import ModelUnavailable

_ANY_KEY: Final = "none"  # the SDK wants a key, also for a server that wants none


def embeddings_fetch(
    texts: Sequence[str], *, model: str, key: str, base_url: str, seconds: float
) -> list[list[float]]:
    """Return one vector for each text, all of the same length. Raises ModelUnavailable."""
    try:
        answer = _client(key, base_url).embeddings.create(
            model=model, input=list(texts), encoding_format="float", timeout=seconds
        )
        vectors = [
            [float(value) for value in item.embedding]
            for item in sorted(answer.data, key=lambda item: item.index)
        ]
    except (openai.APIError, httpx2.HTTPError) as error:
        raise ModelUnavailable(type(error).__name__) from None
    except (ValueError, TypeError, LookupError, AttributeError):
        raise ModelUnavailable("malformed") from None
    lengths = {len(vector) for vector in vectors}
    if len(vectors) != len(texts) or len(lengths) != 1 or not min(lengths):
        raise ModelUnavailable("malformed")
    if not all(isfinite(value) for vector in vectors for value in vector):
        raise ModelUnavailable("malformed")
    return vectors


@lru_cache(maxsize=4)
def _client(key: str, base_url: str) -> openai.OpenAI:
    return openai.OpenAI(api_key=key or _ANY_KEY, base_url=base_url or None, max_retries=0)
