"""Define what a reasoner is: something that reads the steps so far and says what to look at next. Pure.

It thinks and names an action; the actions themselves are ours (`prescriptions.refill.central`).
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import Final, Literal, Protocol

Action = Literal["reason", "roles", "branch", "working_hours", "on_call", "choose", "check"]
TOOLS: Final[Mapping[Action, str]] = {
    "reason": "Why the request waits for a person, and the findings behind it.",
    "roles": "The roles that may decide for this reason, the usual one first.",
    "branch": "The branch at which the refill is picked up.",
    "working_hours": "Whether a branch is open now, and when that changes.",
    "on_call": "Who of a role is on call now for a branch and this reason, the most specific line first.",
}
"""What a reasoner may look at."""
By = Literal["model", "rules"]


@dataclass(frozen=True)
class Thought:
    """What a reasoner thinks, and what it wants to see; of "choose" the arguments are `role` and `person`."""

    thought: str
    action: str
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class ReasoningStep:
    """One step of the loop: who thought what, did what, and what was seen. Of the rules `thought` is a code."""

    by: By
    thought: str
    action: str
    arguments: Mapping[str, object]
    observation: Mapping[str, object]

    def as_json(self) -> dict[str, object]:
        """Return the step as it is stored."""
        return asdict(self)


class ReasonerFailed(Exception):
    """The reasoner did not say what to do; `reason` is a short code ("timeout", "overloaded", "no_action")."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Reasoner(Protocol):
    """Finds a contact step by step. It sees codes and numbers: no patient and no medicine."""

    def next(self, steps: Sequence[ReasoningStep]) -> Thought:
        """Return what to do after these steps. Raises ReasonerFailed."""
        ...


class ReasonerOpener(Protocol):
    """Opens a reasoner for one request, or returns None when the site has none. `REFILL_REASONER` names one."""

    def __call__(self, seconds: float) -> AbstractContextManager[Reasoner] | None:
        """Return a reasoner that thinks for so many seconds in all. Raises ReasonerFailed."""
        ...
