"""Which model an installation has: the offline model, or a language model with the offline one behind it."""

from agent.llm.base import Model
from agent.llm.offline import OfflineModel


def configured() -> Model:
    """The model that the settings name."""
    return OfflineModel()
