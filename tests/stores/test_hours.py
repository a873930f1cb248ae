"""When a store is open: Fridays, Saturdays, holidays and their eves, in the pharmacy's own time."""

from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

import pytest
from django.utils import translation
from pytest_django import DjangoAssertNumQueries

from stores.models import OpeningException, OpeningHours, Store
from stores.selectors import exceptions_ahead, hours_of_week, opening_state, store_default, store_reference

pytestmark = pytest.mark.django_db
ISRAEL = ZoneInfo("Asia/Jerusalem")


@pytest.fixture
def store() -> Store:
    """Open Sunday to Thursday 8–13 and 16–20, Friday 8–14; 9 January 2028 closed, 10 January 8–12."""
    store = Store.objects.create(pk=101, name_en="Ramat Aviv, Tel Aviv", lat=32.1, lng=34.8)
    rows = [(day, time(8), time(13)) for day in (6, 0, 1, 2, 3)] + [
        (day, time(16), time(20)) for day in (6, 0, 1, 2, 3)
    ]
    rows.append((4, time(8), time(14)))
    for day, opens, closes in rows:
        OpeningHours.objects.create(store=store, weekday=day, opens=opens, closes=closes)
    OpeningException.objects.create(
        store=store, date=date(2028, 1, 9), closed=True, note_en="Holiday", note_he="חג"
    )
    OpeningException.objects.create(store=store, date=date(2028, 1, 10), opens=time(8), closes=time(12))
    return store


def at(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2028, 1, day, hour, minute, tzinfo=ISRAEL)


@pytest.mark.parametrize(
    ("moment", "is_open", "closes", "opens"),
    [
        (at(5, 9), True, at(5, 13), None),  # Wednesday
        (at(5, 8), True, at(5, 13), None),  # the minute it opens
        (at(5, 13), False, None, at(5, 16)),  # the minute it closes
        (at(5, 7, 59), False, None, at(5, 8)),
        (at(5, 21), False, None, at(6, 8)),
        (at(7, 13, 30), True, at(7, 14), None),  # Friday is short
        (at(7, 14), False, None, at(10, 8)),  # Saturday closed, Sunday a holiday, Monday opens
        (at(8, 12), False, None, at(10, 8)),
        (at(9, 10), False, None, at(10, 8)),  # a closed date beats the week
        (at(10, 12, 30), False, None, at(11, 8)),  # so do a date's shorter hours
        (at(10, 11), True, at(10, 12), None),
        (datetime(2028, 1, 5, 6, 30, tzinfo=UTC), True, at(5, 13), None),  # 8:30 in Israel
        (datetime(2028, 1, 5, 5, 30, tzinfo=UTC), False, None, at(5, 8)),
    ],
)
def test_a_store_is_open_or_closed_at_a_given_moment(
    store: Store, moment: datetime, is_open: bool, closes: datetime | None, opens: datetime | None
) -> None:
    state = opening_state(store, moment)
    assert (state.is_open, state.closes_at, state.opens_at) == (is_open, closes, opens)


def test_a_special_day_has_its_own_hours_and_its_reason(store: Store) -> None:
    assert opening_state(store, at(5, 9)).hours_today == [(time(8), time(13)), (time(16), time(20))]
    assert opening_state(store, at(5, 9)).note == ""
    assert opening_state(store, at(9, 9)).hours_today == []
    assert opening_state(store, at(9, 9)).note == "Holiday"
    with translation.override("he"):
        assert opening_state(store, at(9, 9)).note == "חג"


def test_a_store_without_hours_is_neither_open_nor_closed() -> None:
    online = Store.objects.create(pk=1, name_en="Online store", kind=Store.Kind.ONLINE)
    assert opening_state(online, at(5, 9)).is_open is None
    assert hours_of_week(online) == []


def test_the_week_begins_on_sunday(store: Store) -> None:
    week = hours_of_week(store)
    assert [day.weekday for day in week] == [6, 0, 1, 2, 3, 4, 5]
    assert week[5].hours == [(time(8), time(14))]
    assert week[6].hours == []


def test_exceptions_ahead_are_those_of_the_next_days(store: Store) -> None:
    assert [row.date.day for row in exceptions_ahead(store, date(2028, 1, 9))] == [9, 10]
    assert [row.date.day for row in exceptions_ahead(store, date(2028, 1, 10), days=1)] == [10]
    assert exceptions_ahead(store, date(2027, 12, 1)) == []


def test_opening_state_takes_two_queries_or_none_when_prefetched(
    store: Store, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(2):
        opening_state(store, at(5, 9))
    loaded = Store.objects.prefetch_related("hours", "exceptions").get(pk=101)
    with django_assert_num_queries(0):
        opening_state(loaded, at(5, 9))


def test_the_default_store_and_the_reference_branch_come_from_the_settings(store: Store) -> None:
    Store.objects.create(pk=1, name_en="Online store", kind=Store.Kind.ONLINE)
    assert store_default().pk == 1
    assert store_reference().pk == 101
