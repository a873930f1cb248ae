"""Choose the model of an installation: the offline model, or a language model with the offline one behind it."""

from functools import lru_cache
from typing import Final

from django.conf import settings

from agent.inference.base import Model
from agent.llm.offline.session import OfflineModel
from pharmacy_site.lib.breaker import Breaker

BREAKER_FAILURES: Final = 5
BREAKER_SECONDS: Final = 30.0


def has_language_model() -> bool:
    """Return whether the settings name a language model."""
    return bool(settings.OPENAI_API_KEY or settings.OPENAI_BASE_URL)


def configured() -> Model:
    """Return the model that the settings name. Call it inside the event loop that will use it."""
    if not has_language_model():
        return OfflineModel()
    # Not above: its library is the slowest part of a start, and useless without a language model.
    from agent.llm.connected import connected

    return connected(breaker(settings.OPENAI_BASE_URL, settings.OPENAI_MODEL))


def warm_up() -> None:
    """Load what `configured` needs, so that no customer waits for it."""
    if has_language_model():
        import agent.llm.connected  # noqa: F401


@lru_cache(maxsize=8)
def breaker(base_url: str, model: str) -> Breaker:
    """Return this process's breaker of one model."""
    return Breaker(f"model {model}", failures=BREAKER_FAILURES, seconds=BREAKER_SECONDS)
