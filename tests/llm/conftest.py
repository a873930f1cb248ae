"""The site's language model is the scripted server."""

from collections.abc import Iterator
from typing import Any

import pytest
from scripted_model import KEY, MODEL, ScriptedModel

from agent.answers import composition
from agent.answers.composition import Composition
from agent.conversation import spending
from agent.llm import chosen


@pytest.fixture
def model(scripted_model: ScriptedModel, settings: Any, demo_committed: None) -> Iterator[ScriptedModel]:
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = scripted_model.base_url, KEY
    settings.OPENAI_MODEL = MODEL
    settings.OPENAI_FIRST_TOKEN_TIMEOUT, settings.OPENAI_TIMEOUT = 8.0, 20.0
    # Scripts are of the chat; who decides a refill is found by rules.
    settings.REFILL_REASONER = ""
    chosen.breaker.cache_clear()
    spending.day.forget()
    yield scripted_model


@pytest.fixture
def tireless(model: ScriptedModel, settings: Any) -> ScriptedModel:
    """The same for tests that talk a lot: without limits of messages and tokens."""
    settings.CHAT_MESSAGES_PER_MINUTE = settings.CHAT_MESSAGES_PER_DAY = 1_000_000
    settings.OPENAI_TOKENS_PER_CONVERSATION = settings.OPENAI_TOKENS_PER_DAY = 10**12
    return model


@pytest.fixture
def composed(monkeypatch: pytest.MonkeyPatch) -> list[Composition]:
    """Every answer that is composed, in order."""
    found: list[Composition] = []
    end = Composition.end

    async def noticed(self: Composition) -> None:
        await end(self)
        found.append(self)

    monkeypatch.setattr(composition.Composition, "end", noticed)
    return found
