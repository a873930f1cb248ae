"""Which interaction check need not be said because another one says the same."""

import pytest

from agent.inference.base import Step, StepResult
from agent.llm.obligations import is_repeated


def _check(*ids: int, ok: bool = True, code: str = "") -> StepResult:
    step = Step("interaction_check", {"med_ids": [str(pk) for pk in ids], "language": "en"})
    return StepResult(step, ok=ok, code=code)


FAILED = _check(1, 2, ok=False, code="DB_ERROR")
SAME, LARGER, OTHER = _check(1, 2), _check(1, 2, 3), _check(3, 4)


@pytest.mark.parametrize(
    ("one", "others", "expected"),
    [
        (FAILED, [OTHER], False),
        (FAILED, [_check(1, 3)], False),
        (FAILED, [_check(1, 2, ok=False, code="DB_ERROR")], False),
        (FAILED, [_check(1, 2, 3, ok=False, code="DB_ERROR")], False),
        (FAILED, [SAME], True),
        (FAILED, [LARGER], True),
        (SAME, [LARGER], True),
        (SAME, [OTHER], False),
        (SAME, [FAILED], False),
        (StepResult(Step("inventory_find_equivalent", {"med_id": "1"}), ok=True), [SAME], False),
    ],
)
def test_a_check_is_repeated_by_a_success_with_all_its_medicines(
    one: StepResult, others: list[StepResult], expected: bool
) -> None:
    assert is_repeated(one, [*others, one]) is expected
    assert is_repeated(one, [one, *others]) is expected


def test_of_two_equal_checks_one_is_said() -> None:
    first, second = _check(1, 2), _check(2, 1)
    assert [is_repeated(one, [first, second]) for one in (first, second)] == [False, True]
