"""Which model an installation has: the offline model, or a language model with the offline one behind it."""

import asyncio
import weakref
from functools import lru_cache
from typing import Final

import httpx2
import openai
from django.conf import settings

from agent.inference.base import Model
from agent.inference.openai import ChatCompletions, Server
from agent.llm.dialogue import LanguageModel
from agent.llm.fallback import FirstAvailable
from agent.llm.offline.session import OfflineModel
from pharmacy_site.lib.breaker import Breaker

_FAILURES, _LEFT_ALONE = 5, 30.0
_ANY_KEY = "none"  # a server of one's own may want none; the SDK does
_KEPT: Final = httpx2.Limits(max_connections=1_000, max_keepalive_connections=100, keepalive_expiry=60.0)
"""As many connections as the SDK's own; an idle one is kept for longer than 5 s, or most turns would begin with a handshake."""
_servers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str], Server]] = (
    weakref.WeakKeyDictionary()
)


def has_language_model() -> bool:
    """Whether the settings name a language model."""
    return bool(settings.OPENAI_API_KEY or settings.OPENAI_BASE_URL)


def configured() -> Model:
    """The model that the settings name. Call it inside the event loop that will ask it."""
    if not has_language_model():
        return OfflineModel()
    completions = ChatCompletions(
        _server(settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL),
        model=settings.OPENAI_MODEL,
        breaker=breaker(settings.OPENAI_BASE_URL, settings.OPENAI_MODEL),
        first_token=settings.OPENAI_FIRST_TOKEN_TIMEOUT,
    )
    return FirstAvailable(LanguageModel(completions, settings.OPENAI_TIMEOUT))


@lru_cache(maxsize=8)
def breaker(base_url: str, model: str) -> Breaker:
    """This process's breaker of one model."""
    return Breaker(f"model {model}", failures=_FAILURES, seconds=_LEFT_ALONE)


def _server(key: str, base_url: str) -> Server:
    """The event loop's way to a server: its connections belong to the loop."""
    servers = _servers.setdefault(asyncio.get_running_loop(), {})
    if (key, base_url) not in servers:
        servers[key, base_url] = server_open(key, base_url)
    return servers[key, base_url]


def server_open(key: str, base_url: str) -> Server:
    """A way to a server, with connections of its own."""
    http = openai.DefaultAsyncHttpxClient(limits=_KEPT)
    timeout = httpx2.Timeout(settings.OPENAI_TIMEOUT, connect=settings.OPENAI_FIRST_TOKEN_TIMEOUT)
    client = openai.AsyncOpenAI(
        api_key=key or _ANY_KEY, base_url=base_url or None, timeout=timeout, http_client=http
    )
    return Server(client, http)
