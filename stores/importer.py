"""Import localities from a JSON list or a CSV file, packed with gzip or not.

A record is a town: `id`, `name` (Hebrew), `nameEn`, `lat`, `lon`; CSV files have these columns, and both may have `country`
and `aliases` (in CSV separated by "|"). A broken file changes nothing and is refused with its records and reasons;
importing the same file again changes nothing.
"""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from string import capwords
from typing import Any, Final

from django.db import transaction

from pharmacy_site.lib.importing import ImportRefused, Progress, quiet
from pharmacy_site.lib.text import clean, compact
from stores.geo import Point, distance_km
from stores.models import FOLDED_LENGTH, NAME_LENGTH, Locality, LocalityName, folded_names

MOST_BYTES: Final = 64 * 1024 * 1024
"""The limit of the unpacked file: many times all the towns of the world, too little for an archive bomb."""
MOST_PROBLEMS: Final = 10
SAME_TOWN_KM: Final = 10
"""Two records with one name that are nearer than this are the same town."""


@dataclass(slots=True)
class ImportReport:
    """The number of towns that an import created, changed, merged or left unchanged."""

    created: int = 0
    changed: int = 0
    merged: int = 0
    """Towns that existed under another slug (from the fixture) and only got more names."""
    unchanged: int = 0

    def __str__(self) -> str:
        return f"{self.created} created, {self.changed} changed, {self.merged} known already, {self.unchanged} unchanged"


@dataclass(frozen=True, slots=True)
class _Record:
    """One town of the file, checked and cleaned."""

    slug: str
    name_en: str
    name_he: str
    country: str
    lat: float
    lng: float
    aliases: list[str] = field(default_factory=list)


def localities_import(path: Path, *, dry_run: bool = False, progress: Progress = quiet) -> ImportReport:
    """Import the file and return a report; ImportRefused when anything in it is wrong."""
    progress("reading", 0.0)
    records = _records(_read(path))
    progress("reading", 1.0)
    with transaction.atomic():
        report = _store(records, progress)
        if dry_run:
            transaction.set_rollback(True)
    return report


def _store(records: list[_Record], progress: Progress) -> ImportReport:
    """Create, change or merge the towns and add their names."""
    report = ImportReport()
    by_slug = {locality.slug: locality for locality in Locality.objects.all()}
    by_name: dict[str, list[Locality]] = {}
    known: set[tuple[int, str]] = set()
    for row in LocalityName.objects.select_related("locality"):
        by_name.setdefault(row.folded, []).append(row.locality)
        known.add((row.locality_id, row.folded))
    created: list[_Record] = []
    names: list[LocalityName] = []
    for done, record in enumerate(records):
        progress("comparing", done / len(records))
        same = by_slug.get(record.slug)
        town = same or _same_town(record, by_name)
        if town is None:
            created.append(record)
            continue
        if same is None:
            report.merged += 1
        elif _differs(same, record):
            _update(same, record)
            report.changed += 1
        else:
            report.unchanged += 1
        names += _names(town, record)
    report.created = len(created)
    Locality.objects.bulk_create([_locality(record) for record in created], batch_size=500)
    slugs = dict(Locality.objects.values_list("slug", "pk"))
    for record in created:
        names += _names(Locality(pk=slugs[record.slug]), record)
    new_names = [name for name in names if (name.locality_id, name.folded) not in known]
    LocalityName.objects.bulk_create(new_names, batch_size=500, ignore_conflicts=True)
    progress("comparing", 1.0)
    return report


def _same_town(record: _Record, by_name: dict[str, list[Locality]]) -> Locality | None:
    """Return the near town with one of the record's names that no import created, or None."""
    here = Point(record.lat, record.lng)
    for folded in folded_names(record.name_he, record.name_en):
        for town in by_name.get(folded, []):
            if distance_km(here, Point(town.lat, town.lng)) <= SAME_TOWN_KM and not town.slug.startswith(
                "import-"
            ):
                return town
    return None


def _differs(town: Locality, record: _Record) -> bool:
    stored = (town.name_en, town.name_he or "", town.country, town.lat, town.lng)
    return stored != (record.name_en, record.name_he, record.country, record.lat, record.lng)


def _update(town: Locality, record: _Record) -> None:
    town.name_en, town.name_he, town.country = record.name_en, record.name_he, record.country
    town.lat, town.lng = record.lat, record.lng
    town.save()


def _locality(record: _Record) -> Locality:
    return Locality(
        slug=record.slug,
        name_en=record.name_en,
        name_he=record.name_he or None,
        country=record.country,
        lat=record.lat,
        lng=record.lng,
    )


def _names(town: Locality, record: _Record) -> list[LocalityName]:
    official = folded_names(record.name_en, record.name_he)
    others = folded_names(*record.aliases)
    return [
        LocalityName(locality_id=town.pk, text=text, folded=folded, derived=folded in official)
        for folded, text in (others | official).items()
    ]


