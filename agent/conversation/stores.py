"""Facts of stores as JSON: names, phone, hours, distance. The actions answer with them, and so do the tools (as evidence)."""

from collections.abc import Sequence
from typing import Any, Final

from django.db.models import prefetch_related_objects
from django.utils import timezone

from agent.evidence import OpeningFacts, StoreLabel
from pharmacy_site.lib.bilingual import both, labels, named
from pharmacy_site.lib.text import Language
from stores.geo import Point, distance_km
from stores.models import Store
from stores.places import CityPlace, StorePlace, place_find
from stores.selectors import OpeningState, hours_of_week, opening_state

MOST_BRANCHES: Final = 50
_WEEK: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def branches_all() -> list[Store]:
    """Return every branch, in the order of their numbers, at most fifty."""
    return list(Store.objects.filter(is_active=True, kind=Store.Kind.BRANCH).order_by("pk")[:MOST_BRANCHES])


def store_facts(store: Store) -> StoreLabel:
    """Return what every mention of a store says: its number, name, kind and phone."""
    english, hebrew = both(store, "name")
    return {
        "store_id": store.pk,
        "label_en": english,
        "label_he": hebrew,
        "kind": store.kind,
        "phone": store.phone_shown,
    }


def opening_facts(state: OpeningState) -> OpeningFacts:
    """Return whether a store is open, until when, and its hours of today."""
    return {
        "open_now": state.is_open,
        "opens_at": state.opens_at.isoformat() if state.opens_at else None,
        "closes_at": state.closes_at.isoformat() if state.closes_at else None,
        "hours_today": [[f"{opens:%H:%M}", f"{closes:%H:%M}"] for opens, closes in state.hours_today],
    }


def stores_described(stores: Sequence[Store]) -> list[dict[str, Any]]:
    """Return the facts of stores for answers about branches, with address and the hours of the week; two queries."""
    now = timezone.now()
    prefetch_related_objects(list(stores), "hours", "exceptions")
    return [
        {
            **store_facts(store),
            **labels(store, "address", key="address"),
            **opening_facts(opening_state(store, now)),
            "week": _week(store),
        }
        for store in stores
    ]


def by_distance(stores: Sequence[Store], origin: Point) -> list[dict[str, Any]]:
    """Return the facts of stores with their kilometres from a point, nearest first, those without a place last."""
    away = {store.pk: distance_km(origin, store.point) for store in stores if store.point}
    ordered = sorted(stores, key=lambda store: (store.pk not in away, away.get(store.pk, 0.0), store.pk))
    return [
        {**facts, "km": round(away[store.pk], 1) if store.pk in away else None}
        for store, facts in zip(ordered, stores_described(ordered), strict=True)
    ]


def store_of_staff(talked_about: int | None = None) -> dict[str, Any] | None:
    """Return the facts of the branch whose staff read a request.

    That is the one talked about if it is open now, else the one open longest, else the one that opens first.
    """
    stores = stores_described(branches_all())
    if is_open := [store for store in stores if store["open_now"] and store["closes_at"]]:
        return max(is_open, key=lambda store: (store["store_id"] == talked_about, str(store["closes_at"])))
    return min(
        (store for store in stores if store["opens_at"]),
        key=lambda store: str(store["opens_at"]),
        default=None,
    )


def place_named(query: str, language: Language) -> str:
    """Return the name of the branch or city that a query means, in this language; the query itself for other places."""
    place = place_find(query) if query.strip() else None
    if isinstance(place, StorePlace):
        return named(place.store, language)
    return named(place.locality, language) if isinstance(place, CityPlace) else query


def store_nearest(origin: Point) -> dict[str, Any] | None:
    """Return the name of the branch nearest to a point and its kilometres."""
    away = [(distance_km(origin, store.point), store) for store in branches_all() if store.point]
    if not away:
        return None
    km, store = min(away, key=lambda found: found[0])
    return {**labels(store), "km": round(km, 1)}


def _week(store: Store) -> dict[str, list[list[str]]] | None:
    """Return the hours of an ordinary week by day, None for a store without any."""
    days = hours_of_week(store)
    if not any(day.hours for day in days):
        return None
    return {
        _WEEK[day.weekday]: [[f"{opens:%H:%M}", f"{closes:%H:%M}"] for opens, closes in day.hours]
        for day in days
    }
