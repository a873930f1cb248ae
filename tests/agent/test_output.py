"""The last look at an answer: what its numbers may rest on."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone

from agent.inference.base import Reply, Step, StepResult, Turn
from agent.turn.answer_check import OutputCheck


@pytest.mark.parametrize(
    ("results", "found", "said", "is_proven"),
    [
        (1, {"name": "Advil"}, "There are 2 of them.", False),
        (3, {"name": "Advil"}, "There are 3 of them.", False),
        (1, {"names": ["Advil", "Nurofen"]}, "There are 2 of them.", True),
        (2, {"names": ["Advil", "Nurofen", "Motrin"]}, "There are 3 of them.", True),
        (1, {"names": ["Advil"], "total": 7}, "There are 7 of them.", True),
    ],
)
def test_a_count_is_proven_by_the_length_of_a_list(
    results: int, found: dict[str, Any], said: str, is_proven: bool
) -> None:
    async def none_before(work: object) -> list[str]:
        return []

    turn = Turn("hello", "en", {}, timezone.localtime().replace(hour=11, minute=11))
    work: Any = SimpleNamespace(turn=turn)
    check = OutputCheck(work, none_before)
    check.take([StepResult(Step("tool", {}), ok=True, result=dict(found)) for _ in range(results)])
    assert ("number" not in asyncio.run(check.of_reply(Reply(said, "en", {})))) == is_proven
