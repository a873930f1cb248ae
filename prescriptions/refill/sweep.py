"""Take up what a crash, a time-out or a lost message left behind, and compare our records with the dispenser's."""

import logging
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from django.utils import timezone

from prescriptions.audit import Access
from prescriptions.connectors.protocols import ConnectorError
from prescriptions.connectors.registry import connectors
from prescriptions.errors import RefillChangedMeanwhile
from prescriptions.handoffs.services import handoff_close, handoff_open
from prescriptions.models import Handoff, RefillRequest
from prescriptions.refill.collection import collections_pause
from prescriptions.refill.orders import WALKER, WHERE, order_is_out
from prescriptions.refill.reservations import reservations_expire
from prescriptions.refill.services import refill_walk
from prescriptions.refill.states import END_STATES, Event, State
from prescriptions.refill.transitions import request_move

log = logging.getLogger(__name__)

_IDLE: Final = timedelta(seconds=30)
"""A request that was not changed for so long is in nobody's hands."""


@dataclass
class Difference:
    """Where the dispenser's record differs from ours, by order key."""

    only_theirs: list[str] = field(default_factory=list)
    only_ours: list[str] = field(default_factory=list)


def refills_sweep() -> None:
    """Release expired reservations, pause what nobody goes on with, walk requests that were left in the middle, reconcile; safe to run at any time."""
    reservations_expire()
    collections_pause()
    refills_take_up()
    refills_reconcile()


def refills_take_up() -> int:
    """Walk the open requests that are in nobody's hands, and return how many those were."""
    left = RefillRequest.objects.filter(
        outcome__isnull=True, is_confirmed=True, updated_at__lte=timezone.now() - _IDLE
    )
    rows = list(left.exclude(state__in=[str(state) for state in END_STATES]).order_by("pk"))
    for row in rows:
        try:
            refill_walk(row)
        except Exception as error:
            # The others must not wait for this one.
            log.error("refill %s was not walked: %s", row.pk, type(error).__name__)
    return len(rows)


def refills_reconcile() -> Difference:
    """Compare our orders with the dispenser's and return the differences; each becomes a hand-off, once.

    An order of unknown outcome that the dispenser has is taken up: the request goes on to dispensed.
    """
    try:
        theirs = connectors().dispenser.accepted_keys()
    except ConnectorError:
        return Difference()
    _take_up_found(theirs)
    # Read after theirs, and all at once: an order that is accepted meanwhile is no difference.
    ordered = RefillRequest.objects.exclude(order_state=RefillRequest.Order.NONE)
    known = list(ordered.only("order_key", "order_state", "outcome", "updated_at"))
    accepted = [row for row in known if row.order_state == RefillRequest.Order.ACCEPTED]
    ours = {row.order_key for row in accepted}
    open_keys = {row.order_key for row in known if row.outcome is None and order_is_out(row)}
    before = timezone.now() - _IDLE
    settled = {row.order_key for row in accepted if row.updated_at <= before}
    found = Difference(only_theirs=sorted(theirs - ours - open_keys), only_ours=sorted(settled - theirs))
    for key in [*found.only_theirs, *found.only_ours]:
        _hand_over(key)
    return found


def _take_up_found(theirs: set[str]) -> None:
    """Go on with escalated requests whose order the dispenser did carry out."""
    waiting = RefillRequest.objects.filter(
        order_key__in=theirs, outcome__isnull=True, state=str(State.COMPLETE)
    )
    for row in [row for row in waiting if order_is_out(row)]:
        try:
            request_move(
                row,
                Event.APPROVED,
                actor=WALKER,
                where=WHERE,
                detail={"found": "reconciliation"},
                fields={"walk": row.walk + 1, "reason": "", "order_state": RefillRequest.Order.UNKNOWN},
                effect=_close_handoff,
            )
            refill_walk(row)
        except RefillChangedMeanwhile:
            continue


def _close_handoff(request: RefillRequest) -> None:
    """Close the hand-off that asked a person what became of the order."""
    if request.handoff is not None:
        access = Access(WALKER, WHERE)
        handoff_close(handoff=request.handoff, access=access, outcome=Handoff.Outcome.APPROVED)


def _hand_over(key: str) -> None:
    row = RefillRequest.objects.filter(order_key=key).select_related("patient").first()
    log.error("order %s differs from the dispenser's record", key)
    handoff_open(
        conversation_id=None,
        reason=Handoff.Reason.REFILL,
        run_key=f"reconcile:{key}",
        language=row.language if row else "en",
        patient=row.patient if row else None,
        summary=f"{row.number if row else key}: our record and the dispenser's differ.",
    )
