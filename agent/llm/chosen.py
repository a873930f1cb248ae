"""Choose the model of an installation: the offline model, or a language model with the offline one behind it."""

import asyncio
from functools import lru_cache
from typing import Final
from weakref import WeakKeyDictionary

from django.conf import settings
from openai import AsyncOpenAI

from agent.inference.base import Model
from agent.inference.openai import ChatCompletions, client_open
from agent.llm.dialogue import LanguageModel
from agent.llm.fallback import FirstAvailable
from agent.llm.offline.session import OfflineModel
from pharmacy_site.lib.breaker import Breaker

BREAKER_FAILURES: Final = 5
BREAKER_SECONDS: Final = 30.0
_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str], AsyncOpenAI]] = (
    WeakKeyDictionary()
)


def has_language_model() -> bool:
    """Return whether the settings name a language model."""
    return bool(settings.OPENAI_API_KEY or settings.OPENAI_BASE_URL)


def configured() -> Model:
    """Return the model that the settings name. Call it inside the event loop that will use it."""
    if not has_language_model():
        return OfflineModel()
    completions = ChatCompletions(
        _client(settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL).chat.completions,
        model=settings.OPENAI_MODEL,
        breaker=breaker(settings.OPENAI_BASE_URL, settings.OPENAI_MODEL),
        first_token=settings.OPENAI_FIRST_TOKEN_TIMEOUT,
    )
    return FirstAvailable(LanguageModel(completions, settings.OPENAI_TIMEOUT))


@lru_cache(maxsize=8)
def breaker(base_url: str, model: str) -> Breaker:
    """Return this process's breaker of one model."""
    return Breaker(f"model {model}", failures=BREAKER_FAILURES, seconds=BREAKER_SECONDS)


def _client(key: str, base_url: str) -> AsyncOpenAI:
    """Return the running event loop's client: its connections cannot be used in another loop."""
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    if (key, base_url) not in clients:
        clients[key, base_url] = client_open(key, base_url, settings.OPENAI_TIMEOUT)
    return clients[key, base_url]
