"""Import interactions by ingredient pair: all or nothing, and no level is ever lowered."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from django.db import transaction

from inventory.import_ingredients import IngredientBook
from inventory.import_meaning import INGREDIENT_LENGTH
from inventory.import_reading import (
    ImportReport,
    Problem,
    Row,
    RowFile,
    rows_check,
)
from inventory.interactions import LEVEL_ORDER
from inventory.models import Interaction
from pharmacy_site.lib.fields import LONGEST_TEXT
from pharmacy_site.lib.importing import ImportRefused, Progress, quiet
from pharmacy_site.lib.text import clean

COLUMNS: Final = ("drug_a", "drug_b", "level", "sources", "message")

_BATCH: Final = 500
_WRITTEN: Final = 5_000
_SOURCES_LENGTH: Final = 200


def interactions_import(path: Path, *, dry_run: bool = False, progress: Progress = quiet) -> ImportReport:
    """Create interactions and raise levels; none is ever lowered. ImportRefused when any row is wrong.

    Names are mapped to ingredients by their aliases. Every ingredient in the file counts as assessed; the text and
    sources of the row with the worse level are stored for staff.
    """
    file = RowFile(path, COLUMNS)
    names = _check(file, progress)
    report = ImportReport("two names of one ingredient")
    with transaction.atomic():
        book = IngredientBook()
        book.ensure(sorted(names), assessed=True)
        pairs = {(row.ingredient_a_id, row.ingredient_b_id): row for row in Interaction.objects.all()}
        before = set(pairs)
        worsened: dict[tuple[int, int], None] = {}
        for row in file:
            if isinstance(row, Problem):
                # The file changed between the two readings.
                raise ImportRefused([row])
            key = _apply(row, book, pairs, report)
            if key is not None:
                worsened[key] = None
            progress("reading", file.fraction)
        new = [pairs[key] for key in worsened if key not in before]
        raised = [pairs[key] for key in worsened if key in before]
        for start in range(0, len(new), _WRITTEN):
            progress("writing", start / len(new))
            Interaction.objects.bulk_create(new[start : start + _WRITTEN])
        Interaction.objects.bulk_update(raised, ["level", "source_text", "sources"], batch_size=_BATCH)
        progress("writing", 1.0)
        report.created, report.updated = len(new), len(raised)
        report.unchanged = len(before) - len(raised)
        if dry_run:
            transaction.set_rollback(True)
    return report


def _check(file: RowFile, progress: Progress) -> set[str]:
    """Refuse a broken file; return every ingredient name in it."""
    names: set[str] = set()

    def check(row: Row) -> Iterator[str]:
        a, b = (_name(row, column) for column in ("drug_a", "drug_b"))
        for column, name in (("drug_a", a), ("drug_b", b)):
            if not name:
                yield f"{column}: empty"
            elif len(name) > INGREDIENT_LENGTH:
                yield f"{column}: longer than {INGREDIENT_LENGTH} characters"
        if a and a.casefold() == b.casefold():
            yield "drug_a and drug_b are the same"
        if _level(row) not in Interaction.Level.values:
            yield f"level: neither avoid nor caution: {_level(row)[:20]!r}"
        for column, longest in (("message", LONGEST_TEXT), ("sources", _SOURCES_LENGTH)):
            if len(clean(row.values[column])) > longest:
                yield f"{column}: longer than {longest} characters"
        names.update((a, b))

    rows_check(file, check, progress)
    return names


def _apply(
    row: Row, book: IngredientBook, pairs: dict[tuple[int, int], Interaction], report: ImportReport
) -> tuple[int, int] | None:
    """Put the row into `pairs` and return its key, if it is new or worse than what is there."""
    a, b = book.id_of(_name(row, "drug_a")), book.id_of(_name(row, "drug_b"))
    if a == b:
        report.skipped += 1
        return None
    key, level = (min(a, b), max(a, b)), _level(row)
    pair = pairs.get(key)
    if pair is None:
        pair = pairs[key] = Interaction(ingredient_a_id=key[0], ingredient_b_id=key[1])
    elif LEVEL_ORDER[level] <= LEVEL_ORDER[pair.level]:
        return None
    pair.level = level
    pair.source_text = clean(row.values["message"])
    pair.sources = _name(row, "sources")
    return key


def _name(row: Row, column: str) -> str:
    return clean(row.values[column]).replace("\n", " ")


def _level(row: Row) -> str:
    return row.values["level"].strip().casefold()
