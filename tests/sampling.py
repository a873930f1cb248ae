"""Choose some cases of many that are checked in the same way: CI looks at all of them, and developers do not wait for that."""

from collections.abc import Sequence
from typing import TypeVar

from served_site import IN_CI

T = TypeVar("T")


def sampled(cases: Sequence[T], *, one_in: int, start: int = 0) -> Sequence[T]:
    """Return all cases in CI, and elsewhere one of so many; another `start` chooses other ones."""
    return cases if IN_CI else cases[start % one_in :: one_in]
