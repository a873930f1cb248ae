"""What a run shows while it is at work: sent at once, and remembered for clients that come back in the middle."""

from dataclasses import dataclass, field
from uuid import UUID

from agent.chat.hub import Hub
from agent.chat.protocol import MessageDelta, RunMessage, ToolStarted
from agent.conversation.records import Progress, ToolCall


@dataclass
class RunProgress:
    """What one attempt at a run has shown, in the process that makes it. Offsets count characters (code points)."""

    hub: Hub
    key: str
    run_id: UUID
    attempt: int
    calls: list[ToolCall] = field(default_factory=list)
    text: str = ""
    # Something was shown since it was last stored.
    changed: bool = False

    def begin(self) -> None:
        """Start the attempt; clients discard what an earlier one showed."""
        self._send({"type": "run.started", "run_id": str(self.run_id), "attempt": self.attempt})

    def call_begins(self, call: ToolCall) -> None:
        """Show that a tool is called."""
        self.calls.append(call)
        self._send(_started(str(self.run_id), call))

    def call_ends(self, call_id: str, name: str, *, ok: bool, duration_ms: int) -> None:
        """Show how a tool's call ended."""
        # New rows, since another thread may be storing the old ones.
        self.calls = [
            {**call, "ok": ok, "duration_ms": duration_ms} if call["call_id"] == call_id else call
            for call in self.calls
        ]
        self._send(
            {
                "type": "tool.finished",
                "run_id": str(self.run_id),
                "call_id": call_id,
                "name": name,
                "ok": ok,
                "duration_ms": duration_ms,
            }
        )

    def say(self, text: str) -> None:
        """Show the next piece of the answer, which has been checked."""
        offset, self.text = len(self.text), self.text + text
        self._send({"type": "message.delta", "run_id": str(self.run_id), "offset": offset, "text": text})

    def unsay(self) -> None:
        """Take the answer so far back: the next piece begins at 0."""
        self.text = ""
        self._send({"type": "message.delta", "run_id": str(self.run_id), "offset": 0, "text": ""})

    def snapshot(self) -> Progress:
        """Return what was shown so far."""
        return {"run_id": str(self.run_id), "attempt": self.attempt, "calls": self.calls, "text": self.text}

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
            messages.append(
                {
                    "type": "tool.finished",
                    "run_id": run_id,
                    "call_id": call["call_id"],
                    "name": call["name"],
                    "ok": call["ok"],
                    "duration_ms": call["duration_ms"],
                }
            )
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
