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
        delta: MessageDelta = {
            "type": "message.delta",
            "run_id": str(self.run_id),
            "offset": len(self.text),
            "text": text,
        }
        if (self.text, text) != (self.brief, brief):
            delta["brief"] = {"offset": len(self.brief), "text": brief}
        self.text, self.brief = self.text + text, self.brief + brief
        self._send(delta)

    def unsay(self) -> None:
        """Take the answer so far back: the next piece begins at 0."""
        self.text = self.brief = ""
        self._send({"type": "message.delta", "run_id": str(self.run_id), "offset": 0, "text": ""})

    def answered(self) -> None:
        """Make open sockets read the answer, which is in the log."""
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
        }

    def _send(self, message: RunMessage) -> None:
        self.changed = True
        self.hub.send(self.key, message)


def messages_of(progress: Progress, offset: int) -> list[RunMessage]:
    """Return the messages that bring a client up to date that has `offset` characters of this run's answer already."""
    run_id = progress["run_id"]
    messages: list[RunMessage] = [{"type": "run.started", "run_id": run_id, "attempt": progress["attempt"]}]
    for call in progress["calls"]:
        messages.append(_started(run_id, call))
        if "ok" in call:
            messages.append(_finished(run_id, call))
    if rest := rest_of(progress, offset):
        messages.append(rest)
    return messages


def rest_of(progress: Progress, offset: int) -> MessageDelta | None:
    """Return the one delta behind `offset`, None when there is nothing more."""
    text = progress["text"]
    if offset >= len(text):
        return None
    return {"type": "message.delta", "run_id": progress["run_id"], "offset": offset, "text": text[offset:]}


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
