"""The site's language model is the scripted server."""

from collections.abc import Iterator
from typing import Any

import pytest
from scripted_model import KEY, MODEL, ScriptedModel

from agent.llm import budget, chosen


@pytest.fixture
def model(scripted_model: ScriptedModel, settings: Any, demo_committed: None) -> Iterator[ScriptedModel]:
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = scripted_model.base_url, KEY
    settings.OPENAI_MODEL = MODEL
    settings.OPENAI_FIRST_TOKEN_TIMEOUT, settings.OPENAI_TIMEOUT = 1.0, 3.0
    chosen.breaker.cache_clear()
    budget._day.forget()
    yield scripted_model
