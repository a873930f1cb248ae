"""Writing stock: every change is a conditional update and leaves a movement, in one transaction.

`select_for_update` does nothing on SQLite, so nothing here reads a level and trusts it: the UPDATE carries
the condition, and says by its row count whether the condition still held.
"""

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from inventory.errors import NoInventory, StockBelowZero, StockChangedMeanwhile
from inventory.models import Medication, StockLevel, StockMove
from inventory.signals import stock_changed
from stores.models import Store

MOST_PACKS = 1_000_000
"""More than this in one store is a typing error, and far below what a column holds."""

_NOTE_LENGTH = 300
_ACTOR_LENGTH = 150


def stock_set(
    *,
    store: Store,
    medication: Medication,
    quantity: int,
    actor: str,
    reason: str,
    note: str = "",
    expected_version: int | None = None,
) -> StockLevel:
    """Set how many packs the store has, after a count; the level is created when the store had none.

    `expected_version` is the version that the person saw: StockChangedMeanwhile when it is no longer the one.
    Setting the number that is there already changes nothing and leaves no movement. Errors: StockBelowZero,
    StockChangedMeanwhile, ValueError for a reason that does not exist or an impossible number.
    """
    _refuse_nonsense(quantity, reason)
    if quantity < 0:
        raise StockBelowZero(quantity=0, delta=quantity)
    while True:
        with transaction.atomic():
            level = _level_created(store, medication) if expected_version is None else None
            level = level or StockLevel.objects.filter(store=store, medication=medication).first()
            if level is None:
                raise NoInventory(medication, store.pk)
            if expected_version is not None and level.version != expected_version:
                raise StockChangedMeanwhile(level)
            delta = quantity - level.quantity
            if delta == 0:
                return level
            changed = StockLevel.objects.filter(pk=level.pk, version=level.version).update(
                quantity=quantity, version=F("version") + 1, updated_at=timezone.now()
            )
            if changed:
                return _recorded(level.pk, delta, actor, reason, note)
        # Somebody was faster. With no version to defend, count again from what is there now.


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

    Errors: NoInventory when there is no level to take from, StockBelowZero when there is too little,
    ValueError when there would be impossibly much, StockChangedMeanwhile when the version is another one.
    """
    _refuse_nonsense(abs(delta), reason)
    with transaction.atomic():
        if delta > 0 and expected_version is None:
            _level_created(store, medication)
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
            _explain_refusal(levels.first(), store, medication, delta, expected_version)
        return _recorded(levels.values_list("pk", flat=True).get(), delta, actor, reason, note)


def _refuse_nonsense(quantity: int, reason: str) -> None:
    if reason not in StockMove.Reason.values:
        raise ValueError(f"no such reason for a stock movement: {reason!r}")
    if quantity > MOST_PACKS:
        raise ValueError(f"more than {MOST_PACKS} packs in one store")


def _level_created(store: Store, medication: Medication) -> StockLevel | None:
    """Make sure that a level exists; None when it existed already."""
    if StockLevel.objects.filter(store=store, medication=medication).exists():
        return None
    try:
        with transaction.atomic():
            return StockLevel.objects.create(store=store, medication=medication, quantity=0)
    except IntegrityError:  # another writer created it between the two statements
        return None


def _explain_refusal(
    level: StockLevel | None, store: Store, medication: Medication, delta: int, expected_version: int | None
) -> None:
    if level is None:
        raise NoInventory(medication, store.pk)
    if expected_version is not None and level.version != expected_version:
        raise StockChangedMeanwhile(level)
    if delta > 0:
        raise ValueError(f"more than {MOST_PACKS} packs in one store")
    raise StockBelowZero(quantity=level.quantity, delta=delta)


def _recorded(level_id: int, delta: int, actor: str, reason: str, note: str) -> StockLevel:
    """Write the movement of an update that has just been made, and tell the layers above."""
    # The row is ours until the transaction ends, so what is read here is what the update left.
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
