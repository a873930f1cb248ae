"""Shapes of what a conversation stores as JSON: its numbered events, what a run was given and what it has shown so far."""

from typing import Any, Literal, NotRequired, TypedDict

from agent.state import ConversationState


class ConversationChanges(TypedDict, total=False):
    """Fields of a conversation that are written together with an event of it."""

    state: ConversationState
    language: str
    latitude: float | None
    longitude: float | None
    emergency: str
    emergency_open: bool


# -- Events -------------------------------------------------------------------------------------------------
class NumberedEvent(TypedDict):
    """An event of the log, replayed to clients that come back. Types have further keys of their own."""

    v: int
    type: str
    seq: int
    at: str
    run_id: NotRequired[str]
    # Of a message:
    role: NotRequired[str]
    lang: NotRequired[str]
    text: NotRequired[str]
    brief: NotRequired[str]
    cards: NotRequired[list[Any]]
    suggestions: NotRequired[list[Any]]
    tools: NotRequired[list[Any]]
    # Of a question for a yes or a no:
    summary: NotRequired["ConfirmSummary"]
    # Of a hand-off: how the patient hears of it.
    contact: NotRequired[list[str]]
    # Of a refill: how far it is.
    card: NotRequired[dict[str, Any]]


class MessagePayload(TypedDict):
    """The content of `message.completed`, of a customer, the assistant or staff."""

    role: str
    text: str
    lang: str
    cards: list[Any]
    suggestions: list[Any]
    # Of a message of staff: who wrote it, as which role, about which hand-off.
    author: NotRequired[str]
    author_role: NotRequired[str]
    handoff: NotRequired[str]
    # Of a customer's message:
    client_msg_id: NotRequired[str]
    # Of an answer:
    run_id: NotRequired[str]
    # The assistant's, while a person was waited for or had the conversation.
    automatic: NotRequired[bool]
    tools: NotRequired[list[Any]]
    # What a client that shows the cards reads instead of `text`, which is whole.
    brief: NotRequired[str]
    factual: NotRequired[bool]
    # Whether the customer's location would help.
    locate: NotRequired[bool]
    phones: NotRequired[list[str]]
    personal: NotRequired[bool]
    confirm_id: NotRequired[str]
    decision: NotRequired[str]


class ConfirmSummary(TypedDict):
    """What would be done, as its card shows it: rows of a label and a value."""

    title: str
    rows: list[list[str]]
    yes: str
    no: str


class ConfirmRequest(TypedDict):
    """The content of `confirm.requested`."""

    confirm_id: str
    action: str
    summary: ConfirmSummary
    expires_at: str


class ConfirmClosed(TypedDict):
    """Content of the event `confirm.closed`, which tells pages that a card can no longer be answered."""

    confirm_id: str
    reason: Literal["called_off"]


# -- Runs ---------------------------------------------------------------------------------------------------
class CodeResult(TypedDict):
    """The outcome of a code or a date of birth: never the code, never whom it proves."""

    outcome: str
    tries_left: int


class ConfirmAnswer(TypedDict):
    """The customer's answer to a confirmation, by its id."""

    id: str
    decision: Literal["yes", "no"]
    action: str


class RunInput(TypedDict, total=False):
    """What a run was given beside the message that it answers. `address` is a key, not the address.

    `typed` is the message as it was typed, encrypted, where the stored one has masks; gone when the run is over.
    """

    address: str
    code: CodeResult
    confirm: ConfirmAnswer
    typed: str


class ToolCall(TypedDict):
    """A call of a tool as customers see it: `arguments` are redacted, `ok` and `duration_ms` come with its end."""

    call_id: str
    name: str
    label: str
    arguments: dict[str, Any]
    ok: NotRequired[bool]
    duration_ms: NotRequired[int]


class Progress(TypedDict):
    """What an attempt at a run has shown so far."""

    run_id: str
    attempt: int
    calls: list[ToolCall]
    text: str
    # The same for a client that shows the cards.
    brief: NotRequired[str]
    # How often the attempt took its answer back; left out: never.
    restarts: NotRequired[int]
