"""Read stock: one store's level, totals, and the branches that have a product, nearest first.

The online store and inactive stores are not branches. Nothing here reads every store to find the nearest few.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from math import cos, pi, radians, sin
from typing import Final

from django.conf import settings
from django.db.models import Exists, F, FloatField, OuterRef, QuerySet, Sum, Value
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Cos, Sin
from django.utils import timezone

from inventory.models import Medication, StockLevel
from stores.geo import EARTH_RADIUS_KM, Point, bounding_box, km_between, point_of
from stores.models import Store
from stores.selectors import stores_by_id

FEW_STORES: Final = 300
"""For up to this many stores, computing each distance is cheaper than searching around the customer."""
FIRST_KM: Final = 3.0
BRANCH: Final = Store.Kind.BRANCH
_HALF_ROUND_KM: Final = pi * EARTH_RADIUS_KM
_SPARE_ROWS: Final = 10
"""Read in addition, because the database may sort stores that are millimetres apart differently."""


@dataclass(frozen=True, slots=True)
class BranchStock:
    """What one branch has; `km` is None without an origin, or when the branch's position is not on file."""

    store: Store
    quantity: int
    km: float | None
    restock_on: date | None
    """When more is expected: only a future date, only for a branch that has none."""
    updated_at: datetime | None
    """When the level last changed; None if the branch never carried the product."""
    low: bool


def level_at(store: Store, medication: Medication) -> StockLevel | None:
    """Return the store's level of the product, or None when the store never carried it."""
    return StockLevel.objects.filter(store=store, medication=medication).order_by().first()


def totals(medication_ids: Iterable[int], stores: Collection[Store] | None = None) -> dict[int, int]:
    """Return how many packs these stores, or all active ones, together have of each of these products, 0 for none."""
    ids = list(medication_ids)
    levels = StockLevel.objects.filter(medication_id__in=ids, quantity__gt=0, store__is_active=True)
    rows = (
        (levels if stores is None else levels.filter(store__in=stores))
        .order_by()
        .values("medication_id")
        .annotate(packs=Sum("quantity"))
        .values_list("medication_id", "packs")
    )
    return dict.fromkeys(ids, 0) | dict(rows)


def is_low(level: StockLevel) -> bool:
    """Return whether there are some packs, but no more than the level's threshold."""
    return 0 < level.quantity <= level.low_threshold


def restock_on(level: StockLevel) -> date | None:
    """Return when more is expected, if there is none now and the date is in the future."""
    expected = level.restock_on
    return expected if expected and level.quantity == 0 and expected > timezone.localdate() else None


def branch_stock(store: Store, level: StockLevel | None, *, km: float | None = None) -> BranchStock:
    """Return what a store has of a product; without a stock level it has none."""
    return BranchStock(
        store=store,
        quantity=level.quantity if level else 0,
        km=km,
        restock_on=restock_on(level) if level else None,
        updated_at=level.updated_at if level else None,
        low=is_low(level) if level else False,
    )


def branches(
    medication: Medication,
    *,
    origin: Point | None,
    only_stocked: bool = True,
    limit: int,
) -> list[BranchStock]:
    """Return the branches that have the product, nearest first, ties by store number.

    Without an origin they are sorted by the distance from the reference branch, and no distance is returned. With
    `only_stocked=False`, branches that have none are included. A few queries and a few times `limit` rows, however
    many branches there are.
    """
    start = origin or _reference_point()
    # Most products are in few stores: then start from the stock levels instead of the stores.
    few = _stocked(medication) if only_stocked else []
    are_few = only_stocked and len(few) <= FEW_STORES
    if are_few and len(few) <= limit:
        near = [level.store_id for level in few]
        carrying = [row for row in stores_by_id(near).values() if row.kind == BRANCH and row.is_active]
        return _with_stock(carrying, few, origin, start, only_stocked=True)
    stores = Store.objects.filter(kind=BRANCH, is_active=True)
    levels = StockLevel.objects.filter(medication=medication).order_by()
    if only_stocked:
        levels = levels.filter(quantity__gt=0)
    if only_stocked and not are_few:
        stores = stores.filter(Exists(levels.filter(store=OuterRef("pk"))))
    among = [level.store_id for level in few] if are_few else None
    near = _nearest(stores, among, start, limit=limit)
    read = few if are_few else levels.filter(store__in=near)
    return _with_stock(stores_by_id(near).values(), read, origin, start, only_stocked=only_stocked)


