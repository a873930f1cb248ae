"""What the loop asks of a model: look at the turn so far, then name the next steps or word the answer.

The offline model is one implementation. A model holds no authority: it never sees a code, and what it puts into
a call about a patient is compared with the server's record of the conversation.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from pharmacy_site.lib.text import Language
from stores.geo import Point


@dataclass(frozen=True)
class Step:
    """A tool call, or one of the server's own actions (`identity.code`, `handoff.open`), asked for by a model."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StepResult:
    """What came of a step: for tools `result` is exactly the contract's output, `evidence` the facts beside it."""

    step: Step
    ok: bool
    result: Mapping[str, Any]
    code: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Account:
    """What one turn took: the model that worded its answer, its rules' version, tokens, why it fell back."""

    model: str = ""
    prompt: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    fallback: str = ""
    personal: bool = False  # the model saw a patient's data, so its words may hold some


@dataclass(frozen=True)
class Turn:
    """All that a model knows when it is asked for the next step.

    `text` is the message with secrets masked and without the parts that policy refused (`refused` tells which rule).
    `state` is what the conversation is about so far; `identifier` is set while the customer's identity is proven, and
    `personal` holds that patient's values by kind, which leave the house only as placeholders. `earlier` tells what the
    messages of the last turns hold, oldest first, and `tokens_spent` what the conversation has cost so far.
    """

    text: str
    language: Language
    state: Mapping[str, Any]
    now: datetime
    results: Sequence[StepResult] = ()
    refused: str = ""
    identifier: str | None = None
    identity_policy: str = "otp"
    identity_elsewhere: bool = (
        False  # nobody is identified in this frame: the chat goes on in our own window first
    )
    challenge_open: bool = False
    code: Mapping[str, Any] = field(default_factory=dict)
    location: Point | None = None
    resumed: bool = False
    asked_by_another: bool = False  # than is proven now: it is not answered
    patient_id: str | None = None
    conversation_language: Language = "en"
    earlier: Callable[[], Sequence[Mapping[str, Any]]] = tuple
    tokens_spent: int = 0
    personal: Mapping[str, Sequence[str]] = field(default_factory=dict)
    account: Account = field(default_factory=Account, compare=False)
    memo: dict[str, Any] = field(default_factory=dict, compare=False)  # a model's own notes within one turn


@dataclass(frozen=True)
class Reply:
    """A worded answer. `quoted` are leaflet texts that it cites verbatim; `state` replaces the conversation's.

    `fixed` marks the server's own settled sentences (emergencies, codes); no model's answer is. `free` marks an answer
    that a language model worded. `phones` are numbers to call now.
    """

    text: str
    language: Language
    state: Mapping[str, Any]
    cards: Sequence[Mapping[str, Any]] = ()
    suggestions: Sequence[str] = ()
    quoted: Sequence[str] = ()
    fixed: bool = False
    free: bool = False
    phones: Sequence[str] = ()


class ModelUnavailable(Exception):
    """The model cannot answer; `reason` is a short code for logs and the run: "timeout", "overloaded", "cut", …"""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Withheld(Exception):
    """What a model said may not be shown; `problems` names the rules it broke, never its words."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(",".join(problems))
        self.problems = tuple(problems)


class Speech(Protocol):
    """Where a model's words go as they come: a customer sees a sentence only once it has been checked."""

    async def hear(self, piece: str, language: Language) -> None:
        """Takes the next piece of the answer, which is to be in this language. Raises Withheld."""
        ...

    async def end(self, language: Language) -> None:
        """The answer is whole; what was still held is looked at, and its language. Raises Withheld."""
        ...

    def restart(self) -> None:
        """Takes back what was said in this turn."""
        ...


class Model(Protocol):
    """One interchangeable mind of the loop."""

    name: str

    async def next(self, turn: Turn, speech: Speech) -> Sequence[Step] | Reply:
        """The next steps to run, or the answer. Called again with their results until it answers.

        A model may let its answer be heard while it comes; the reply's text is what counts. Raises ModelUnavailable and
        Withheld.
        """
        ...
