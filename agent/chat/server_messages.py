"""Define the messages that the chat's server sends. The version, `"v": 1`, is not part of them: the sender adds it."""

from typing import Any, Literal, NotRequired, TypedDict

from agent.conversation.handoff import QueuePlace
from agent.conversation.records import NumberedEvent


class RunReference(TypedDict):
    """Names a run."""

    run_id: str


class Rating(TypedDict):
    """How an answer was rated."""

    seq: int
    rating: int


class HelloOk(TypedDict):
    """Answers a hello. `events` are those that the client has missed, in order; `located`: a location is shared."""

    type: Literal["hello.ok"]
    conversation: str
    last_seq: int
    mode: str
    events: list[NumberedEvent]
    retention_days: int
    feedback: list[Rating]
    identity: Literal["here", "elsewhere"]
    located: bool
    queue: list[QueuePlace]
    active_run: NotRequired[RunReference]


class MessageAccepted(TypedDict):
    """Says that a customer's message is committed, and its number."""

    type: Literal["message.accepted"]
    client_msg_id: str
    seq: int
    duplicate: bool


class RunStarted(TypedDict):
    """Says that an attempt at an answer begins; what an earlier one showed is void."""

    type: Literal["run.started"]
    run_id: str
    attempt: int


class ToolStarted(TypedDict):
    """Says that a tool is called; its arguments are redacted."""

    type: Literal["tool.started"]
    run_id: str
    call_id: str
    name: str
    label: str
    arguments: dict[str, Any]


class ToolFinished(TypedDict):
    """Says how a tool's call ended."""

    type: Literal["tool.finished"]
    run_id: str
    call_id: str
    name: str
    ok: bool
    duration_ms: int


class Piece(TypedDict):
    """A piece of an answer, from this character on."""

    offset: int
    text: str


class MessageDelta(Piece):
    """Brings the next piece of an answer. One at offset 0 replaces what was shown; if it is empty, nothing is left.

    `restarts`: how often this attempt took its answer back, left out while it never did; offsets count from the last time.
    `brief` is the piece for clients that show cards, if it differs; no client is sent it under this name.
    """

    type: Literal["message.delta"]
    run_id: str
    restarts: NotRequired[int]
    brief: NotRequired[Piece]


class RunCompleted(TypedDict):
    """Says that a run is over: its answer was sent, or a person answers instead and it had none."""

    type: Literal["run.completed"]
    run_id: str


class FeedbackSaved(TypedDict):
    """Says that a rating is stored."""

    type: Literal["feedback.saved"]
    seq: int
    rating: int


class HandoverReady(TypedDict):
    """Brings the address under which the conversation goes on outside the frame."""

    type: Literal["handover.ready"]
    url: str


class HandoffQueue(QueuePlace):
    """Says that an open hand-off has another place in the queue."""

    type: Literal["handoff.queue"]


class ConversationEnded(TypedDict):
    """Says that the secret opens nothing any more; the socket is closed."""

    type: Literal["conversation.moved", "conversation.deleted"]


class ErrorMessage(TypedDict):
    """Says why a client's message was refused, what to do, and in how many seconds it may be sent again, where that is known."""

    type: Literal["error"]
    code: str
    message: str
    retryable: bool
    retry_after: NotRequired[int]
    client_msg_id: NotRequired[str]
    tries_left: NotRequired[int]


class Pong(TypedDict):
    """Answers a ping."""

    type: Literal["pong"]


RunMessage = RunStarted | ToolStarted | ToolFinished | MessageDelta
EphemeralMessage = RunMessage | RunCompleted | HandoffQueue | ConversationEnded
"""What reaches whoever listens at the moment and is stored nowhere."""
ServerMessage = (
    NumberedEvent
    | EphemeralMessage
    | HelloOk
    | MessageAccepted
    | FeedbackSaved
    | HandoverReady
    | ErrorMessage
    | Pong
)
