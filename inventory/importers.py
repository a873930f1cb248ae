"""Import a drug register: all or nothing, and importing the same file again changes nothing.

The file is read twice, row by row: first to check every row, so that a broken file never takes the write lock, then to
write, in one transaction.
"""

from collections.abc import Iterator
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from django.conf import settings
from django.db import connection, transaction

from inventory.categories import categories_load
from inventory.import_ingredients import IngredientBook
from inventory.import_meaning import (
    COLUMNS,
    PART_LENGTH,
    Product,
    RowRefused,
    is_for_humans,
    product_read,
)
from inventory.import_reading import (
    ImportReport,
    Problem,
    Row,
    RowFile,
    rows_check,
)
from inventory.index import BATCH as INDEX_BATCH
from inventory.index import index_rebuild
from inventory.models import Category, Medication, MedicationIngredient
from pharmacy_site.lib.importing import ImportRefused, Progress, quiet

FIRST_IMPORTED_ID: Final = 1_001
"""Smaller ids are reserved for the demo data and for products entered by hand."""

_BATCH: Final = 500


def catalogue_import(path: Path, *, dry_run: bool = False, progress: Progress = quiet) -> ImportReport:
    """Create and update products by their external number (DIN); ImportRefused when any row is wrong.

    Fields that a register does not have (Hebrew names, price, pack, stock, prior authorisation) keep their values, and
    so does the rule that a pharmacist decides about substitution. New ingredients count as not assessed.
    """
    report = ImportReport("not for people")
    file = RowFile(path, COLUMNS)
    _check(file, progress)
    with transaction.atomic():
        _reserve_small_ids()
        categories_load(settings.BASE_DIR / "fixtures" / "categories.yaml", update=False)
        book = IngredientBook()
        categories = _categories_by_prefix()
        touched: list[int] = []
        products = _products(file, report)
        while batch := list(islice(products, _BATCH)):
            touched += _write(batch, book, categories, report)
            progress("writing", file.fraction)
        progress("writing", 1.0)
        if dry_run:
            transaction.set_rollback(True)
        elif touched:
            progress("indexing", 0.0)
            for start in range(0, len(touched), INDEX_BATCH):
                index_rebuild(touched[start : start + INDEX_BATCH])
                progress("indexing", min(1.0, (start + INDEX_BATCH) / len(touched)))
    return report


def _check(file: RowFile, progress: Progress) -> None:
    first_line: dict[str, int] = {}

    def check(row: Row) -> Iterator[str]:
        if not is_for_humans(row.values):
            return
        try:
            product = product_read(row.values)
        except RowRefused as refused:
            yield from refused.reasons
            return
        line = first_line.setdefault(product.external_id, row.line)
        if line != row.line:
            yield f"din: {product.external_id} stands on line {line} already"

    rows_check(file, check, progress)


def _products(file: RowFile, report: ImportReport) -> Iterator[Product]:
    for row in file:
        if isinstance(row, Problem):
            # The file changed between the two readings.
            raise ImportRefused([row])
        if is_for_humans(row.values):
            yield product_read(row.values)
        else:
            report.skipped += 1


_FIELDS: Final = (
    "name_en", "generic_name_en", "form", "release", "strength", "rx_required", "schedule", "substitution",
    "company", "category_id",
)  # fmt: skip