def _stocked(medication: Medication) -> list[StockLevel]:
    """Where there is some of it, in any kind of store; one more than are few when there are many."""
    levels = StockLevel.objects.filter(medication=medication, quantity__gt=0)
    return list(levels.order_by()[: FEW_STORES + 1])


def _reference_point() -> Point | None:
    store = stores_by_id([settings.REFERENCE_BRANCH]).get(settings.REFERENCE_BRANCH)
    return store.point if store else None


def _with_stock(
    stores: Iterable[Store],
    levels: Iterable[StockLevel],
    origin: Point | None,
    start: Point | None,
    *,
    only_stocked: bool,
) -> list[BranchStock]:
    """Return the stores with their levels, nearest to `start` first; `km` only with an origin."""
    level_of = {level.store_id: level for level in levels}
    entries = []
    for store in stores:
        level = level_of.get(store.pk)
        if only_stocked and level is None:
            # Sold out between the two queries.
            continue
        km = km_between(start, store.point)
        branch = BranchStock(
            store=store,
            quantity=level.quantity if level else 0,
            km=km if origin else None,
            restock_on=restock_on(level) if level else None,
            updated_at=level.updated_at if level else None,
            low=is_low(level) if level else False,
        )
        entries.append((_order(km, store.pk), branch))
    return [branch for _, branch in sorted(entries, key=lambda entry: entry[0])]


def _nearest(
    stores: QuerySet[Store], among: Collection[int] | None, start: Point | None, *, limit: int
) -> list[int]:
    """Return the ids of the nearest stores, at most `limit`, if given only of those in `among`."""
    if limit <= 0:
        return []
    if start is None:
        return list(stores.order_by("pk").values_list("pk", flat=True)[:limit])
    if among is None:
        return _nearest_around(stores, start, limit)
    rows = stores.filter(pk__in=among).order_by().values_list("pk", "lat", "lng")
    return [
        pk
        for _, pk in sorted(_order(km_between(start, point_of(lat, lng)), pk) for pk, lat, lng in rows)[
            :limit
        ]
    ]


def _nearest_around(stores: QuerySet[Store], start: Point, limit: int) -> list[int]:
    """Search a box around the start, and widen it until it certainly contains the nearest `limit` stores."""
    km = FIRST_KM
    while True:
        whole = km >= _HALF_ROUND_KM
        box = bounding_box(start, min(km, _HALF_ROUND_KM))
        inside = stores.filter(lat__range=(box.south, box.north), lng__range=(box.west, box.east))
        rows = inside.order_by(_closeness(start).desc(), "pk").values_list("pk", "lat", "lng")
        nearest = sorted(
            _order(km_between(start, point_of(lat, lng)), pk) for pk, lat, lng in rows[: limit + _SPARE_ROWS]
        )
        # A store in a corner of the box is farther away than `km`; a nearer one may lie outside the box.
        if len(nearest) >= limit and nearest[limit - 1][0] <= km:
            return [pk for _, pk in nearest[:limit]]
        if whole:
            ids = [pk for _, pk in nearest]
            without_position = stores.filter(lat__isnull=True).order_by("pk").values_list("pk", flat=True)
            return ids + list(without_position[: limit - len(ids)]) if len(ids) < limit else ids[:limit]
        # Aim at an area with twice as many stores as needed.
        km *= min(4.0, max(1.5, (2 * limit / len(nearest)) ** 0.5)) if nearest else 4.0


def _closeness(start: Point) -> CombinedExpression:
    """Return the cosine of the angle between store and start, which also works at the poles and the date line."""
    degree = Value(radians(1), output_field=FloatField())
    lat, lng = F("lat") * degree, (F("lng") - Value(start.lng, output_field=FloatField())) * degree
    return Sin(lat) * Value(sin(radians(start.lat)), output_field=FloatField()) + Cos(lat) * Cos(lng) * Value(
        cos(radians(start.lat)), output_field=FloatField()
    )


def _order(km: float | None, pk: int) -> tuple[float, int]:
    """Return the sort key of a store: nearest first, those without a position last, ties by number."""
    return (float("inf") if km is None else km), pk
