"""What one run of the flow knows beside the shared state: its model, its language, its clock, and what it has used."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from agent.inference.base import Usage
from agent.safety.privacy.placeholders import Placeholders


class KnowledgeModel(Protocol):
    """A language model that answers one prompt."""

    def ask(self, prompt: str, *, fast: bool, retries: int, seconds: float, usage: Usage) -> str:
        """Return the model's text and add its tokens to `usage`, also when it fails.

        `fast` asks for a short answer; `retries` is how often a busy server is asked again. Raises ModelUnavailable.
        """
        ...


@dataclass(frozen=True)
class Limits:
    """How long a run may take. After `seconds` no model is asked any more and no wait is begun: the stored answers come.

    `calls` bounds the requests to the model, retries by its client aside.
    """

    seconds: float = 20.0
    call_seconds: float = 6.0
    """For each request in fast mode; the one that composes the answer may take twice as long."""
    calls: int = 16
    topic_wait: float = 2.0
    """Between the three tries of TopicClassifyAgent, as the specification says."""


def _nothing(text: str) -> str:
    return ""


def _unheard(code: str) -> None:
    pass


PROGRESS: Final[Mapping[str, str]] = {
    "IngestQuery": "ingest",
    "DecideSummarizeConversationToRetriveOrDirectlyAnswer": "decide",
    "RagAgent": "orchestrate",
    "QueryCreatingForRetrievalAgent": "create_query",
    "TopicClassifyAgent": "classify",
    "RetrieveFromKB": "retrieve",
    "FilterAgent": "filter",
    "ComposeAnswer": "compose",
    "FallbackNode": "fallback",
}
"""The code that `progress` gets when a node begins."""


@dataclass
class Running:
    """One run. Nodes get it as LangGraph's context, so that nothing in the shared state can replace it."""

    language: str
    model: KnowledgeModel | None = None
    limits: Limits = field(default_factory=Limits)
    progress: Callable[[str], None] = _unheard
    personal: Mapping[str, Sequence[str]] = field(default_factory=dict)
    small_talk: Callable[[str], str] = _nothing
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    usage: Usage = field(default_factory=Usage)
    path: list[str] = field(default_factory=list)
    calls: int = 0

    def __post_init__(self) -> None:
        self._until = self.clock() + self.limits.seconds
        self._placeholders = Placeholders(self.personal)

    @property
    def remaining(self) -> float:
        """How many seconds the run has left."""
        return self._until - self.clock()

    def enter(self, node: str) -> None:
        """Note that a node begins."""
        self.path.append(node)
        self.progress(PROGRESS[node])

    def hide(self, text: str) -> str:
        """Return the text without the customer's known values and what looks personal."""
        return self._placeholders.hide(text)

    def pause(self, seconds: float) -> bool:
        """Wait, unless the run would be over by then; return whether it waited."""
        if self.remaining <= seconds:
            return False
        self.sleep(seconds)
        return True
