"""What the tables share: medians, percentiles, the machine's facts, and a table as text."""

import os
import platform
import sqlite3
from collections.abc import Sequence
from importlib.metadata import version
from statistics import median
from typing import Any

SEED = 20_251
LIBRARIES = ("django", "djangorestframework", "daphne", "uvicorn", "psycopg", "pydantic")


def percentile(values: Sequence[float], part: float) -> float:
    """Return the value below which this part (0 to 1) of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def ratio(ours: Sequence[float], baseline: Sequence[float]) -> float:
    """Return the median of the pairs' ratios: each of ours with the baseline measured next to it."""
    return median(mine / other for mine, other in zip(ours, baseline, strict=True))


def short(value: Any) -> str:
    """Return a value as a table shows it."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def machine() -> dict[str, Any]:
    """Return what the figures were measured on."""
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "load": round(os.getloadavg()[0], 1),
        **{name: version(name) for name in LIBRARIES},
    }


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return rows as aligned text: words to the left, numbers to the right."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    cells = [columns, *([short(row.get(column)) for column in columns] for row in rows)]
    wide = [max(len(line[place]) for line in cells) for place in range(len(columns))]
    numeric = [all(not isinstance(row.get(column), str) for row in rows) for column in columns]
    lines = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, wide, numeric, strict=True)
        ).rstrip()
        for line in cells
    ]
    return "\n".join([lines[0], "  ".join("-" * width for width in wide), *lines[1:]])
