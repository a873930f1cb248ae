"""What many trials say together: pass^k, vetoes, turns, latency, tokens and costs."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import comb
from typing import Any, Final

Row = Mapping[str, Any]  # an outcome, or one read from a file
K: Final = (1, 4)


def pass_k(passed: Sequence[bool], k: int) -> float | None:
    """The chance that k trials all pass, estimated without bias from n trials of one scenario; None for fewer than k."""
    n, c = len(passed), sum(passed)
    return comb(c, k) / comb(n, k) if n >= k else None


def pass_k_mean(
    rows: Iterable[Row], k: int, passed: Callable[[Row], bool] = lambda row: row["passed"]
) -> float | None:
    """pass^k averaged over the scenarios."""
    trials: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        trials[row["scenario"]].append(bool(passed(row)))
    found = [value for value in (pass_k(each, k) for each in trials.values()) if value is not None]
    return sum(found) / len(found) if found else None


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that this share of the values does not exceed."""
    ordered = sorted(values)
    return (
        ordered[min(len(ordered) - 1, max(0, -(-int(share * 100) * len(ordered) // 100) - 1))]
        if ordered
        else 0.0
    )


def totals(rows: Sequence[Row]) -> dict[str, Any]:
    """The figures of a set of trials."""
    seconds = [second for row in rows for second in row["seconds"]]
    return {
        "scenarios": len({row["scenario"] for row in rows}),
        "trials": len(rows),
        **{f"pass^{k}": pass_k_mean(rows, k) for k in K},
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


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """The figures of a whole run: all trials, by language, by family and by both."""
    return {
        "all": totals(rows),
        "languages": {key: totals(part) for key, part in _parts(rows, "language").items()},
        "families": {
            family: {
                "all": totals(part),
                **{lang: totals(rest) for lang, rest in _parts(part, "language").items()},
            }
            for family, part in _parts(rows, "family").items()
        },
    }


def _parts(rows: Sequence[Row], key: str) -> dict[str, list[Row]]:
    parts: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        parts[row[key]].append(row)
    return dict(sorted(parts.items()))