# -- Reading --------------------------------------------------------------------------------------------------------


def _read(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield each record with the place by which a problem names it."""
    try:
        raw = path.read_bytes()
        if raw[:2] == b"\x1f\x8b":
            with gzip.open(io.BytesIO(raw)) as packed:
                raw = packed.read(MOST_BYTES + 1)
        content = raw.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error) as error:
        raise ImportRefused([f"{path.name}: {error}"]) from error
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ImportRefused([f"line {line}: not UTF-8"]) from error
    if len(raw) > MOST_BYTES:
        raise ImportRefused([f"{path.name}: larger than {MOST_BYTES} bytes"])
    if content.lstrip()[:1] in ("[", "{"):
        yield from _read_json(content)
    else:
        yield from _read_csv(content)


def _read_json(content: str) -> Iterator[tuple[str, Any]]:
    try:
        rows = json.loads(content)
    except (json.JSONDecodeError, RecursionError) as error:
        where = (
            f"line {error.lineno}: {error.msg}"
            if isinstance(error, json.JSONDecodeError)
            else "nested too deep"
        )
        raise ImportRefused([where]) from error
    if not isinstance(rows, list):
        raise ImportRefused(["line 1: a list of localities is expected"])
    yield from ((f"record {place}", row) for place, row in enumerate(rows, start=1))


def _read_csv(content: str) -> Iterator[tuple[str, Any]]:
    reader = csv.DictReader(io.StringIO(content, newline=""), strict=True)
    missing = {"id", "name", "nameEn", "lat", "lon"} - set(reader.fieldnames or [])
    if missing:
        raise ImportRefused([f"line 1: columns are missing: {', '.join(sorted(missing))}"])
    try:
        for row in reader:
            where = f"line {reader.line_num}"
            if None in row or None in row.values():
                raise ImportRefused([f"{where}: has other columns than the first line"])
            yield (
                where,
                {**row, "aliases": [part for part in (row.get("aliases") or "").split("|") if part.strip()]},
            )
    except csv.Error as error:
        raise ImportRefused([f"line {reader.reader.line_num}: {error}"]) from error


def _records(rows: Iterator[tuple[str, Any]]) -> list[_Record]:
    records: dict[str, _Record] = {}
    problems: list[str] = []
    for where, row in rows:
        try:
            record = _record(row)
            if record.slug in records:
                raise ValueError("this id was used before")
            records[record.slug] = record
        except ValueError as error:
            problems.append(f"{where}: {error}")
            if len(problems) > MOST_PROBLEMS:
                break
    if not problems and not records:
        problems = ["the file has no localities"]
    if problems:
        raise ImportRefused(problems[:MOST_PROBLEMS], more=len(problems) > MOST_PROBLEMS)
    return list(records.values())


def _record(row: Any) -> _Record:
    if not isinstance(row, dict):
        raise ValueError("is no record")
    number = str(row.get("id") or "").strip()
    if not number.isalnum() or not number.isascii() or len(number) > 20:
        raise ValueError("id is missing or has other signs than letters and digits")
    name_he, name_en = _name(row, "name"), _name(row, "nameEn")
    if not name_he and not name_en:
        raise ValueError("has no name")
    country = str(row.get("country") or "IL").strip().upper()
    if len(country) != 2 or not country.isalpha() or not country.isascii():
        raise ValueError("country is not two letters")
    aliases = row.get("aliases") or []
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        raise ValueError("aliases are no list of texts")
    if any(len(alias) > NAME_LENGTH for alias in aliases):
        raise ValueError("an alias is too long")
    return _Record(
        slug=f"import-{country.lower()}-{number.lower()}",
        # Registers write capitals. A name that exists in one language only is used for both.
        name_en=(capwords(name_en) if name_en.isupper() else name_en) or name_he,
        name_he=name_he,
        country=country,
        lat=_degrees(row, "lat", 90),
        lng=_degrees(row, "lon", 180),
        aliases=[clean(alias) for alias in aliases if compact(alias)],
    )


def _name(row: dict[str, Any], column: str) -> str:
    value = row.get(column) or ""
    if not isinstance(value, str):
        raise ValueError(f"{column} is no text")
    name = clean(value).replace("\n", " ")
    if len(name) > NAME_LENGTH or len(compact(name)) > FOLDED_LENGTH:
        raise ValueError(f"{column} is too long")
    return name if compact(name) else ""


def _degrees(row: dict[str, Any], column: str, most: int) -> float:
    value = row.get(column)
    try:
        degrees = (
            float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
        )
    except (ValueError, OverflowError):
        degrees = None
    if degrees is None:
        raise ValueError(f"{column} is missing or no number")
    # Not `abs(degrees) > most`, which is false for "nan".
    if not -most <= degrees <= most:
        raise ValueError(f"{column} is not between -{most} and {most}")
    return degrees
