"""What the steps of a turn return: one record per tool call, for the model, the log and the screen, and one per action."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agent.inference.base import StepResult
from agent.tools.base import ToolOutcome


@dataclass(frozen=True)
class ToolRun(StepResult):
    """One call of a tool: what a model reads of it, and what the log and the screen show."""

    call_id: str = ""
    label: str = ""
    arguments_shown: Mapping[str, Any] = field(default_factory=dict)
    is_running: bool = True
    outcome: ToolOutcome | None = None
    """None while it runs, and for a call that was refused before it ran: that one is not recorded."""

    @property
    def duration_ms(self) -> int:
        """How long the tool took."""
        return self.outcome.duration_ms if self.outcome else 0

    def finish(self, outcome: ToolOutcome) -> "ToolRun":
        """Return the call with its outcome."""
        return replace(
            self,
            is_running=False,
            ok=outcome.ok,
            result=outcome.result,
            code=outcome.code or "",
            evidence=outcome.evidence,
            outcome=outcome,
        )

    def refuse(self, errors: Sequence[Mapping[str, str]]) -> "ToolRun":
        """Return the call as one whose name or arguments are not valid."""
        return replace(self, is_running=False, result={"errors": list(errors)}, code="invalid")


@dataclass(frozen=True)
class ActionResult(StepResult):
    """What an action of the server returns to the model, and what it changed."""

    ok: bool = True
    is_personal: bool = False
    """Whether it read a patient's data, so that the answer may hold some."""
    identity_changed: bool = False
    """Whether it proved who asks, or ended the proof."""
    tokens: tuple[int, int] = (0, 0)
    """Tokens of a language model that it sent and got, which count as the turn's."""
    events: Sequence[tuple[str, Mapping[str, Any]]] = ()
    """Types and payloads of the events that request something of the customer: a code, a confirmation."""
