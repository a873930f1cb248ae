"""A plan: how one question of a customer is answered."""

from collections.abc import Generator, Sequence

from agent.answers.parts import AnswerPart
from agent.inference.base import Step, StepResult

# A plan yields the steps it needs together, is sent their results, and returns its part.
Plan = Generator[Sequence[Step], Sequence[StepResult], AnswerPart]
