"""What is in stock where: one store, all stores, the branches in order."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings

from inventory import stock
from inventory.models import Medication, StockLevel
from inventory.stock import FEW_STORES, branches, is_low, level_at, restock_on, totals
from stores.geo import Point
from stores.models import Store

JAFFA = Point(32.054, 34.756)


@pytest.fixture
def ibuprofen(db: None) -> Medication:
    """Ibuprofen with its stock: online 150, Ramat Aviv 5, Dizengoff 0, Florentin 3, Jaffa 0."""
    medication = Medication.objects.create(name_en="Ibuprofen", form="tablet", strength="200 mg")
    places = {101: (32.113, 34.804), 102: (32.075, 34.775), 103: (32.056, 34.769), 104: (32.054, 34.756)}
    Store.objects.create(id=1, name_en="Online store", kind=Store.Kind.ONLINE)
    for number, (lat, lng) in places.items():
        Store.objects.create(id=number, name_en=f"Branch {number}", lat=lat, lng=lng)
    for number, quantity in {1: 150, 101: 5, 102: 0, 103: 3, 104: 0}.items():
        StockLevel.objects.create(store_id=number, medication=medication, quantity=quantity)
    return medication


@pytest.fixture(autouse=True, params=[FEW_STORES, 0], ids=["few stores", "many stores"])
def few_stores(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at one by one, and around the customer."""
    monkeypatch.setattr(stock, "FEW_STORES", request.param)


def ids(medication: Medication, **options: object) -> list[int]:
    options = {"origin": JAFFA, "limit": 10, **options}
    return [branch.store.pk for branch in branches(medication, **options)]  # type: ignore[arg-type]


def test_branches_with_stock_come_nearest_first_without_the_online_store(ibuprofen: Medication) -> None:
    found = branches(ibuprofen, origin=JAFFA, limit=10)
    assert [(branch.store.pk, branch.quantity) for branch in found] == [(103, 3), (101, 5)]
    assert [round(branch.km or 0, 1) for branch in found] == [1.2, 8.0]
    assert all(branch.low and branch.updated_at for branch in found)


def test_branches_without_stock_are_included_on_request(ibuprofen: Medication) -> None:
    Store.objects.create(id=105, name_en="New", lat=32.2, lng=34.9)
    assert ids(ibuprofen, only_stocked=False) == [104, 103, 102, 101, 105]
    never_carried = branches(ibuprofen, origin=JAFFA, only_stocked=False, limit=10)[-1]
    assert (never_carried.quantity, never_carried.updated_at, never_carried.low) == (0, None, False)


def test_without_an_origin_branches_are_sorted_from_the_reference_branch_without_distances(
    ibuprofen: Medication, settings: Settings
) -> None:
    settings.REFERENCE_BRANCH = 101
    found = branches(ibuprofen, origin=None, limit=10)
    assert [(branch.store.pk, branch.km) for branch in found] == [(101, None), (103, None)]
    settings.REFERENCE_BRANCH = 104
    assert ids(ibuprofen, origin=None) == [103, 101]
    settings.REFERENCE_BRANCH = 999
    assert ids(ibuprofen, origin=None) == [101, 103]


def test_inactive_branches_are_left_out_and_those_without_a_position_come_last(ibuprofen: Medication) -> None:
    Store.objects.filter(pk=103).update(is_active=False)
    nowhere = Store.objects.create(id=50, name_en="Nowhere")
    StockLevel.objects.create(store=nowhere, medication=ibuprofen, quantity=1)
    assert ids(ibuprofen) == [101, 50]
    assert ids(ibuprofen, only_stocked=False) == [104, 102, 101, 50]


@pytest.mark.parametrize("limit", [3, 10])
def test_branches_at_the_same_distance_are_sorted_by_number(ibuprofen: Medication, limit: int) -> None:
    for number in (304, 302, 303):
        Store.objects.create(id=number, name_en="Twin", lat=32.054, lng=34.756)
        StockLevel.objects.create(store_id=number, medication=ibuprofen, quantity=1)
    assert ids(ibuprofen, limit=limit)[:3] == [302, 303, 304]


def test_a_limit_returns_the_nearest_branches(ibuprofen: Medication) -> None:
    assert ids(ibuprofen, only_stocked=False, limit=2) == [104, 103]
    assert ids(ibuprofen, limit=1) == [103]
    assert ids(ibuprofen, limit=0) == []


def test_totals_count_active_stores_and_are_zero_without_stock(ibuprofen: Medication) -> None:
    other = Medication.objects.create(name_en="PainAway", form="tablet")
    assert totals([ibuprofen.pk, other.pk]) == {ibuprofen.pk: 158, other.pk: 0}
    Store.objects.filter(pk=101).update(is_active=False)
    assert totals([ibuprofen.pk]) == {ibuprofen.pk: 153}
    assert totals([]) == {}


def test_a_level_is_none_where_the_product_was_never_carried(ibuprofen: Medication) -> None:
    empty = level_at(Store.objects.get(pk=102), ibuprofen)
    assert empty is not None and empty.quantity == 0
    assert level_at(Store.objects.create(id=105, name_en="New"), ibuprofen) is None


@pytest.mark.parametrize(
    ("quantity", "threshold", "low"),
    [(0, 10, False), (1, 10, True), (10, 10, True), (11, 10, False), (5, 3, False)],
)
def test_low_is_some_but_no_more_than_the_threshold(quantity: int, threshold: int, low: bool) -> None:
    assert is_low(StockLevel(quantity=quantity, low_threshold=threshold)) is low


@pytest.mark.parametrize(
    ("quantity", "days", "told"), [(0, 14, True), (0, 0, False), (0, -3, False), (5, 14, False)]
)
def test_a_restock_date_is_returned_only_in_the_future_and_without_stock(
    quantity: int, days: int, told: bool
) -> None:
    expected = timezone.localdate() + timedelta(days=days)
    assert restock_on(StockLevel(quantity=quantity, restock_on=expected)) == (expected if told else None)
    assert restock_on(StockLevel(quantity=0)) is None
