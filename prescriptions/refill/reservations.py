"""Reserve packs for a refill: they leave the shelf at once, and come back when the reservation is released or expires."""

from datetime import timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from inventory.errors import NoInventory, StockBelowZero
from inventory.models import Medication, StockLevel, StockMove
from inventory.services import stock_adjust
from prescriptions.models import RefillRequest, StockReservation
from stores.models import Store

_State = StockReservation.State


def packs_for(medication: Medication, units: int) -> int:
    """Return how many packs so many units need, rounded up; without a pack size on file it is one pack."""
    return -(-units // medication.pack_size) if medication.pack_size else 1


def store_of(request: RefillRequest) -> Store:
    """Return the store whose stock is used."""
    return supplier_of(request.store)


def supplier_of(store: Store | None) -> Store:
    """Return the store whose stock is used when it is picked up there; a delivery (None) comes from the online store."""
    return store or Store.objects.get(pk=settings.DEFAULT_STORE)


def stores_with(medication: Medication, packs: int) -> list[int]:
    """Return the ids of the stores that have so many packs."""
    rows = StockLevel.objects.filter(medication=medication, quantity__gte=packs).order_by("store_id")
    return list(rows.values_list("store_id", flat=True))


def stock_reserve(request: RefillRequest) -> bool:
    """Take the packs off the shelf for 15 minutes and return whether there were enough; safe to repeat."""
    medication = request.prescription.medication
    packs = packs_for(medication, request.quantity)
    store = store_of(request)
    live = StockReservation.objects.filter(request=request, state__in=[_State.HELD, _State.USED]).first()
    if live and live.packs == packs and live.store_id == store.pk:
        return True
    if live:
        reservation_release(request)
    try:
        with transaction.atomic():
            StockReservation.objects.create(
                request=request,
                store=store,
                medication=medication,
                packs=packs,
                expires_at=timezone.now() + timedelta(seconds=settings.REFILL_RESERVATION),
            )
            _move(store, medication, -packs, StockMove.Reason.RESERVED, request.number)
    except (StockBelowZero, NoInventory):
        return False
    except IntegrityError:
        # Another walk of the same request reserved between the two statements.
        return True
    return True


def reservation_use(request: RefillRequest) -> bool:
    """Keep the packs for the order that is about to be sent, and return whether they were still reserved."""
    return bool(StockReservation.objects.filter(request=request, state=_State.HELD).update(state=_State.USED))


def reservation_release(
    request: RefillRequest, *, used: bool = False, reason: str = StockMove.Reason.RELEASED
) -> None:
    """Put the packs back on the shelf, once; with `used` also those of an order that was not carried out."""
    states = [_State.HELD, _State.USED] if used else [_State.HELD]
    for row in StockReservation.objects.filter(request=request, state__in=states):
        _release(row, reason)


def reservations_expire() -> int:
    """Put back the packs of all reservations that are over, and return how many those were."""
    due = StockReservation.objects.filter(state=_State.HELD, expires_at__lte=timezone.now())
    return sum(_release(row, StockMove.Reason.RELEASED) for row in due)


def _release(row: StockReservation, reason: str) -> bool:
    with transaction.atomic():
        released = StockReservation.objects.filter(pk=row.pk, state=row.state).update(state=_State.RELEASED)
        if released:
            _move(row.store, row.medication, row.packs, reason, row.request.number)
    return bool(released)


def _move(store: Store, medication: Medication, delta: int, reason: str, number: str) -> None:
    stock_adjust(
        store=store, medication=medication, delta=delta, actor="system:refills", reason=reason, note=number
    )
