"""Nearest with stock among thousands of stores: the answer of looking at all of them, without doing so."""

import random

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from inventory import stock
from inventory.models import Medication, StockLevel
from inventory.stock import branches
from stores.geo import Point, distance_km, km_between
from stores.models import Store

STORES = 5_000
LIMIT = 10
MOST_ROWS = 4 * (LIMIT + 10)  # a few boxes of limit and spare rows
MOST_QUERIES = 14

TEL_AVIV, ELSEWHERE, NEW_YORK = Point(32.07, 34.78), Point(29.56, 34.95), Point(40.7, -74.0)


@pytest.fixture(scope="module")
def country() -> dict[int, Point]:
    """Five thousand places: half of them crowded together, half all over the country."""
    chance = random.Random(104)
    places = [(chance.gauss(32.07, 0.05), chance.gauss(34.78, 0.05)) for _ in range(STORES // 2)]
    places += [(chance.uniform(29.5, 33.3), chance.uniform(34.3, 35.7)) for _ in range(STORES // 2)]
    return {1_000 + number: Point(*place) for number, place in enumerate(places)}


@pytest.fixture
def common(db: None, country: dict[int, Point]) -> Medication:
    """A product that four stores in five have."""
    _build(country)
    return _stocked("Common", [number for number in country if number % 5])


def _build(places: dict[int, Point]) -> None:
    Store.objects.bulk_create(
        Store(id=number, name_en=f"Branch {number}", lat=point.lat, lng=point.lng)
        for number, point in places.items()
    )


def _stocked(name: str, numbers: list[int]) -> Medication:
    medication = Medication.objects.create(name_en=name, form="tablet")
    others = set(Store.objects.values_list("pk", flat=True)) - set(numbers)
    StockLevel.objects.bulk_create(
        [StockLevel(store_id=number, medication=medication, quantity=1) for number in numbers]
        + [StockLevel(store_id=number, medication=medication, quantity=0) for number in others],
        batch_size=1_000,
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return medication


def _brute(places: dict[int, Point], numbers: list[int], origin: Point) -> list[int]:
    return sorted(numbers, key=lambda number: (distance_km(origin, places[number]), number))[:LIMIT]


@pytest.fixture
def rows_read(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One entry for each store that was looked at outside the database."""
    read: list[None] = []

    def counting(start: Point | None, end: Point | None) -> float | None:
        read.append(None)
        return km_between(start, end)

    monkeypatch.setattr(stock, "km_between", counting)
    return read


def _found(medication: Medication, origin: Point, **options: bool) -> list[int]:
    return [branch.store.pk for branch in branches(medication, origin=origin, limit=LIMIT, **options)]


def test_the_nearest_branches_are_found_while_few_rows_are_read(
    common: Medication, country: dict[int, Point], rows_read: list[None]
) -> None:
    holders = [number for number in country if number % 5]
    for origin in (TEL_AVIV, ELSEWHERE, NEW_YORK):
        rows_read.clear()
        with CaptureQueriesContext(connection) as queries:
            found = _found(common, origin)
        assert found == _brute(country, holders, origin)
        assert len(rows_read) <= MOST_ROWS
        assert len(queries) <= MOST_QUERIES
        boxes = [query["sql"] for query in queries if "BETWEEN" in query["sql"]]
        assert "store_place" in _plan(boxes[0])

    rows_read.clear()
    assert _found(common, TEL_AVIV, only_stocked=False) == _brute(country, list(country), TEL_AVIV)
    assert len(rows_read) <= MOST_ROWS


def test_for_a_rare_product_only_stores_that_have_it_are_read(
    common: Medication, country: dict[int, Point], rows_read: list[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    holders = sorted(country)[::25]
    rare = _stocked("Rare", holders)
    assert len(holders) < stock.FEW_STORES
    expected = _brute(country, holders, ELSEWHERE)
    with CaptureQueriesContext(connection) as queries:
        assert _found(rare, ELSEWHERE) == expected
    assert len(rows_read) <= len(holders) + LIMIT
    assert len(queries) <= 5
    monkeypatch.setattr(stock, "FEW_STORES", 1)
    assert _found(rare, ELSEWHERE) == expected


def _plan(sql: str) -> str:
    """How the database reads the query. The first box is small, so an index is worth it."""
    with connection.cursor() as cursor:
        cursor.execute(("EXPLAIN " if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN ") + sql)
        return "\n".join(str(row) for row in cursor.fetchall())


@pytest.mark.django_db
@pytest.mark.parametrize(
    "origin",
    [Point(-17.0, 179.95), Point(-17.0, -179.95), Point(89.95, 10.0), Point(90.0, 0.0), Point(-89.9, -170.0)],
    ids=["west of the date line", "east of it", "near the pole", "on the pole", "near the other pole"],
)
def test_the_nearest_branches_are_found_across_the_date_line_and_at_the_poles(
    origin: Point, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(7)
    places = {
        number: Point(chance.uniform(*lats), (chance.uniform(*lngs) + 180) % 360 - 180)
        for number, (lats, lngs) in enumerate(
            [((-18, -16), (179, 181))] * 60
            + [((89, 90), (-180, 180))] * 60
            + [((-90, -89), (-180, 180))] * 60,
            1,
        )
    }
    _build(places)
    medication = _stocked("Far", list(places))
    expected = _brute(places, list(places), origin)
    assert _found(medication, origin) == expected
    monkeypatch.setattr(stock, "FEW_STORES", 1)
    assert _found(medication, origin) == expected
