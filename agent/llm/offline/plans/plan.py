"""The type of a plan, which answers one frame."""

from collections.abc import Generator, Sequence

from agent.answers.answer import Answer
from agent.inference.base import Step, StepResult

# A plan yields the steps it needs together, is sent their results, and returns its answer.
Plan = Generator[Sequence[Step], Sequence[StepResult], Answer]
