"""Connect the language model that the settings name; the offline model answers when it fails."""

import asyncio
from typing import Final
from weakref import WeakKeyDictionary

from django.conf import settings
from openai import AsyncOpenAI

from agent.inference.base import Model
from agent.inference.openai import ChatCompletions, client_open
from agent.llm.dialogue import LanguageModel
from agent.llm.fallback import FirstAvailable
from pharmacy_site.lib.breaker import Breaker

_clients: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str], AsyncOpenAI]]] = (
    WeakKeyDictionary()
)


def connected(breaker: Breaker) -> Model:
    """Return the language model with the offline model behind it, for the running event loop."""
    completions = ChatCompletions(
        _client(settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL),
        model=settings.OPENAI_MODEL,
        breaker=breaker,
        first_token=settings.OPENAI_FIRST_TOKEN_TIMEOUT,
    )
    return FirstAvailable(LanguageModel(completions, settings.OPENAI_TIMEOUT))


def _client(key: str, base_url: str) -> AsyncOpenAI:
    """Return the client of the running event loop; each loop has its own, since connections work in one loop only."""
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    if (key, base_url) not in clients:
        clients[key, base_url] = client_open(key, base_url, settings.OPENAI_TIMEOUT)
    return clients[key, base_url]
