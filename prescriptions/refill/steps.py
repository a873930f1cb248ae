"""Do the work of each state of the workflow: one step, from the stored state to the next, or nothing.

A step returns False when the request waits for a customer, a backend or a person. Calls to other systems are made
outside of transactions; each result is stored by `prescriptions.refill.transitions`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from django.db import DatabaseError
from django.utils import timezone

from prescriptions.connectors.protocols import ConnectorError
from prescriptions.connectors.registry import connectors
from prescriptions.models import Prescription, RefillRequest
from prescriptions.notifications import notification_enqueue
from prescriptions.refill import orders
from prescriptions.refill.central import contact_find
from prescriptions.refill.escalation import handoff_write
from prescriptions.refill.evidence import facts_collect
from prescriptions.refill.orders import WALKER, WHERE
from prescriptions.refill.reservations import packs_for, reservation_release, stock_reserve, store_of
from prescriptions.refill.safety import Check, coverage_check, safety_check, stopping
from prescriptions.refill.states import Event, Reason, State
from prescriptions.refill.transitions import request_move
from prescriptions.switches import board

_Order = RefillRequest.Order
_NOT_ORDERED: Final[Mapping[orders.Result, Reason]] = {
    "refused": Reason.ORDER_REFUSED,
    "down": Reason.BACKEND_UNAVAILABLE,
    "no_packs": Reason.OUT_OF_STOCK,
    "no_refills": Reason.NOT_REFILLABLE,
}


def step(request: RefillRequest) -> bool:
    """Do the work of the request's state and return whether it moved. Raises RefillChangedMeanwhile."""
    if request.outcome is not None or not request.is_confirmed:
        return False
    work = STEPS.get(State(request.state))
    return work(request) if work else False


def _collected(request: RefillRequest) -> bool:
    request_move(request, Event.CONFIRMED, actor=WALKER, where=WHERE)
    return True


def _safety(request: RefillRequest) -> bool:
    checks = [*_carried(request), *_checks(request, with_coverage=False)]
    stops = stopping(checks, request.covered)
    if stops:
        return _escalate(request, stops, checks)
    request_move(request, Event.SAFE, actor=WALKER, where=WHERE, fields={"findings": _as_json(checks)})
    return True


def _backend(request: RefillRequest) -> bool:
    if orders.order_is_out(request):
        return _settle(request)
    if board.read().dispensing_off:
        return False  # the sweep takes it up when dispensing is on again
    checks = _checks(request, with_coverage=True)
    stops = stopping(checks, request.covered)
    if not stops and not stock_reserve(request):
        packs = packs_for(request.prescription.medication, request.quantity)
        # Never covered by a decision: an approval puts no pack on the shelf.
        stops = [_stop("stock", Reason.OUT_OF_STOCK, store=store_of(request).pk, packs=packs)]
    if stops:
        return _escalate(request, stops, checks)
    return _ordered(request, orders.order_send(request))


def _settle(request: RefillRequest) -> bool:
    """Find out what became of an order; after ten minutes a person must."""
    if orders.order_is_busy(request):
        return False
    return _ordered(request, orders.order_settle(request))


def _ordered(request: RefillRequest, result: orders.Result) -> bool:
    """Go on with what is known of the order."""
    if result == "accepted":
        return _dispense(request)
    if result in _NOT_ORDERED:
        reason = _NOT_ORDERED[result]
        return _escalate(request, [_stop("order", reason)], [], order_ended=orders.order_is_out(request))
    if orders.order_is_old(request):
        # Refill and packs stay taken: the order may have been carried out.
        return _escalate(request, [_stop("order", Reason.ORDER_UNKNOWN)], [])
    return False


def _dispense(request: RefillRequest) -> bool:
    request_move(
        request,
        Event.DISPENSED,
        actor=WALKER,
        where=WHERE,
        detail={"order": request.order_key},
        fields={
            "outcome": RefillRequest.Outcome.DISPENSED,
            "order_state": _Order.ACCEPTED,
            "fulfilment": RefillRequest.Fulfilment.PREPARING,
            "reason": "",
        },
        effect=_dispensed,
    )
    return True


def _dispensed(request: RefillRequest) -> None:
    Prescription.objects.filter(pk=request.prescription_id).update(last_filled_on=timezone.localdate())
    prescription_free(request)
    patient_notify(request, "refill_dispensed")