def _write(
    batch: list[Product], book: IngredientBook, categories: list[tuple[str, int]], report: ImportReport
) -> list[int]:
    """Write a batch of products and return the ids of those that are new or changed."""
    book.ensure([part.ingredient for product in batch for part in product.parts], assessed=False)
    existing = {
        medication.external_id: medication
        for medication in Medication.objects.filter(
            external_id__in=[product.external_id for product in batch]
        ).prefetch_related("contents")
    }
    new: list[tuple[Medication, Product]] = []
    changed: list[tuple[Medication, Product]] = []
    contents_changed: list[tuple[Medication, Product]] = []
    for product in batch:
        medication = existing.get(product.external_id)
        if medication is None:
            medication = Medication(external_id=product.external_id)
            _assign(medication, product, categories)
            new.append((medication, product))
            continue
        before = [getattr(medication, field) for field in _FIELDS]
        _assign(medication, product, categories)
        fields_differ = before != [getattr(medication, field) for field in _FIELDS]
        contents_differ = _stored_contents(medication) != _contents(product, book)
        if fields_differ:
            changed.append((medication, product))
        if contents_differ:
            contents_changed.append((medication, product))
        if fields_differ or contents_differ:
            report.updated += 1
        else:
            report.unchanged += 1

    Medication.objects.bulk_create([medication for medication, _ in new])
    report.created += len(new)
    for medication, _ in changed:
        medication.save()
    outdated = [medication for medication, _ in contents_changed]
    MedicationIngredient.objects.filter(medication__in=outdated).delete()
    MedicationIngredient.objects.bulk_create(
        MedicationIngredient(medication_id=medication.pk, **content._asdict())
        for medication, product in (*new, *contents_changed)
        for content in _contents(product, book)
    )
    return sorted({medication.pk for medication, _ in (*new, *changed, *contents_changed)})


def _assign(medication: Medication, product: Product, categories: list[tuple[str, int]]) -> None:
    """Set the fields that the register has; the category only if the product has none yet."""
    medication.name_en = product.name
    medication.generic_name_en = product.generic_name
    medication.form = product.form
    medication.release = product.release
    medication.strength = product.strength
    medication.rx_required = product.rx_required
    medication.schedule = product.schedule
    medication.company = product.company
    if product.pharmacist_only:
        medication.substitution = Medication.Substitution.PHARMACIST_ONLY
    if medication.category_id is None:
        medication.category_id = next(
            (pk for prefix, pk in categories if product.atc.startswith(prefix)), None
        )


class _Content(NamedTuple):
    """The values of a MedicationIngredient, to compare a product with what is stored."""

    position: int
    ingredient_id: int
    strength: str
    amount: Decimal | None
    unit: str


def _contents(product: Product, book: IngredientBook) -> list[_Content]:
    by_id: dict[int, _Content] = {}
    for part in product.parts:
        pk = book.id_of(part.ingredient)
        if pk in by_id:
            # Two names in the file mean one ingredient by an alias of ours: there is no single strength.
            text = f"{by_id[pk].strength} / {part.strength}"[:PART_LENGTH]
            by_id[pk] = by_id[pk]._replace(strength=text, amount=None, unit="")
        else:
            by_id[pk] = _Content(len(by_id), pk, part.strength, part.amount, part.unit)
    return list(by_id.values())


def _stored_contents(medication: Medication) -> list[_Content]:
    rows = sorted(medication.contents.all(), key=lambda row: row.position)
    return [_Content(row.position, row.ingredient_id, row.strength, row.amount, row.unit) for row in rows]


def _categories_by_prefix() -> list[tuple[str, int]]:
    """Return every ATC prefix with its category's id, the longest first."""
    pairs = [
        (str(prefix).upper(), category.pk)
        for category in Category.objects.order_by("slug")
        for prefix in category.atc_prefixes
    ]
    return sorted(pairs, key=lambda pair: -len(pair[0]))


def _reserve_small_ids() -> None:
    """Let the database number new products from FIRST_IMPORTED_ID, so that the demo's ids stay free."""
    table, last = Medication._meta.db_table, FIRST_IMPORTED_ID - 1
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_get_serial_sequence(%s, 'id')", [table])
            (sequence,) = cursor.fetchone()
            # The database itself gave this name.
            cursor.execute(f"SELECT last_value FROM {sequence}")
            if cursor.fetchone()[0] < last:
                cursor.execute("SELECT setval(%s, %s)", [sequence, last])
            return
        cursor.execute("UPDATE sqlite_sequence SET seq = MAX(seq, %s) WHERE name = %s", [last, table])
        if cursor.rowcount == 0:
            cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, last])
