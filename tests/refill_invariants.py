"""What must hold of all refills at any moment, whoever acts and whatever fails; imported by tests and by their processes."""

from collections.abc import Mapping

from inventory.models import StockLevel
from prescriptions.audit import audit_verify
from prescriptions.models import Handoff, Prescription, RefillRequest, RefillTransition, SimulatedOrder
from prescriptions.models import StockReservation as Reservation
from prescriptions.refill.selectors import replayed
from prescriptions.refill.states import END_STATES, NEW_WALK, TABLE, State

ARROWS = {(str(a), str(b)) for a, events in TABLE.items() for b in events.values()} | {
    (str(NEW_WALK[0]), str(NEW_WALK[2]))
}


def all_packs() -> int:
    """The packs on all shelves."""
    return sum(StockLevel.objects.values_list("quantity", flat=True))


def broken(refills: Mapping[int, int], packs: int) -> list[str]:
    """What does not hold; `refills` are those that each prescription had, `packs` those of all shelves, at the beginning."""
    found = [f"{row} by {row.event}" for row in RefillTransition.objects.all() if not _is_legal(row)]
    rows = list(RefillRequest.objects.select_related("handoff"))
    found += [f"{row}: its record leads to {replayed(row)!r}" for row in rows if replayed(row) != row.state]
    found += [
        f"{row}: dispensed in {row.state}" for row in rows if _is_done(row) and row.state not in END_STATES
    ]
    return [*found, *_things(refills, packs), *_orders(rows), *_people(rows)]


def stuck() -> list[str]:
    """The requests that are neither over nor with a person."""
    rows = RefillRequest.objects.filter(outcome=None).exclude(state=str(State.COMPLETE))
    return [f"{row}: stuck in {row.state}, order {row.order_state!r}" for row in rows]


def audit_broken() -> list[str]:
    """The first break of the audit log."""
    broken_at = audit_verify()
    return [f"audit log: {broken_at}"] if broken_at else []


def _is_legal(row: RefillTransition) -> bool:
    return row.from_state in {"", row.to_state} or (row.from_state, row.to_state) in ARROWS


def _is_done(row: RefillRequest) -> bool:
    return row.outcome == RefillRequest.Outcome.DISPENSED


def _things(refills: Mapping[int, int], packs: int) -> list[str]:
    """Refills and packs are somewhere, once; a prescription has one open request."""
    live = sum(Reservation.objects.exclude(state="released").values_list("packs", flat=True))
    found = (
        [f"{all_packs()} packs on shelves and {live} taken, of {packs}"]
        if all_packs() + live != packs
        else []
    )
    for pk, before in refills.items():
        requests = RefillRequest.objects.filter(prescription=pk)
        taken, left = requests.filter(refill_taken=True).count(), Prescription.objects.get(pk=pk).refills_left
        if left + taken != before:
            found.append(f"prescription {pk}: {left} refills left and {taken} taken, of {before}")
        if requests.filter(outcome=None).count() > 1:
            found.append(f"prescription {pk}: two open requests")
    return found


def _orders(rows: list[RefillRequest]) -> list[str]:
    """The dispenser has the order of every refill that was dispensed, none of one that is over, and no other."""
    theirs = dict(SimulatedOrder.objects.values_list("key", "state"))
    found = [f"order {key} belongs to nothing" for key in theirs.keys() - {row.order_key for row in rows}]
    for row in rows:
        state = theirs.get(row.order_key)
        if _is_done(row) and row.fulfilment != "returned" and state != "accepted":
            found.append(f"{row}: dispensed, but its order is {state}")
        if row.outcome and not _is_done(row) and state == "accepted":
            found.append(f"{row}: {row.outcome}, but its order is {state}")
    return found


def _people(rows: list[RefillRequest]) -> list[str]:
    """Who waits for a person has one open hand-off, and no other hand-off of a refill is open."""
    waiting = [row for row in rows if row.outcome is None and row.state == State.COMPLETE]
    found = [
        f"{row}: waits for nobody" for row in waiting if not (row.handoff and row.handoff.state == "open")
    ]
    opened = Handoff.objects.filter(state="open", run_key__startswith="refill:").count()
    return [*found, *([f"{opened} hand-offs for {len(waiting)}"] if opened != len(waiting) else [])]
