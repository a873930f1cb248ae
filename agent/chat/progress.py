"""What a run shows while it is at work: sent at once, and remembered for those who come back in the middle."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from agent.chat.hub import Hub
from agent.turn.steps import ToolRun


@dataclass
class RunProgress:
    """One attempt at one run, in the process that makes it. Offsets count characters (code points)."""

    hub: Hub
    key: str
    run_id: UUID
    attempt: int
    calls: dict[str, ToolRun] = field(default_factory=dict)
    text: str = ""
    changed: bool = False  # since it was last written down

    def begin(self) -> None:
        """Start an attempt; clients discard the output of earlier ones."""
        self._tell({"type": "run.started", "attempt": self.attempt})

    def tool_started(self, call: ToolRun) -> None:
        """Show that a tool is being called."""
        self.calls[call.call_id] = call
        self._tell({"type": "tool.started", **_started(call)})

    def tool_finished(self, call: ToolRun) -> None:
        """Show that the tool has answered."""
        self.calls[call.call_id] = call
        self._tell({"type": "tool.finished", **_finished(call)})

    def say(self, text: str) -> None:
        """Show the next piece of the answer, which has been checked."""
        offset, self.text = len(self.text), self.text + text
        self._tell({"type": "message.delta", "offset": offset, "text": text})

    def unsay(self) -> None:
        """Take the answer so far back: the next piece begins at 0."""
        self.text = ""
        self._tell({"type": "message.delta", "offset": 0, "text": ""})

    def answered(self) -> None:
        """Announce that the answer is in the log."""
        self.hub.ring(self.key)

    def progress(self) -> dict[str, Any]:
        """Return what there is so far, as it is written down for other processes."""
        calls = [
            _started(call) | ({} if call.is_running else _finished(call)) for call in self.calls.values()
        ]
        return {"run_id": str(self.run_id), "attempt": self.attempt, "calls": calls, "text": self.text}

    def _tell(self, frame: dict[str, Any]) -> None:
        self.changed = True
        kind = {"type": frame.pop("type"), "run_id": str(self.run_id)}
        self.hub.tell(self.key, kind | frame)


def _started(call: ToolRun) -> dict[str, Any]:
    return {
        "call_id": call.call_id,
        "name": call.step.name,
        "label": call.label,
        "arguments": dict(call.arguments_shown),
    }


def _finished(call: ToolRun) -> dict[str, Any]:
    return {
        "call_id": call.call_id,
        "name": call.step.name,
        "ok": call.ok,
        "duration_ms": call.duration_ms,
    }


def replayed(progress: dict[str, Any], offset: int) -> list[dict[str, Any]]:
    """The frames that bring somebody up to date who has `offset` characters of this run's answer already."""
    run = {"v": 1, "run_id": progress["run_id"]}
    frames = [{**run, "type": "run.started", "attempt": progress["attempt"]}]
    for call in progress["calls"]:
        shown = {name: call[name] for name in ("call_id", "name", "label", "arguments")}
        frames.append({**run, "type": "tool.started", **shown})
        if "ok" in call:
            ended = {name: call[name] for name in ("call_id", "name", "ok", "duration_ms")}
            frames.append({**run, "type": "tool.finished", **ended})
    if rest := rest_of(progress, offset):
        frames.append(rest)
    return frames


def rest_of(progress: dict[str, Any], offset: int) -> dict[str, Any] | None:
    """The one delta behind `offset`, or None when there is nothing more."""
    text = progress["text"]
    if offset >= len(text):
        return None
    run = {"v": 1, "type": "message.delta", "run_id": progress["run_id"]}
    return {**run, "offset": offset, "text": text[offset:]}
