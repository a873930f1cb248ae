"""What the knowledge flow gets from above: the language model of the settings, and our own reading of small talk."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from django.conf import settings

from agent.conversation import spending
from agent.inference.base import ModelUnavailable, Usage, Withheld
from agent.knowledge.flow.prompts import SYSTEM
from agent.knowledge.flow.running import KnowledgeModel
from agent.llm.chosen import BREAKER_FAILURES, BREAKER_SECONDS, has_language_model
from agent.llm.offline.reading.decide import decide
from agent.llm.offline.reading.recognise import recognise
from pharmacy_site.lib.breaker import Breaker

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_SMALL_TALK: Final = {"greeting": "hello", "thanks": "you_are_welcome", "bye": "goodbye"}


def small_talk(text: str) -> str:
    """Return the name of the ready sentence that answers a message of nothing but courtesies, "" for any other."""
    frames = decide(recognise(text), {}).frames
    if not frames or any(frame.intent not in _SMALL_TALK for frame in frames):
        return ""
    return _SMALL_TALK[frames[-1].intent]


@contextmanager
def knowledge_model(*, purpose: str = "knowledge") -> Iterator[KnowledgeModel | None]:
    """Open the language model for one question; None without one, or when the tokens of the day are used up.

    What it uses counts under `purpose`; with "" the caller counts it, as the chat does for its runs. Not in the thread of a
    running event loop.
    """
    if not has_language_model() or not _has_tokens():
        yield None
        return
    # Not above: the library is slow to load, and useless without a language model.
    from agent.inference.openai import client_open

    # The flow is synchronous: the client lives in an event loop of its own, as long as one question is answered.
    with asyncio.Runner() as runner:
        client = client_open(settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL, settings.OPENAI_TIMEOUT)
        model = PromptModel(client, runner)
        try:
            yield model
        finally:
            runner.run(client.close())
            if purpose:
                spending.use_record(purpose, model.used)


class PromptModel:
    """A language model that answers single prompts in a runner's event loop; `used` are all its tokens."""

    def __init__(self, client: "AsyncOpenAI", runner: asyncio.Runner) -> None:
        self._client, self._runner = client, runner
        self.used = Usage()

    def ask(self, prompt: str, *, fast: bool, retries: int, seconds: float, usage: Usage) -> str:
        """Return the model's text; see KnowledgeModel."""
        mine = Usage()
        try:
            return self._runner.run(self._asked(prompt, fast, retries, seconds, mine))
        except Withheld:
            raise ModelUnavailable("withheld") from None
        finally:
            for total in (usage, self.used):
                total.tokens_in += mine.tokens_in
                total.tokens_out += mine.tokens_out

    async def _asked(self, prompt: str, fast: bool, retries: int, seconds: float, usage: Usage) -> str:
        from agent.inference.openai import ChatCompletions

        name = (settings.OPENAI_FAST_MODEL if fast else "") or settings.OPENAI_MODEL
        completions = ChatCompletions(
            self._client,
            model=name,
            breaker=_breaker(settings.OPENAI_BASE_URL, name),
            first_token=min(seconds, settings.OPENAI_FIRST_TOKEN_TIMEOUT),
        )
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}]
        until = asyncio.get_running_loop().time() + seconds
        completion = await completions.complete(messages, (), usage, _unheard, until, retries=retries)
        if completion.is_cut:
            raise ModelUnavailable("too_long")
        return completion.text


async def _unheard(piece: str) -> None:
    """Ignore a piece: a reply is read when it is whole."""


def _has_tokens() -> bool:
    spending.limits_read()
    try:
        spending.budget_check(0)
    except ModelUnavailable:
        return False
    return True


@lru_cache(maxsize=8)
def _breaker(base_url: str, model: str) -> Breaker:
    """Return this process's breaker, apart from the chat's: here a model has less time, and being slow counts as failing."""
    return Breaker(f"knowledge model {model}", failures=BREAKER_FAILURES, seconds=BREAKER_SECONDS)
