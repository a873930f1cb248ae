"""Shapes of what a conversation stores as JSON and clients read: its numbered events, and what a run has shown so far."""

from typing import Any, NotRequired, TypedDict


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
    cards: NotRequired[list[Any]]
    suggestions: NotRequired[list[Any]]
    tools: NotRequired[list[Any]]
    # Of a question for a yes or a no:
    summary: NotRequired[dict[str, Any]]


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
