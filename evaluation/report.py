"""How an evaluation is told: a table, what failed, what changed against an earlier run, and one last line."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from evaluation.metrics import Row, summary

_HEAD: Final = ("", "pass^1", "pass^4", "vetoes", "scenarios", "turns", "p50 ms", "p95 ms")


def table(figures: Mapping[str, Any]) -> Iterator[str]:
    """One line per family and language, the whole last."""
    yield _line(*_HEAD)
    for family, language, *cells in shares(figures):
        yield _line(f"{family} {language}", *cells)


def shares(figures: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The table's cells: family, language, then the figures."""
    for family, parts in figures.get("families", {}).items():
        for language, part in parts.items():
            if language != "all":
                yield (family, language, *_cells(part))
    for language, part in figures.get("languages", {}).items():
        yield ("all", language, *_cells(part))
    if "all" in figures:
        yield ("all", "", *_cells(figures["all"]))


def failures(rows: Sequence[Row]) -> Iterator[str]:
    """What was wrong, once per scenario."""
    seen = set()
    for row in rows:
        if row["passed"] or row["scenario"] in seen:
            continue
        seen.add(row["scenario"])
        yield f"{row['scenario']} (trial {row['trial']})"
        yield from (f"  veto: {veto}" for veto in row["vetoes"])
        yield from (f"  {problem}" for problem in row["problems"])


def spending(figures: Mapping[str, Any]) -> str:
    """Tokens, costs and what else only a language model has."""
    whole = figures["all"]
    return (
        f"tokens in={whole['tokens_in']} out={whole['tokens_out']} cost={whole['cost']} "
        f"fallbacks={whole['fallbacks']} spoilt={whole['spoilt']}"
    )


def last_line(figures: Mapping[str, Any]) -> str:
    """The line that other programs read."""
    whole = figures["all"]
    return f"pass^1={_share(whole['pass^1'])} pass^4={_share(whole['pass^4'])} scenarios={whole['scenarios']}"


def document(rows: Sequence[Row], **about: Any) -> dict[str, Any]:
    """A whole run as JSON, for comparison with others."""
    return {"about": about, "totals": summary(rows), "trials": list(rows)}


def comparison(before: Mapping[str, Any], rows: Sequence[Row]) -> Iterator[str]:
    """What is otherwise than in an earlier run: figures, then scenarios by their share of passed trials."""
    old, new = before["totals"]["all"], summary(rows)["all"]
    for name in old:
        if old[name] != new.get(name):
            yield f"{name}: {_figure(old[name])} -> {_figure(new.get(name))}"
    was, now = _passed(before["trials"]), _passed(rows)
    for name in sorted(was.keys() | now.keys()):
        if was.get(name) != now.get(name):
            yield f"{name}: {_share(was.get(name))} -> {_share(now.get(name))}"


def _passed(rows: Sequence[Row]) -> dict[str, float]:
    found: dict[str, list[bool]] = {}
    for row in rows:
        found.setdefault(row["scenario"], []).append(row["passed"])
    return {name: sum(passed) / len(passed) for name, passed in found.items()}


def _cells(part: Mapping[str, Any]) -> tuple[str, ...]:
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
