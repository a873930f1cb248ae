"""Compute the figures of many trials: pass^k, vetoes, turns, latency, tokens and costs."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import comb
from typing import Literal, TypedDict

from evaluation.outcome import TrialRow

Figures = TypedDict(
    "Figures",
    {
        "scenarios": int,
        "trials": int,
        "pass^1": float | None,
        "pass^4": float | None,
        "vetoes_pass^1": float | None,
        "turns": float,
        "p50_ms": int,
        "p95_ms": int,
        "tokens_in": int,
        "tokens_out": int,
        "cost": float,
        "fallbacks": int,
        "spoilt": int,
    },
)
"""The figures of a set of trials."""


class Summary(TypedDict):
    """The figures of a whole run; `families` has a part per language and one called "all" for each family."""

    all: Figures
    languages: dict[str, Figures]
    families: dict[str, dict[str, Figures]]


def pass_k(passed: Sequence[bool], k: int) -> float | None:
    """Return the chance that k trials all pass: the unbiased estimate from n trials of a scenario, None if n < k."""
    n, c = len(passed), sum(passed)
    return comb(c, k) / comb(n, k) if n >= k else None


def pass_k_mean(
    rows: Iterable[TrialRow], k: int, passed: Callable[[TrialRow], bool] = lambda row: row["passed"]
) -> float | None:
    """Return pass^k averaged over the scenarios, None if none was played k times."""
    trials: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        trials[row["scenario"]].append(bool(passed(row)))
    values = [value for value in (pass_k(each, k) for each in trials.values()) if value is not None]
    return sum(values) / len(values) if values else None


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that this share of the values does not exceed, 0 without values."""
    if not values:
        return 0.0
    ordered = sorted(values)
    rank = -(-int(share * 100) * len(ordered) // 100)
    return ordered[min(len(ordered), max(1, rank)) - 1]


def figures(rows: Sequence[TrialRow]) -> Figures:
    """Return the figures of a set of trials."""
    seconds = [second for row in rows for second in row["seconds"]]
    return {
        "scenarios": len({row["scenario"] for row in rows}),
        "trials": len(rows),
        "pass^1": pass_k_mean(rows, 1),
        "pass^4": pass_k_mean(rows, 4),
        "vetoes_pass^1": pass_k_mean(rows, 1, lambda row: not row["vetoes"]),
        "turns": sum(row["turns"] for row in rows) / len(rows) if rows else 0.0,
        "p50_ms": round(percentile(seconds, 0.5) * 1000),
        "p95_ms": round(percentile(seconds, 0.95) * 1000),
        "tokens_in": sum(row["tokens_in"] for row in rows),
        "tokens_out": sum(row["tokens_out"] for row in rows),
        "cost": round(sum(row["cost"] for row in rows), 6),
        "fallbacks": sum(row["fallbacks"] for row in rows),
        "spoilt": sum(row["spoilt"] for row in rows),
    }


def summary(rows: Sequence[TrialRow]) -> Summary:
    """Return the figures of a whole run: all trials, by language, by family and by both."""
    return {
        "all": figures(rows),
        "languages": {language: figures(part) for language, part in _parts(rows, "language").items()},
        "families": {
            family: {
                "all": figures(part),
                **{language: figures(rest) for language, rest in _parts(part, "language").items()},
            }
            for family, part in _parts(rows, "family").items()
        },
    }


def _parts(rows: Sequence[TrialRow], key: Literal["language", "family"]) -> dict[str, list[TrialRow]]:
    """Return the rows by language or family, sorted."""
    parts: dict[str, list[TrialRow]] = defaultdict(list)
    for row in rows:
        parts[row[key]].append(row)
    return dict(sorted(parts.items()))
