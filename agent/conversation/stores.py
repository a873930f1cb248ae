"""Facts of stores for answers about branches: hours of the week, phone, address."""

from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from agent.tools.facts import both
from stores.geo import Point, distance_km
from stores.models import Store
from stores.selectors import hours_of_week, opening_state

_WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def branches_all() -> list[Store]:
    """Every branch, in the order of their numbers, at most fifty."""
    return list(Store.objects.filter(is_active=True, kind=Store.Kind.BRANCH).order_by("pk")[:50])


def store_described(store: Store) -> dict[str, Any]:
    """A store's facts as JSON."""
    now = timezone.now()
    state = opening_state(store, now)
    name, address = both(store, "name"), both(store, "address")
    week: dict[str, list[list[str]]] | None = None
    days = hours_of_week(store)
    if any(day.hours for day in days):
        week = {
            _WEEK[day.weekday]: [[f"{opens:%H:%M}", f"{closes:%H:%M}"] for opens, closes in day.hours]
            for day in days
        }
    return {
        "store_id": store.pk,
        "label_en": name[0],
        "label_he": name[1],
        "address_en": address[0],
        "address_he": address[1],
        "kind": store.kind,
        "phone": store.phone_shown,
        "open_now": state.is_open,
        "closes_at": timezone.localtime(state.closes_at).isoformat() if state.closes_at else None,
        "hours_today": [[f"{opens:%H:%M}", f"{closes:%H:%M}"] for opens, closes in state.hours_today],
        "week": week,
    }


def by_distance(stores: Sequence[Store], origin: Point) -> list[dict[str, Any]]:
    """The facts of stores with their kilometres from a point, nearest first, ties and those without a place by number."""
    away = {
        store.pk: distance_km(origin, Point(store.lat, store.lng))
        for store in stores
        if store.lat is not None and store.lng is not None
    }
    ordered = sorted(stores, key=lambda store: (store.pk not in away, away.get(store.pk, 0.0), store.pk))
    return [
        {**store_described(store), "km": round(away[store.pk], 1) if store.pk in away else None}
        for store in ordered
    ]


def store_nearest(origin: Point) -> dict[str, Any] | None:
    """The nearest branch to a point, with kilometres."""
    stores = [store for store in branches_all() if store.lat is not None and store.lng is not None]
    if not stores:
        return None

    def away(store: Store) -> float:
        return distance_km(origin, Point(float(store.lat or 0), float(store.lng or 0)))

    nearest = min(stores, key=away)
    name = both(nearest, "name")
    return {"label_en": name[0], "label_he": name[1], "km": round(away(nearest), 1)}
