"""What a run shows while it is at work: sent at once, and remembered for clients that come back in the middle."""

from dataclasses import dataclass, field
from uuid import UUID

from agent.chat.hub import Hub
from agent.chat.server_messages import MessageDelta, RunMessage, ToolFinished, ToolStarted
from agent.conversation.records import Progress, ToolCall
from agent.turn.steps import ToolRun


@dataclass
class RunProgress:
    """What one attempt at a run has shown, in the process that makes it. Offsets count characters (code points)."""

    hub: Hub
    key: str
    run_id: UUID
    attempt: int
    calls: dict[str, ToolRun] = field(default_factory=dict)
    text: str = ""
    # The answer for clients that show its cards.
    brief: str = ""
    # How often the answer was taken back.
    restarts: int = 0
    # Something was shown since it was last stored.
    changed: bool = False

    def begin(self) -> None:
        """Start the attempt; clients discard what an earlier one showed."""
        self._send({"type": "run.started", "run_id": str(self.run_id), "attempt": self.attempt})

    def tool_started(self, call: ToolRun) -> None:
        """Show that a tool is called."""
        self.calls[call.call_id] = call
        self._send(_started(str(self.run_id), _stored(call)))

    def tool_finished(self, call: ToolRun) -> None:
        """Show how a tool's call ended."""
        self.calls[call.call_id] = call
        self._send(_finished(str(self.run_id), _stored(call)))

    def say(self, text: str, brief: str | None = None) -> None:
        """Show the next piece of the answer, which was checked; `brief` is the same beside its cards, if it differs."""
        brief = text if brief is None else brief
        delta = _delta(str(self.run_id), self.restarts, len(self.text), text)
        if (self.text, text) != (self.brief, brief):
            delta["brief"] = {"offset": len(self.brief), "text": brief}
        self.text, self.brief = self.text + text, self.brief + brief
        self._send(delta)

    def unsay(self) -> None:
        """Take the answer so far back on every page: the next piece begins at 0."""
        self.text = self.brief = ""
        self.restarts += 1
        self._send(_delta(str(self.run_id), self.restarts, 0, ""))

    def answered(self) -> None:
        """Make open sockets read the answer, which is in the log."""
        self.hub.ring(self.key)

    def withdrawn(self, *, is_over: bool) -> None:
        """Take back what was shown on every page; with `is_over` the run ends without an answer."""
        if self.text:
            self.unsay()
        if is_over:
            self.hub.send(self.key, {"type": "run.completed", "run_id": str(self.run_id)})
            self.hub.ring(self.key)

    def snapshot(self) -> Progress:
        """Return what was shown so far."""
        calls = [_stored(call) for call in self.calls.values()]
        return {
            "run_id": str(self.run_id),
            "attempt": self.attempt,
            "calls": calls,
            "text": self.text,
            "brief": self.brief,
            "restarts": self.restarts,
        }

    def _send(self, message: RunMessage) -> None:
        self.changed = True
        self.hub.send(self.key, message)


def messages_of(progress: Progress, restarts: int, offset: int) -> list[RunMessage]:
    """Return the messages that bring a client up to date that has so much of this run's answer (see `rest_of`)."""
    run_id = progress["run_id"]
    messages: list[RunMessage] = [{"type": "run.started", "run_id": run_id, "attempt": progress["attempt"]}]
    for call in progress["calls"]:
        messages.append(_started(run_id, call))
        if "ok" in call:
            messages.append(_finished(run_id, call))
    if rest := rest_of(progress, restarts, offset):
        messages.append(rest)
    return messages


def rest_of(progress: Progress, restarts: int, offset: int) -> MessageDelta | None:
    """Return the one delta that a client lacks, None when it lacks nothing.

    The client has `offset` characters of the answer as it is since its `restarts`-th restart. What came before a later
    restart was taken back, so it gets everything from 0; progress that was stored before an earlier one adds nothing.
    """
    text, now = progress["text"], progress.get("restarts", 0)
    if now > restarts:
        return _delta(progress["run_id"], now, 0, text)
    if now < restarts or offset >= len(text):
        return None
    return _delta(progress["run_id"], now, offset, text[offset:])


def _delta(run_id: str, restarts: int, offset: int, text: str) -> MessageDelta:
    delta: MessageDelta = {"type": "message.delta", "run_id": run_id, "offset": offset, "text": text}
    if restarts:
        delta["restarts"] = restarts
    return delta


def _started(run_id: str, call: ToolCall) -> ToolStarted:
    return {
        "type": "tool.started",
        "run_id": run_id,
        "call_id": call["call_id"],
        "name": call["name"],
        "label": call["label"],
        "arguments": call["arguments"],
    }


def _finished(run_id: str, call: ToolCall) -> ToolFinished:
    return {
        "type": "tool.finished",
        "run_id": run_id,
        "call_id": call["call_id"],
        "name": call["name"],
        "ok": call["ok"],
        "duration_ms": call["duration_ms"],
    }


def _stored(call: ToolRun) -> ToolCall:
    """Return a call as a run's progress stores it."""
    stored: ToolCall = {
        "call_id": call.call_id,
        "name": call.step.name,
        "label": call.label,
        "arguments": dict(call.arguments_shown),
    }
    if not call.is_running:
        stored["ok"], stored["duration_ms"] = call.ok, call.duration_ms
    return stored
