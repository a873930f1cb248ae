"""The interface of a model: it opens a session for a turn, and the session names steps until it has an answer.

The offline model and the language model both implement it. A model has no authority: it never sees a code, and what it
puts into a call about a patient is compared with the server's record of the conversation.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from agent.evidence import Evidence
from agent.state import ConversationState
from pharmacy_site.lib.text import Language
from stores.geo import Point


@dataclass(frozen=True)
class Step:
    """A tool call, or an action of the server (`identity.code`, `handoff.open`), that a model asks for."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StepResult:
    """What a step returned: for tools `result` is exactly the contract's output, `evidence` the facts beside it."""

    step: Step
    ok: bool = False
    result: Mapping[str, Any] = field(default_factory=dict)
    code: str = ""
    evidence: Evidence = field(default_factory=Evidence)


@dataclass
class Usage:
    """What one turn used: tokens, the model that worded the answer, the version of its rules, why it fell back."""

    tokens_in: int = 0
    tokens_out: int = 0
    model: str = ""
    prompt: str = ""
    fallback: str = ""
    personal: bool = False
    """Whether the model was sent a patient's data, so that its words may hold some."""


@dataclass(frozen=True)
class Turn:
    """All that a model knows of a turn when it begins.

    `text` is the message with its secrets masked; `refused` names the rule by which policy refuses it. `state` is what the
    conversation has been about. `identifier` is set while the customer's identity is proven, and `personal` holds that
    patient's values by kind, which a language model only gets as placeholders. `earlier` returns the last messages, oldest
    first; `tokens_spent` counts what the conversation has used before.
    """

    text: str
    language: Language
    state: ConversationState
    now: datetime
    refused: str = ""
    identifier: str | None = None
    identity_policy: str = "otp"
    identity_elsewhere: bool = False
    """Whether the chat is in a frame of another site, where nobody can identify: they go on in our own window."""
    challenge_open: bool = False
    code: Mapping[str, Any] = field(default_factory=dict)
    location: Point | None = None
    resumed: bool = False
    asked_by_another: bool = False
    """Whether the message was written by another patient than the one who is proven now: it is not answered."""
    patient_id: str | None = None
    conversation_language: Language = "en"
    earlier: Callable[[], Sequence[Mapping[str, Any]]] = tuple
    tokens_spent: int = 0
    personal: Mapping[str, Sequence[str]] = field(default_factory=dict)
    knowledge_role: str = ""
    """Whose collection of the knowledge base may answer, as the server chose it; empty: none, as while staff or an emergency comes first."""
    is_reviewed: bool = False
    """Whether the message would be refused as a request for advice, but is word for word a published question: that answers it."""


@dataclass(frozen=True)
class Reply:
    """A worded answer. `brief` is its text for a client that shows the cards, empty if it is the same.

    `quoted` are leaflet texts that it cites verbatim; `state` replaces the conversation's.
    `fixed` marks the server's own sentences (emergencies, codes), which are not checked again. `free` marks an answer that a
    language model worded. `phones` are numbers to call now.
    """

    text: str
    language: Language
    state: ConversationState
    brief: str = ""
    cards: Sequence[Mapping[str, object]] = ()
    """See `agent.answers.cards`."""
    suggestions: Sequence[str] = ()
    quoted: Sequence[str] = ()
    fixed: bool = False
    free: bool = False
    phones: Sequence[str] = ()
    silent: bool = False
    """Whether nothing is said: a person answers this message."""

    def framed(self, before: str = "", after: str = "") -> "Reply":
        """Return the reply with paragraphs before and after its text, whole and brief."""

        def around(text: str) -> str:
            return "\n\n".join(part for part in (before, text, after) if part)

        return replace(self, text=around(self.text), brief=self.brief and around(self.brief))


class ModelUnavailable(Exception):
    """The model cannot answer; `reason` is a short code for logs and the run: "timeout", "overloaded", "cut", …"""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Withheld(Exception):
    """What a model said may not be shown; `problems` names the rules that it broke, never its words."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(",".join(problems))
        self.problems = tuple(problems)


class Speech(Protocol):
    """Shows a model's answer while it is generated: a customer sees a sentence only once it has been checked."""

    def show(self, text: str, brief: str | None = None) -> None:
        """Show the next piece of the answer; `brief` is the same beside its cards, if it differs."""
        ...

    def restart(self) -> None:
        """Take back what was shown of this turn's answer."""
        ...


@dataclass
class Session(ABC):
    """A model at work on one turn. What it remembers within the turn are attributes of its subclass."""

    turn: Turn
    """Replaced when an action of this turn has changed who is identified."""
    usage: Usage = field(default_factory=Usage, init=False)

    @property
    def language(self) -> Language:
        """The language of the answer."""
        return self.turn.language

    @property
    def further_steps(self) -> int:
        """How many steps the turn may take beyond its limit: only plans and checks of our own, which end by themselves."""
        return 0

    @abstractmethod
    async def next(self, results: Sequence[StepResult], speech: Speech) -> Sequence[Step] | Reply:
        """Return the next steps to run, or the answer.

        `results` are those of the steps that it named last, none at first. A session may stream its answer into `speech`;
        the reply's text is what counts. Raises ModelUnavailable and Withheld.
        """


@dataclass
class FixedReply(Session):
    """Answers with a sentence of the server's own."""

    reply: Reply

    async def next(self, results: Sequence[StepResult], speech: Speech) -> Reply:
        """Return the reply."""
        return self.reply


class Silence(Session):
    """Leaves a message to the person who has the conversation, or who is waited for."""

    async def next(self, results: Sequence[StepResult], speech: Speech) -> Reply:
        """Return a reply that is not written."""
        return Reply("", self.turn.language, self.turn.state, fixed=True, silent=True)


class Model(Protocol):
    """Something that can answer turns."""

    name: str
    says_refusals: bool
    """Whether it says the refusal of a turn that is `refused`; of other models the offline one answers such turns."""

    async def open(self, turn: Turn) -> Session:
        """Begin a turn. Raises ModelUnavailable."""
        ...
