"""Sample what is the same check of many cases: CI looks at all of them, and a developer does not wait for it."""

from collections.abc import Sequence
from typing import TypeVar

from served_site import FULL, IN_CI

T = TypeVar("T")


def sampled(cases: Sequence[T], *, one_in: int) -> Sequence[T]:
    """Return all cases in CI and in the long tests, and elsewhere one of so many."""
    return cases if IN_CI or FULL else cases[::one_in]
