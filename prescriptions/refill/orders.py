"""Send a refill's order to the dispenser exactly once, and find out what became of it.

Before the order is sent, one transaction takes the refill, keeps the packs and records that it is being sent; only its
winner sends. After a time-out the order is looked up by its key. It is sent again, under the same key, only when the
dispenser says that it has no such order.
"""

from datetime import timedelta
from typing import Final, Literal

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from inventory.models import StockMove
from prescriptions.connectors.protocols import ConnectorDown, ConnectorError, Order, OrderRefused
from prescriptions.connectors.registry import connectors
from prescriptions.errors import RefillRefused
from prescriptions.models import Prescription, RefillRequest
from prescriptions.refill.reservations import reservation_release, reservation_use
from prescriptions.refill.transitions import request_note

WALKER: Final = "system:refills"
WHERE: Final = "refill"
BUSY: Final = timedelta(seconds=10)
"""Longer than one walk sends and looks up an order: a younger one is still in somebody's hands."""

Result = Literal["accepted", "refused", "down", "unknown", "no_packs", "no_refills"]
_Order = RefillRequest.Order


def order_is_out(request: RefillRequest) -> bool:
    """Return whether the order may have been carried out, so that nothing else may be done before that is known."""
    return request.order_state in {_Order.SENT, _Order.UNKNOWN}


def order_send(request: RefillRequest) -> Result:
    """Take the refill and send the order. "no_packs", "no_refills": they were gone, and nothing was changed."""
    try:
        request_note(
            request,
            "order_sent",
            actor=WALKER,
            where=WHERE,
            fields={
                "order_state": _Order.SENT,
                "order_at": timezone.now(),
                "refill_taken": True,
                "filled_before": request.prescription.last_filled_on,
            },
            effect=_take,
        )
    except RefillRefused as refusal:
        return "no_refills" if refusal.code == "no_refills" else "no_packs"
    return _submit(request)


def order_settle(request: RefillRequest) -> Result:
    """Look an order up whose answer is missing, and send it again if the dispenser never got it."""
    try:
        state = connectors().dispenser.status(request.order_key)
        if state == "accepted":
            return "accepted"
        if state == "cancelled":
            return "refused"
        if state != "absent":
            # No answer that is known, so nothing that an order may be sent again for.
            return _unknown(request)
        return "unknown" if order_is_old(request) else _submit(request)
    except ConnectorError:
        return _unknown(request)


def order_is_old(request: RefillRequest) -> bool:
    """Return whether the outcome has been unknown for so long that a person must look."""
    limit = timedelta(seconds=settings.REFILL_ORDER_UNKNOWN)
    return request.order_at is not None and timezone.now() - request.order_at > limit


def order_is_busy(request: RefillRequest) -> bool:
    """Return whether another walk is just sending it."""
    sent = request.order_state == _Order.SENT and request.order_at is not None
    return bool(sent and request.order_at and timezone.now() - request.order_at < BUSY)


def order_take_back(request: RefillRequest) -> None:
    """Cancel an order that may be at the dispenser. Raises RefillRefused when it cannot be reached."""
    if request.order_state not in {_Order.SENT, _Order.UNKNOWN, _Order.ACCEPTED}:
        return
    try:
        connectors().dispenser.cancel(request.order_key)
    except ConnectorError:
        raise RefillRefused("dispenser_unavailable") from None


def give_back(request: RefillRequest, *, reason: str = StockMove.Reason.RELEASED) -> None:
    """Return refill, packs and date of the last fill, inside the transaction that ends the order; once."""
    reservation_release(request, used=True, reason=reason)
    taken = RefillRequest.objects.filter(pk=request.pk, refill_taken=True).update(refill_taken=False)
    if taken:
        Prescription.objects.filter(pk=request.prescription_id).update(
            refills_left=F("refills_left") + 1, last_filled_on=request.filled_before
        )
        request.refill_taken = False


def _take(request: RefillRequest) -> None:
    """Take the refill and keep the packs, or undo the whole step."""
    taken = Prescription.objects.filter(pk=request.prescription_id, refills_left__gt=0).update(
        refills_left=F("refills_left") - 1
    )
    if not taken:
        raise RefillRefused("no_refills")
    if not reservation_use(request):
        raise RefillRefused("no_packs")


def _submit(request: RefillRequest) -> Result:
    order = Order(
        key=request.order_key,
        medication_id=request.prescription.medication_id,
        units=request.quantity,
        store_id=request.store_id,
    )
    was_out = request.order_state == _Order.UNKNOWN
    try:
        connectors().dispenser.submit(order)
    except OrderRefused:
        return "refused"
    except ConnectorDown:
        # Nothing was sent now, but an earlier try may still arrive.
        return _unknown(request) if was_out else "down"
    except ConnectorError:
        return _looked_up(request)
    return "accepted"


def _looked_up(request: RefillRequest) -> Result:
    """Ask at once what became of an order without an answer; one that is not there yet may still arrive."""
    try:
        if connectors().dispenser.status(request.order_key) == "accepted":
            return "accepted"
    except ConnectorError:
        pass
    return _unknown(request)


def _unknown(request: RefillRequest) -> Result:
    if request.order_state != _Order.UNKNOWN:
        request_note(
            request, "order_unknown", actor=WALKER, where=WHERE, fields={"order_state": _Order.UNKNOWN}
        )
    return "unknown"
