"""Read stores: the default one, the reference branch, places in a text, and opening hours."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final

from django.conf import settings
from django.utils import timezone

from stores.models import OpeningException, Store
from stores.places import (
    CityPlace,
    Place,
    PlaceMention,
    StorePlace,
    UnservedPlace,
    place_find,
    places_in,
    stores_by_id,
)

__all__ = [
    "CityPlace",
    "DayHours",
    "OpeningState",
    "Place",
    "PlaceMention",
    "StorePlace",
    "UnservedPlace",
    "exceptions_ahead",
    "hours_of_week",
    "opening_periods",
    "opening_state",
    "phones_of_stores",
    "place_find",
    "places_in",
    "store_default",
    "store_reference",
    "stores_by_id",
]

LOOK_AHEAD_DAYS: Final = 14
"""How far ahead the next opening is looked for: longer than any sequence of holidays."""

SUNDAY_FIRST: Final = (6, 0, 1, 2, 3, 4, 5)

Period = tuple[time, time]
"""Opening and closing time."""


@dataclass(frozen=True, slots=True)
class OpeningState:
    """Whether a store is open at a moment; `is_open` is None when no hours are on file (the online store)."""

    is_open: bool | None
    closes_at: datetime | None
    """When the current period ends; None when closed."""
    opens_at: datetime | None
    """The next opening within two weeks; None when open."""
    hours_today: list[Period]
    note: str
    """Why today is special, in the active language; "" on an ordinary day."""


@dataclass(frozen=True, slots=True)
class DayHours:
    """The hours of one ordinary weekday (Monday is 0); no hours is closed."""

    weekday: int
    hours: list[Period]


def phones_of_stores() -> list[str]:
    """Return the phones of all active stores, as they are stored."""
    found = Store.objects.filter(is_active=True).exclude(phone="").values_list("phone", flat=True)
    return [str(phone) for phone in found]


def store_default() -> Store:
    """Return the chain's default store: the online store, unless the settings name another."""
    return Store.objects.select_related("locality").get(pk=settings.DEFAULT_STORE)


def store_reference() -> Store:
    """Return the branch by whose distance stores are ordered when the customer's position is unknown."""
    return Store.objects.select_related("locality").get(pk=settings.REFERENCE_BRANCH)


def hours_of_week(store: Store) -> list[DayHours]:
    """Return the seven days of an ordinary week from Sunday, or [] for a store without hours on file."""
    week = _week(store)
    return [DayHours(day, week.get(day, [])) for day in SUNDAY_FIRST] if week else []


def exceptions_ahead(store: Store, on: date, days: int = LOOK_AHEAD_DAYS) -> list[OpeningException]:
    """Return the dated exceptions from `on` for so many days, earliest first."""
    return [row for row in store.exceptions.all() if on <= row.date < on + timedelta(days=days)]


def opening_state(store: Store, at: datetime) -> OpeningState:
    """Return whether the store is open at that moment and what changes next; dated exceptions replace the week's hours.

    Times are the pharmacy's (TIME_ZONE), whatever zone `at` is in. Two queries, none if both relations are prefetched.
    """
    zone = timezone.get_default_timezone()
    local = at.astimezone(zone)
    calendar = _calendar(store, local.date())
    if calendar is None:
        return OpeningState(None, None, None, [], "")
    today, note = calendar.periods(local.date()), calendar.note(local.date())
    for opens, closes in today:
        if opens <= local.time() < closes:
            return OpeningState(True, datetime.combine(local.date(), closes, zone), None, today, note)
    ahead = opening_periods(store, at)
    return OpeningState(False, None, ahead[0][0] if ahead else None, today, note)


def opening_periods(store: Store, at: datetime) -> list[tuple[datetime, datetime]]:
    """Return when the store opens and closes, for two weeks from `at`; the first may have begun. Empty without hours."""
    zone = timezone.get_default_timezone()
    local = at.astimezone(zone)
    calendar = _calendar(store, local.date())
    if calendar is None:
        return []
    days = [local.date() + timedelta(days=ahead) for ahead in range(LOOK_AHEAD_DAYS)]
    found = [
        (datetime.combine(day, opens, zone), datetime.combine(day, closes, zone))
        for day in days
        for opens, closes in calendar.periods(day)
    ]
    return [(opens, closes) for opens, closes in found if closes > local]


@dataclass(frozen=True, slots=True)
class _Calendar:
    """The hours of a store's weekdays, and the dated exceptions that replace them."""

    week: dict[int, list[Period]]
    special: dict[date, list[OpeningException]]

    def periods(self, day: date) -> list[Period]:
        if day in self.special:
            rows = self.special[day]
            return sorted((row.opens, row.closes) for row in rows if row.opens and row.closes)
        return self.week.get(day.weekday(), [])

    def note(self, day: date) -> str:
        return next((str(row.note) for row in self.special.get(day, []) if row.note), "")


def _calendar(store: Store, day: date) -> _Calendar | None:
    """Return the store's hours from this day on, or None if none are on file."""
    week = _week(store)
    special: dict[date, list[OpeningException]] = {}
    for row in exceptions_ahead(store, day):
        special.setdefault(row.date, []).append(row)
    return _Calendar(week, special) if week or special else None


def _week(store: Store) -> dict[int, list[Period]]:
    """Return the sorted periods of each weekday that has any."""
    week: dict[int, list[Period]] = {}
    for row in store.hours.all():
        week.setdefault(row.weekday, []).append((row.opens, row.closes))
    return {day: sorted(hours) for day, hours in week.items()}
