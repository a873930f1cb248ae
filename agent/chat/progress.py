"""What a run shows while it is at work: passed on at once, and remembered for those who come back in the middle."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from agent.chat.hub import Hub


@dataclass
class RunProgress:
    """One attempt at one run, in the process that makes it. Offsets count characters (code points)."""

    hub: Hub
    key: str
    run_id: UUID
    attempt: int
    calls: list[dict[str, Any]] = field(default_factory=list)
    text: str = ""
    changed: bool = False  # since it was last written down

    def begin(self) -> None:
        """The attempt begins, perhaps anew: what an earlier one showed is void."""
        self._tell({"type": "run.started", "attempt": self.attempt})

    def call_begins(self, call: dict[str, Any]) -> None:
        """A tool is being called: `call_id`, `name`, `label`, `arguments` (redacted)."""
        self.calls.append(call)
        self._tell({"type": "tool.started", **call})

    def call_ends(self, call_id: str, name: str, *, ok: bool, duration_ms: int) -> None:
        """The tool has answered."""
        ended = {"call_id": call_id, "name": name, "ok": ok, "duration_ms": duration_ms}
        self.calls = [call | ended if call["call_id"] == call_id else call for call in self.calls]
        self._tell({"type": "tool.finished", **ended})

    def say(self, text: str) -> None:
        """The next piece of the answer, checked."""
        offset, self.text = len(self.text), self.text + text
        self._tell({"type": "message.delta", "offset": offset, "text": text})

    def unsay(self) -> None:
        """Takes the answer so far back: the next piece begins at 0."""
        self.text = ""
        self._tell({"type": "message.delta", "offset": 0, "text": ""})

    def progress(self) -> dict[str, Any]:
        """What there is so far, as it is written down for other processes."""
        return {"run_id": str(self.run_id), "attempt": self.attempt, "calls": self.calls, "text": self.text}

    def _tell(self, frame: dict[str, Any]) -> None:
        self.changed = True
        kind = {"type": frame.pop("type"), "run_id": str(self.run_id)}
        self.hub.tell(self.key, kind | frame)


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
