"""Rows of an evaluation, as its workers report them."""

from typing import Any


def row(scenario: str, trial: int, passed: bool, **other: Any) -> dict[str, Any]:
    return {
        "scenario": scenario, "family": "stock", "language": "en", "trial": trial, "passed": passed, "problems": [],
        "vetoes": [], "spoilt": 0, "turns": 2, "seconds": [0.1, 0.3], "tokens_in": 10, "tokens_out": 5, "cost": 0.01,
        "fallbacks": 0, **other,
    }  # fmt: skip
