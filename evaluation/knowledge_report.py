"""Measure collections of the knowledge base and say what was found: `manage.py evaluate knowledge`."""

import gzip
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from evaluation.knowledge import (
    collection_measure,
    collections_published,
    items_of_file,
    items_of_role,
    relevance_measure,
)
from pharmacy_site.lib.importing import ProgressBar

THRESHOLDS: Final = (0.4, 0.5, 0.6, 0.7, 0.8)
_FIGURES: Final = ("@1", "@5", "@10", "MRR")


def measure(files: Sequence[Path], elsewhere: Path | None, sample: int) -> dict[str, Any]:
    """Return the figures of each file, or of each published collection when there are no files."""
    if files:
        sources = {path.name: items_of_file(path) for path in files}
    else:
        sources = {
            f"{role} {language}": items_of_role(role, language) for role, language in collections_published()
        }
    progress, found = ProgressBar(), {}
    for done, (name, items) in enumerate(sources.items()):
        progress("measuring", done / len(sources))
        found[name] = collection_measure(items, sample)
        if elsewhere:
            found[name]["relevance"] = relevance_measure(items, _sentences(elsewhere), sample, THRESHOLDS)
    progress("measuring", 1.0)
    return found


def lines(measured: Mapping[str, Any]) -> Iterator[str]:
    """Yield a table for each collection, and the means of all in the last line."""
    for name, found in measured.items():
        yield f"{name}: {found['entries']} entries"
        yield f"  {'':<16} {'asked':>5}  {'ours @1':>7} {'@5':>5} {'@10':>5} {'MRR':>5}   {'BM25 @1':>7} {'@5':>5} {'@10':>5} {'MRR':>5}"
        for row in found["rows"]:
            ours, plain = ([f"{row[side][figure]:.3f}" for figure in _FIGURES] for side in ("ours", "bm25"))
            yield (
                f"  {row['paraphrase']:<16} {row['questions']:>5}  {ours[0]:>7} {' '.join(ours[1:])}"
                f"   {plain[0]:>7} {' '.join(plain[1:])}"
            )
        yield "  topic right: " + ", ".join(f"{value:.3f} {how}" for how, value in found["topics"].items())
        for row in found.get("relevance", []):
            rest = ", ".join(f"{kind} {value:.3f}" for kind, value in row.items() if kind != "threshold")
            yield f"  answered with a relevance of {row['threshold']} or more: {rest}"
    yield last_line(measured)


def last_line(measured: Mapping[str, Any]) -> str:
    """Return recall@5 over all re-asked questions, ours and plain BM25's."""
    rows = [row for found in measured.values() for row in found["rows"]]
    asked = sum(row["questions"] for row in rows)
    ours, plain = (
        sum(row[side]["@5"] * row["questions"] for row in rows) / asked for side in ("ours", "bm25")
    )
    return f"recall@5={ours:.3f} bm25={plain:.3f} questions={asked}"


def _sentences(path: Path) -> list[str]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip()]
