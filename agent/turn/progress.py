"""Where a turn shows what it is doing."""

from typing import Protocol

from agent.turn.steps import ToolRun


class ProgressSink(Protocol):
    """Where a turn shows its progress; `text` is the answer that it has shown so far, `brief` that beside its cards."""

    text: str
    brief: str

    def tool_started(self, call: ToolRun) -> None:
        """Show that a tool is being called."""
        ...

    def tool_finished(self, call: ToolRun) -> None:
        """Show that the tool has answered."""
        ...

    def say(self, text: str, brief: str | None = None) -> None:
        """Show the next piece of the answer, which was checked; `brief` is the same beside its cards, if it differs."""
        ...

    def unsay(self) -> None:
        """Take the answer so far back."""
        ...

    def answered(self) -> None:
        """Announce that the answer is in the log."""
        ...

    def withdrawn(self, *, is_over: bool) -> None:
        """Take back what was shown; with `is_over` the run ends without an answer."""
        ...
