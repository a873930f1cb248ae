"""Define what one trial results in: `Outcome` while it is played, `TrialRow` as JSON for the report and the admin."""

from dataclasses import asdict, dataclass, field
from typing import Any, TypedDict, cast


class TranscriptCall(TypedDict):
    """One tool call of an answer."""

    name: str
    arguments: dict[str, Any]
    ok: bool
    code: str


class TranscriptLine(TypedDict):
    """One numbered event of the conversation."""

    type: str
    role: str
    text: str
    lang: str
    calls: list[TranscriptCall]


class TrialRow(TypedDict):
    """One trial as a worker reports it and as `--json` writes it."""

    scenario: str
    family: str
    language: str
    trial: int
    passed: bool
    problems: list[str]
    vetoes: list[str]
    spoilt: int
    turns: int
    seconds: list[float]
    tokens_in: int
    tokens_out: int
    cost: float
    fallbacks: int
    models: list[str]
    transcript: list[TranscriptLine]


@dataclass
class Outcome:
    """The result of one trial, filled while it is played and judged."""

    scenario: str
    family: str
    language: str
    trial: int
    passed: bool = False
    problems: list[str] = field(default_factory=list)
    vetoes: list[str] = field(default_factory=list)
    spoilt: int = 0
    turns: int = 0
    seconds: list[float] = field(default_factory=list)
    """Per turn."""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    fallbacks: int = 0
    models: list[str] = field(default_factory=list)
    transcript: list[TranscriptLine] = field(default_factory=list)

    def as_row(self) -> TrialRow:
        """Return the outcome as JSON data."""
        return cast(TrialRow, asdict(self))
