"""The import of a whole drug register with all its index rows, against a raw bulk insert of the same rows."""

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from statistics import median
from typing import Any

import psycopg
from psycopg import sql

from benchmarks.catalogue_file import catalogue_file
from benchmarks.databases import Databases
from benchmarks.measure import ratio

TITLE = "The import of the whole catalogue with its index rows"
NOTES = (
    "Baseline, in the same run: the rows that the import made, ready in memory, written in one transaction by the bare",
    "driver (executemany on SQLite, COPY on PostgreSQL) into equal tables: a second copy of the same database, with the",
    "same keys, constraints, indexes and triggers. × raw: seconds of the import over its seconds, median of the pairs.",
    "Reading, checking and understanding the file is in the import's time and not in the baseline's. Columns check,",
    "write, index: the import's stages in seconds.",
)
PAIRS = 3
TABLES = (
    "inventory_category",
    "inventory_categoryalias",
    "inventory_ingredient",
    "inventory_ingredientalias",
    "inventory_medication",
    "inventory_medicationalias",
    "inventory_medicationingredient",
    "inventory_leafletsection",
    "inventory_searchterm",
    "inventory_medicationterm",
    "inventory_searchword",
    "inventory_worddeletion",
)
"""Parents before children."""
Rows = dict[str, tuple[list[str], list[tuple[Any, ...]]]]


def measure(own: Databases) -> list[dict[str, Any]]:
    """Return a row for the import and one for the baseline."""
    import django

    django.setup()
    path, file = catalogue_file()
    seconds: list[float] = []
    raw: list[float] = []
    stages: list[dict[str, float]] = []
    count = 0
    for pair in range(PAIRS):
        taken, rows = _imported(own, path, f"import_{pair}", stages)
        seconds.append(taken)
        count = sum(len(values) for _columns, values in rows.values())
        raw.append(_inserted(own, rows, f"raw_{pair}"))
    middle = {stage: median(one[stage] for one in stages) for stage in ("check", "write", "index")}
    common = {"database": own.vendor, "file": file.partition(" (")[0], "rows": count}
    driver = "executemany" if own.vendor == "sqlite" else "COPY"
    return [
        {
            **common,
            "what": "import_catalogue",
            "seconds": median(seconds),
            "rows/s": count / median(seconds),
            "× raw": ratio(seconds, raw),
            **middle,
        },
        {**common, "what": f"raw {driver}", "seconds": median(raw), "rows/s": count / median(raw)},
    ]


def _imported(own: Databases, path: Any, name: str, stages: list[dict[str, float]]) -> tuple[float, Rows]:
    """Import into a new copy; return the seconds and the rows that are there now and were not before."""
    from django.db import connection

    from inventory.importers import catalogue_import

    connection.close()
    if own.vendor == "postgresql":
        connection.close_pool()  # type: ignore[attr-defined]
    url = own.copy(name)
    connection.settings_dict["NAME"] = (
        str(own.folder / f"{name}.sqlite3") if own.vendor == "sqlite" else url.rpartition("/")[2]
    )
    before = _last_ids()
    marks: dict[str, float] = {}

    def progress(stage: str, _fraction: float) -> None:
        marks[stage] = time.perf_counter()

    began = time.perf_counter()
    report = catalogue_import(path, progress=progress)
    ended = time.perf_counter()
    if not report.created:
        raise RuntimeError("nothing was imported")
    checked = marks.get("checking", began)
    stages.append(
        {"check": checked - began, "write": marks["writing"] - checked, "index": ended - marks["writing"]}
    )
    rows = _rows_after(before)
    connection.close()
    return ended - began, rows


def _last_ids() -> dict[str, int]:
    from django.db import connection

    with connection.cursor() as cursor:
        found = {}
        for table in TABLES:
            cursor.execute(f"SELECT coalesce(max(id), 0) FROM {table}")
            found[table] = cursor.fetchone()[0]
    return found


def _rows_after(last: dict[str, int]) -> Rows:
    from django.db import connection

    rows: Rows = {}
    with connection.cursor() as cursor:
        for table in TABLES:
            # The driver's cursor: Django's would turn values into Python's types that the other driver call lacks.
            cursor.execute(f"SELECT * FROM {table} WHERE id > {last[table]} ORDER BY id")
            columns = [column[0] for column in cursor.description]
            rows[table] = columns, [tuple(row) for row in cursor.fetchall()]
    return rows


def _inserted(own: Databases, rows: Rows, name: str) -> float:
    """Insert the rows into a new copy with the bare driver; return the seconds."""
    url = own.copy(name)
    if own.vendor == "sqlite":
        with closing(sqlite3.connect(own.folder / f"{name}.sqlite3", isolation_level=None)) as file:
            file.execute("PRAGMA journal_mode=WAL")
            file.execute("PRAGMA synchronous=NORMAL")
            file.execute("PRAGMA foreign_keys=ON")
            return _executemany(file, rows)
    with psycopg.connect(url) as connection:
        return _copy(connection, rows)


def _executemany(file: sqlite3.Connection, rows: Rows) -> float:
    began = time.perf_counter()
    file.execute("BEGIN IMMEDIATE")
    for table, (columns, values) in rows.items():
        holders = ", ".join("?" * len(columns))
        file.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({holders})", values)
    file.execute("COMMIT")
    return time.perf_counter() - began


def _copy(connection: psycopg.Connection[Any], rows: Rows) -> float:
    began = time.perf_counter()
    with connection.cursor() as cursor:
        for table, (columns, values) in rows.items():
            names = sql.SQL(", ").join(map(sql.Identifier, columns))
            statement = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), names)
            with cursor.copy(statement) as copy:
                _write(copy, values)
    connection.commit()
    return time.perf_counter() - began


def _write(copy: psycopg.Copy, values: Sequence[tuple[Any, ...]]) -> None:
    for row in values:
        copy.write_row(row)