def _choose_contact(request: RefillRequest) -> bool:
    contact, by, routing = contact_find(request, checks_of(request))
    request_move(
        request,
        Event.CONTACT_CHOSEN,
        actor=WALKER,
        where=WHERE,
        detail={"contact": contact.role, "person": contact.person, "why": contact.why, "by": by},
        fields={"contact": contact.role, "contact_person_id": contact.person, "routing": routing},
    )
    return True


def _hand_off(request: RefillRequest) -> bool:
    request_move(request, Event.HANDED_OFF, actor=WALKER, where=WHERE, effect=handoff_write)
    return True


STEPS: Final[Mapping[State, Callable[[RefillRequest], bool]]] = {
    State.COLLECT: _collected,
    State.SAFETY: _safety,
    State.BACKEND: _backend,
    State.APPROVAL: _choose_contact,
    State.HANDOFF: _hand_off,
}


def checks_of(request: RefillRequest) -> list[Check]:
    """Return the stored findings as checks."""
    return [
        Check(
            name=row["name"],
            level=row["level"],
            reason=Reason(row["reason"]) if row["reason"] else None,
            evidence=row["evidence"],
            escalates=row["escalates"],
            is_final=row["is_final"],
            decided_by=row["decided_by"],
        )
        for row in request.findings
    ]


def prescription_mark(request: RefillRequest) -> None:
    """Note on the prescription that a refill is requested; in the transaction of the submission."""
    Prescription.objects.filter(pk=request.prescription_id, status=Prescription.Status.ACTIVE).update(
        status=Prescription.Status.REFILL_PENDING
    )


def prescription_free(request: RefillRequest) -> None:
    """Let the prescription be requested again: its status said that a request is open."""
    Prescription.objects.filter(pk=request.prescription_id, status=Prescription.Status.REFILL_PENDING).update(
        status=Prescription.Status.ACTIVE
    )


def patient_notify(request: RefillRequest, kind: str, **context: str) -> None:
    """Write the e-mail to the patient in the step's transaction; no medicine is named in it."""
    notification_enqueue(
        key=f"{kind}:{request.number}:{request.version}",
        kind=kind,
        recipient=request.patient.email,
        language=request.patient.language,
        context={"number": request.number, **context},
        conversation_id=request.conversation_id,
    )


def _carried(request: RefillRequest) -> list[Check]:
    """Return what the collection of the request found (S3's breakers of confidence, identity and turns)."""
    return [one for one in checks_of(request) if one.name == "collection"]


def checks_made(request: RefillRequest) -> list[Check]:
    """Make all checks now without keeping them: what a customer is shown before they confirm."""
    return _checks(request, with_coverage=True)


def _checks(request: RefillRequest, *, with_coverage: bool) -> list[Check]:
    """Return all checks, with what the health record says; one that does not answer is a finding itself."""
    found: list[Check] = []
    record = None
    try:
        record = connectors().ehr.record(request.patient.mrn)
    except ConnectorError:
        found.append(_stop("health_record", Reason.BACKEND_UNAVAILABLE))
    except DatabaseError:
        raise
    except Exception:
        found.append(_stop("health_record", Reason.BACKEND_UNAVAILABLE, why="error"))
    try:
        facts = facts_collect(request, record)
    except DatabaseError:
        raise
    except Exception:
        return [*found, _stop("facts", Reason.CHECK_FAILED)]
    found += safety_check(facts)
    if with_coverage:
        found += coverage_check(facts)
    if record is None:
        # What the record would have said is unknown already.
        found = [one for one in found if one.reason != Reason.LABS]
    return found


def _stop(name: str, reason: Reason, **evidence: Any) -> Check:
    return Check(name, "unknown", reason, evidence, escalates=True)


def _escalate(
    request: RefillRequest, stops: Sequence[Check], checks: Sequence[Check], *, order_ended: bool = False
) -> bool:
    """Send the request to a person: the first of the reasons names it, all findings are kept."""
    findings = {one.key: one for one in [*stops, *checks]}

    def effect(current: RefillRequest) -> None:
        if order_ended:
            orders.give_back(current)
        else:
            reservation_release(current)

    fields: dict[str, Any] = {"reason": str(stops[0].reason), "findings": _as_json(list(findings.values()))}
    if order_ended:
        fields["order_state"] = _Order.REFUSED
    request_move(
        request,
        Event.ESCALATED,
        actor=WALKER,
        where=WHERE,
        detail={"reasons": [str(one.reason) for one in stops]},
        fields=fields,
        effect=effect,
    )
    return True


def _as_json(checks: Sequence[Check]) -> list[dict[str, Any]]:
    return [one.as_json() for one in checks]
