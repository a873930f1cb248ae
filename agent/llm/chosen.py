"""Which model an installation has: the offline model, or a language model with the offline one behind it."""

import asyncio
import weakref
from collections.abc import AsyncGenerator
from contextlib import suppress
from functools import lru_cache
from typing import Final

import httpx2
import openai
from django.conf import settings

from agent.llm.base import Model
from agent.llm.fallback import FirstAvailable
from agent.llm.language import LanguageModel
from agent.llm.offline import OfflineModel
from agent.llm.openai import ChatCompletions
from pharmacy_site.lib.breaker import Breaker

_FAILURES, _LEFT_ALONE = 5, 30.0
_ANY_KEY = "none"  # a server of one's own may want none; the SDK does
_KEPT: Final = httpx2.Limits(max_connections=1_000, keepalive_expiry=60.0)
"""As many connections as the SDK's own; an idle one is kept for longer than 15 s, or most turns would begin with a handshake."""


def has_language_model() -> bool:
    """Whether the settings name a language model."""
    return bool(settings.OPENAI_API_KEY or settings.OPENAI_BASE_URL)


def configured() -> Model:
    """The model that the settings name. Call it inside the event loop that will ask it."""
    if not has_language_model():
        return OfflineModel()
    completions = ChatCompletions(
        _client(settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL),
        model=settings.OPENAI_MODEL,
        breaker=breaker(settings.OPENAI_BASE_URL, settings.OPENAI_MODEL),
        first_token=settings.OPENAI_FIRST_TOKEN_TIMEOUT,
    )
    return FirstAvailable(LanguageModel(completions, settings.OPENAI_TIMEOUT), OfflineModel())


@lru_cache(maxsize=8)
def breaker(base_url: str, model: str) -> Breaker:
    """This process's breaker of one model."""
    return Breaker(f"model {model}", failures=_FAILURES, seconds=_LEFT_ALONE)


def client_open(key: str, base_url: str) -> openai.AsyncOpenAI:
    """A client of the SDK, over the aiohttp transport that it brings."""
    return openai.AsyncOpenAI(
        api_key=key or _ANY_KEY,
        base_url=base_url or None,
        max_retries=0,  # ours: once, with the first token's clock running
        timeout=httpx2.Timeout(settings.OPENAI_TIMEOUT, connect=settings.OPENAI_FIRST_TOKEN_TIMEOUT),
        http_client=openai.DefaultAioHttpClient(limits=_KEPT),
    )


class _Clients:
    """An event loop's clients: their connections belong to it."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], openai.AsyncOpenAI] = {}
        self._until_the_end = self._closing()
        # Begun, but not awaited: from now on the loop knows of it, and ends it when it shuts down.
        with suppress(StopIteration):
            self._until_the_end.__anext__().send(None)

    def get(self, key: str, base_url: str) -> openai.AsyncOpenAI:
        """The client for a server."""
        if (key, base_url) not in self._open:
            self._open[key, base_url] = client_open(key, base_url)
        return self._open[key, base_url]

    async def close(self) -> None:
        """Closes their connections."""
        await self._until_the_end.aclose()

    async def _closing(self) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            for client in self._open.values():
                await client.close()
            self._open.clear()  # each holds the loop that it is kept for


_clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Clients] = weakref.WeakKeyDictionary()


async def clients_close() -> None:
    """Closes this event loop's connections, when its process ends: not every server shuts its loop down."""
    if clients := _clients.pop(asyncio.get_running_loop(), None):
        await clients.close()


def _client(key: str, base_url: str) -> openai.AsyncOpenAI:
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        _clients[loop] = _Clients()
    return _clients[loop].get(key, base_url)
