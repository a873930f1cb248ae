"""Changing stock: never below zero, never lost, always with a movement."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, connections

from inventory.errors import NoInventory, StockBelowZero, StockChangedMeanwhile
from inventory.models import Medication, StockLevel, StockMove
from inventory.services import MOST_PACKS, stock_adjust, stock_set
from inventory.signals import stock_changed
from stores.models import Store

WHO: dict[str, Any] = {"actor": "dana", "reason": "count"}


@pytest.fixture
def shelf(db: None) -> tuple[Store, Medication]:
    """A branch with 20 packs of one product."""
    store = Store.objects.create(id=101, name_en="Ramat Aviv")
    medication = Medication.objects.create(name_en="Ibuprofen", form="tablet")
    StockLevel.objects.create(store=store, medication=medication, quantity=20)
    return store, medication


def level(shelf: tuple[Store, Medication]) -> StockLevel:
    return StockLevel.objects.get(store=shelf[0], medication=shelf[1])


def moves() -> list[tuple[int, int]]:
    return list(StockMove.objects.order_by("id").values_list("delta", "quantity_after"))


def test_a_count_sets_the_level_and_writes_a_movement_with_actor_and_reason(
    shelf: tuple[Store, Medication],
) -> None:
    before = level(shelf)
    after = stock_set(
        store=shelf[0], medication=shelf[1], quantity=7, actor="dana", reason="count", note="Sunday count"
    )
    assert (after.quantity, after.version) == (7, before.version + 1)
    assert after.updated_at > before.updated_at
    move = StockMove.objects.get()
    assert (move.delta, move.quantity_after, move.actor, move.reason, move.note) == (
        -13,
        7,
        "dana",
        "count",
        "Sunday count",
    )


def test_setting_the_same_number_changes_nothing(shelf: tuple[Store, Medication]) -> None:
    version = level(shelf).version
    assert stock_set(store=shelf[0], medication=shelf[1], quantity=20, **WHO).version == version
    assert stock_adjust(store=shelf[0], medication=shelf[1], delta=0, **WHO).version == version
    assert moves() == []


def test_an_adjustment_adds_or_takes_away_packs(shelf: tuple[Store, Medication]) -> None:
    stock_adjust(store=shelf[0], medication=shelf[1], delta=5, actor="dana", reason="delivery")
    stock_adjust(store=shelf[0], medication=shelf[1], delta=-25, actor="dana", reason="sale")
    assert level(shelf).quantity == 0
    assert moves() == [(5, 25), (-25, 0)]


def test_a_change_below_zero_is_refused_and_writes_nothing(shelf: tuple[Store, Medication]) -> None:
    with pytest.raises(StockBelowZero) as refused:
        stock_adjust(store=shelf[0], medication=shelf[1], delta=-21, **WHO)
    assert (refused.value.quantity, refused.value.delta) == (20, -21)
    with pytest.raises(StockBelowZero):
        stock_set(store=shelf[0], medication=shelf[1], quantity=-1, **WHO)
    assert (level(shelf).quantity, level(shelf).version, moves()) == (20, 0, [])


def test_a_first_delivery_or_count_creates_the_level_and_taking_away_is_refused(
    shelf: tuple[Store, Medication],
) -> None:
    new = Store.objects.create(id=102, name_en="Dizengoff")
    with pytest.raises(NoInventory):
        stock_adjust(store=new, medication=shelf[1], delta=-1, **WHO)
    with pytest.raises(NoInventory):
        stock_set(store=new, medication=shelf[1], quantity=3, expected_version=0, **WHO)
    assert not StockLevel.objects.filter(store=new).exists()
    assert stock_adjust(store=new, medication=shelf[1], delta=4, **WHO).quantity == 4
    other = Store.objects.create(id=103, name_en="Florentin")
    assert stock_set(store=other, medication=shelf[1], quantity=0, **WHO).quantity == 0
    assert moves() == [(4, 4)]


@pytest.mark.parametrize("change", [stock_set, stock_adjust])
def test_a_change_with_an_old_version_is_refused_with_the_current_level(
    shelf: tuple[Store, Medication], change: Any
) -> None:
    seen = level(shelf).version
    amount = {"quantity": 5} if change is stock_set else {"delta": -1}
    change(store=shelf[0], medication=shelf[1], expected_version=seen, **amount, **WHO)
    now = level(shelf)
    with pytest.raises(StockChangedMeanwhile) as refused:
        change(store=shelf[0], medication=shelf[1], expected_version=seen, **amount, **WHO)
    assert refused.value.current.quantity == now.quantity == level(shelf).quantity
    assert len(moves()) == 1


def test_an_unknown_reason_or_an_impossible_number_is_refused(shelf: tuple[Store, Medication]) -> None:
    with pytest.raises(ValueError, match="reason"):
        stock_set(store=shelf[0], medication=shelf[1], quantity=5, actor="dana", reason="because")
    with pytest.raises(ValueError, match="packs"):
        stock_set(store=shelf[0], medication=shelf[1], quantity=MOST_PACKS + 1, **WHO)
    with pytest.raises(ValueError, match="packs"):
        stock_adjust(store=shelf[0], medication=shelf[1], delta=MOST_PACKS, **WHO)
    assert (level(shelf).quantity, moves()) == (20, [])


def test_a_receiver_that_fails_undoes_the_change(shelf: tuple[Store, Medication]) -> None:
    heard: list[tuple[int, int]] = []

    def record(level: StockLevel, move: StockMove, **_: object) -> None:
        assert connection.in_atomic_block
        heard.append((level.quantity, move.delta))
        if move.delta < 0:
            raise RuntimeError("the audit log is full")

    stock_changed.connect(record)
    try:
        stock_adjust(store=shelf[0], medication=shelf[1], delta=1, **WHO)
        with pytest.raises(RuntimeError):
            stock_adjust(store=shelf[0], medication=shelf[1], delta=-1, **WHO)
    finally:
        stock_changed.disconnect(record)
    assert heard == [(21, 1), (20, -1)]
    assert (level(shelf).quantity, moves()) == (21, [(1, 21)])


def _in_threads(work: Any, times: int) -> list[Any]:
    def once(number: int) -> Any:
        try:
            return work(number)
        except (StockBelowZero, StockChangedMeanwhile) as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(max_workers=6) as pool:
        return list(pool.map(once, range(times)))


@pytest.mark.django_db(transaction=True)
def test_concurrent_sales_never_take_more_than_there_is(shelf: tuple[Store, Medication]) -> None:
    results = _in_threads(
        lambda _: stock_adjust(store=shelf[0], medication=shelf[1], delta=-1, actor="till", reason="sale"), 30
    )
    refused = [result for result in results if isinstance(result, StockBelowZero)]
    assert len(refused) == 10
    assert level(shelf).quantity == 0
    assert sorted(after for _, after in moves()) == list(range(20))


@pytest.mark.django_db(transaction=True)
def test_of_concurrent_changes_with_one_version_exactly_one_succeeds(shelf: tuple[Store, Medication]) -> None:
    seen = level(shelf).version
    results = _in_threads(
        lambda number: stock_set(
            store=shelf[0], medication=shelf[1], quantity=100 + number, expected_version=seen, **WHO
        ),
        12,
    )
    assert sum(isinstance(result, StockChangedMeanwhile) for result in results) == 11
    assert len(moves()) == 1


@pytest.mark.django_db(transaction=True)
def test_movements_add_up_to_the_level(shelf: tuple[Store, Medication]) -> None:
    def work(number: int) -> StockLevel:
        if number % 3 == 0:
            return stock_set(store=shelf[0], medication=shelf[1], quantity=50 + number, **WHO)
        return stock_adjust(
            store=shelf[0], medication=shelf[1], delta=number % 5 - 2, actor="till", reason="return"
        )

    _in_threads(work, 30)
    assert 20 + sum(delta for delta, _ in moves()) == level(shelf).quantity
    assert level(shelf).version == len(moves())


@pytest.mark.django_db(transaction=True)
def test_concurrent_first_deliveries_share_one_level(shelf: tuple[Store, Medication]) -> None:
    new = Store.objects.create(id=102, name_en="Dizengoff")
    _in_threads(lambda _: stock_adjust(store=new, medication=shelf[1], delta=2, **WHO), 8)
    assert StockLevel.objects.get(store=new).quantity == 16
