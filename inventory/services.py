"""Change stock: each change is a conditional UPDATE and a stock movement in one transaction.

`select_for_update` does nothing on SQLite, so no function here reads a level and relies on it: the UPDATE carries the
condition, and its row count tells whether the condition still held.
"""

from dataclasses import dataclass
from datetime import date

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from inventory.errors import NoInventory, StockBelowZero, StockChangedMeanwhile
from inventory.models import Medication, StockLevel, StockMove
from inventory.signals import stock_changed
from stores.models import Store

MOST_PACKS = 1_000_000
"""More than this in one store is a typing error; the column could hold far more."""

_NOTE_LENGTH = 300
_ACTOR_LENGTH = 150


@dataclass(frozen=True)
class Shelf:
    """What a level says besides its packs: when more is expected, and how many count as low."""

    restock_on: date | None
    low_threshold: int

    @classmethod
    def of(cls, level: StockLevel) -> "Shelf":
        """Return what a level says."""
        return cls(level.restock_on, level.low_threshold)


def stock_set(
    *,
    store: Store,
    medication: Medication,
    quantity: int,
    actor: str,
    reason: str,
    note: str = "",
    expected_version: int | None = None,
    shelf: Shelf | None = None,
) -> StockLevel:
    """Set how many packs the store has, after a count; the level is created when the store had none.

    `expected_version` is the version of the whole row that the person saw; StockChangedMeanwhile if it has another one
    now. With `shelf` the restock date and the threshold are set as well, in the same UPDATE. Setting what is stored
    already changes nothing, and a number that stays writes no movement. Errors: StockBelowZero, StockChangedMeanwhile,
    NoInventory, ValueError for an unknown reason or an impossible number.
    """
    _validate(quantity, reason)
    if quantity < 0:
        raise StockBelowZero(quantity=0, delta=quantity)
    while True:
        with transaction.atomic():
            level = _level_create(store, medication) if expected_version is None else None
            level = level or StockLevel.objects.filter(store=store, medication=medication).first()
            if level is None:
                raise NoInventory(medication, store.pk)
            if expected_version is not None and level.version != expected_version:
                raise StockChangedMeanwhile(level)
            delta = quantity - level.quantity
            others = {} if shelf is None or shelf == Shelf.of(level) else vars(shelf)
            if delta:
                others = {**others, "quantity": quantity, "updated_at": timezone.now()}
            if not others:
                return level
            changed = StockLevel.objects.filter(pk=level.pk, version=level.version).update(
                **others, version=F("version") + 1
            )
            if changed and delta:
                return _record(level.pk, delta, actor, reason, note)
            if changed:
                return StockLevel.objects.select_related("store", "medication").get(pk=level.pk)
            if expected_version is not None:
                raise StockChangedMeanwhile(StockLevel.objects.get(pk=level.pk))
        # Somebody else changed the level meanwhile. Without an expected version, try again from the level as it is now.


def stock_adjust(
    *,
    store: Store,
    medication: Medication,
    delta: int,
    actor: str,
    reason: str,
    note: str = "",
    expected_version: int | None = None,
) -> StockLevel:
    """Add packs (or take them away, with a negative `delta`); a first delivery creates the level.

    Errors: NoInventory when there is no level to take from, StockBelowZero when there are too few packs, ValueError
    for an impossible number, StockChangedMeanwhile when the level has another version.
    """
    _validate(abs(delta), reason)
    with transaction.atomic():
        if delta > 0 and expected_version is None:
            _level_create(store, medication)
        levels = StockLevel.objects.filter(store=store, medication=medication)
        if delta == 0:
            level = levels.first()
            if level is None:
                raise NoInventory(medication, store.pk)
            return level
        allowed = levels.filter(quantity__gte=max(0, -delta), quantity__lte=MOST_PACKS - max(0, delta))
        if expected_version is not None:
            allowed = allowed.filter(version=expected_version)
        if not allowed.update(
            quantity=F("quantity") + delta, version=F("version") + 1, updated_at=timezone.now()
        ):
            _raise_why_not(levels.first(), store, medication, delta, expected_version)
        return _record(levels.values_list("pk", flat=True).get(), delta, actor, reason, note)


def _validate(quantity: int, reason: str) -> None:
    """Raise ValueError for an unknown reason or an impossible number of packs."""
    if reason not in StockMove.Reason.values:
        raise ValueError(f"no such reason for a stock movement: {reason!r}")
    if quantity > MOST_PACKS:
        raise ValueError(f"more than {MOST_PACKS} packs in one store")


def _level_create(store: Store, medication: Medication) -> StockLevel | None:
    """Create the level if there is none and return it; None when it existed already."""
    if StockLevel.objects.filter(store=store, medication=medication).exists():
        return None
    try:
        with transaction.atomic():
            return StockLevel.objects.create(store=store, medication=medication, quantity=0)
    except IntegrityError:
        # Another writer created it between the two statements.
        return None


def _raise_why_not(
    level: StockLevel | None, store: Store, medication: Medication, delta: int, expected_version: int | None
) -> None:
    """Raise the error that says why the conditional update changed no row."""
    if level is None:
        raise NoInventory(medication, store.pk)
    if expected_version is not None and level.version != expected_version:
        raise StockChangedMeanwhile(level)
    if delta > 0:
        raise ValueError(f"more than {MOST_PACKS} packs in one store")
    raise StockBelowZero(quantity=level.quantity, delta=delta)


def _record(level_id: int, delta: int, actor: str, reason: str, note: str) -> StockLevel:
    """Write the movement of the update just made and send `stock_changed`."""
    # The update locked the row until the transaction ends, so this reads what the update wrote.
    level = StockLevel.objects.select_related("store", "medication").get(pk=level_id)
    move = StockMove.objects.create(
        store=level.store,
        medication=level.medication,
        delta=delta,
        quantity_after=level.quantity,
        reason=reason,
        actor=actor[:_ACTOR_LENGTH],
        note=note[:_NOTE_LENGTH],
    )
    stock_changed.send(sender=StockLevel, level=level, move=move)
    return level
