"""Print an evaluation: a table, the failures, the changes since an earlier run, and one last line for programs."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypedDict

from evaluation.metrics import Figures, Summary, summary
from evaluation.outcome import TrialRow

_HEAD: Final = ("", "pass^1", "pass^4", "vetoes", "scenarios", "turns", "p50 ms", "p95 ms")


class Document(TypedDict):
    """A whole run as `--json` writes it and `--compare` reads it."""

    about: dict[str, object]
    totals: Summary
    trials: list[TrialRow]


def table(totals: Summary) -> Iterator[str]:
    """Yield one line per family and language, the totals last."""
    yield _line(*_HEAD)
    for family, language, *cells in shares(totals):
        yield _line(f"{family} {language}", *cells)


def shares(totals: Summary) -> Iterator[tuple[str, ...]]:
    """Yield the table's cells: family, language, then the figures. Nothing for a run without figures."""
    for family, parts in totals.get("families", {}).items():
        for language, part in parts.items():
            if language != "all":
                yield (family, language, *_cells(part))
    for language, part in totals.get("languages", {}).items():
        yield ("all", language, *_cells(part))
    if "all" in totals:
        yield ("all", "", *_cells(totals["all"]))


def failures(rows: Sequence[TrialRow]) -> Iterator[str]:
    """Yield what was wrong in the first failed trial of each scenario."""
    reported = set()
    for row in rows:
        if row["passed"] or row["scenario"] in reported:
            continue
        reported.add(row["scenario"])
        yield f"{row['scenario']} (trial {row['trial']})"
        yield from (f"  veto: {veto}" for veto in row["vetoes"])
        yield from (f"  {problem}" for problem in row["problems"])


def spending(totals: Summary) -> str:
    """Return the line about tokens, costs and the other figures of a language model."""
    whole = totals["all"]
    return (
        f"tokens in={whole['tokens_in']} out={whole['tokens_out']} cost={whole['cost']} "
        f"fallbacks={whole['fallbacks']} spoilt={whole['spoilt']}"
    )


def last_line(totals: Summary) -> str:
    """Return the line that other programs read."""
    whole = totals["all"]
    return f"pass^1={_share(whole['pass^1'])} pass^4={_share(whole['pass^4'])} scenarios={whole['scenarios']}"


def document(rows: Sequence[TrialRow], **about: object) -> Document:
    """Return a whole run as JSON data, to compare it with others."""
    return {"about": about, "totals": summary(rows), "trials": list(rows)}


def comparison(before: Document, rows: Sequence[TrialRow]) -> Iterator[str]:
    """Yield the differences to an earlier run: figures, then scenarios by their share of passed trials."""
    new = summary(rows)["all"]
    for name, value in before["totals"]["all"].items():
        if value != new.get(name):
            yield f"{name}: {_figure(value)} -> {_figure(new.get(name))}"
    old_shares, new_shares = _passed(before["trials"]), _passed(rows)
    for scenario in sorted(old_shares.keys() | new_shares.keys()):
        old, new_share = old_shares.get(scenario), new_shares.get(scenario)
        if old != new_share:
            yield f"{scenario}: {_share(old)} -> {_share(new_share)}"


def _passed(rows: Sequence[TrialRow]) -> dict[str, float]:
    """Return each scenario's share of passed trials."""
    passed: dict[str, list[bool]] = {}
    for row in rows:
        passed.setdefault(row["scenario"], []).append(row["passed"])
    return {scenario: sum(trials) / len(trials) for scenario, trials in passed.items()}


def _cells(part: Figures) -> tuple[str, ...]:
    return (
        _share(part["pass^1"]),
        _share(part["pass^4"]),
        _share(part["vetoes_pass^1"]),
        str(part["scenarios"]),
        f"{part['turns']:.1f}",
        str(part["p50_ms"]),
        str(part["p95_ms"]),
    )


def _line(name: str, *cells: str) -> str:
    return f"{name:<20}" + "".join(f"{cell:>10}" for cell in cells)


def _share(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.2f}"


def _figure(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
