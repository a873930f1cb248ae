"""Submit and walk refill requests, and let people act on them; every function is safe to repeat.

The walk goes from the stored state until it needs the customer, a backend or a person. Whoever loses a race finds the
request moved and goes on from there, or is refused.
"""

from collections.abc import Collection
from typing import Any, Final
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.utils import timezone

from inventory.models import StockMove
from pharmacy_site.lib.text import Language
from prescriptions.audit import Access, audit_record
from prescriptions.errors import RefillAlreadyOpen, RefillChangedMeanwhile, RefillRefused
from prescriptions.handoffs import handoff_close
from prescriptions.models import Handoff, Patient, Prescription, RefillRequest, RefillTransition
from prescriptions.refill.contacts import DECIDERS, may_decide
from prescriptions.refill.orders import give_back, order_is_out, order_take_back
from prescriptions.refill.safety import Check, stopping
from prescriptions.refill.states import Event, Reason, State
from prescriptions.refill.steps import checks_of, patient_notify, prescription_free
from prescriptions.refill.transitions import request_move, request_note
from prescriptions.refill.wording import contact_name
from prescriptions.selectors import prescription_get_for
from stores.models import Store

# Added to the id, so that the first customer does not read "R-1".
_NUMBER_OFFSET: Final = 1000
_TRIES: Final = 5
_Outcome, _Order, _Fulfilment = RefillRequest.Outcome, RefillRequest.Order, RefillRequest.Fulfilment


def refill_submit(
    *,
    patient: Patient,
    prescription_id: int,
    store: Store | None,
    access: Access,
    language: Language,
    quantity: int | None = None,
    days_supply: int | None = None,
    submit_key: str | None = None,
    conversation_id: UUID | None = None,
    breakers: Collection[Reason] = (),
) -> RefillRequest:
    """Create the request and walk it; `store` None is delivery, quantity and days are by default the prescription's.

    `breakers` are what the collection of the request found (confidence, identity, turns); they escalate it. The same
    `submit_key` returns the request that it made. Raises PrescriptionNotFound, RefillAlreadyOpen.
    """
    prescription = prescription_get_for(patient, prescription_id, access=access)
    units = prescription.quantity if quantity is None else quantity
    if days_supply is None:
        # As many days as so many units last, by the prescription.
        whole = max(prescription.quantity, 1)
        days_supply = (
            prescription.days_supply if quantity is None else -(-prescription.days_supply * units // whole)
        )
    findings = [Check("collection", "block", reason, escalates=True).as_json() for reason in breakers]
    try:
        with transaction.atomic():
            request = RefillRequest.objects.create(
                number=str(uuid4()),
                patient=patient,
                prescription=prescription,
                quantity=units,
                days_supply=days_supply,
                store=store,
                findings=findings,
                order_key=uuid4().hex,
                requested_by=access.who,
                submit_key=submit_key,
                conversation_id=conversation_id,
                language=language,
            )
            _created(request, access)
    except IntegrityError:
        made = RefillRequest.objects.filter(submit_key=submit_key).first() if submit_key else None
        if made:
            return refill_walk(made)
        number = _open_number(prescription)
        if number is None:
            raise
        raise RefillAlreadyOpen(number) from None
    return refill_walk(request)


def refill_warm_up() -> None:
    """Load the graph before the first request needs it."""
    from prescriptions.refill.graph import graph

    graph()


def refill_walk(request: RefillRequest) -> RefillRequest:
    """Let the graph walk the request from its stored state as far as it goes now, and return it as it is then."""
    # LangGraph takes more than a second to import: only a site that walks loads it.
    from prescriptions.refill.graph import walk

    for _ in range(_TRIES):
        try:
            walk(request.pk)
            break
        except RefillChangedMeanwhile:
            continue
    request.refresh_from_db()
    return request


def refill_decide(
    request: RefillRequest,
    decision: str,
    *,
    access: Access,
    role: str,
    is_fresh: bool = False,
    reason: str = "",
    quantity: int | None = None,
    reference: str = "",
) -> RefillRequest:
    """Record a person's decision: "approve", "change_quantity", "deny", "ask" or "close".

    `role` is the person's group; `is_fresh` says that they signed in again within five minutes, which a controlled
    medicine asks for. `reference` is the insurer's, for prior authorisation. Repeating the decision that was made
    changes nothing. Raises RefillRefused, RefillChangedMeanwhile.
    """
    if _is_repeated(request, decision, access):
        return request
    _may_decide(request, decision, access, role, is_fresh, quantity, reference)
    detail = {"decision": decision, "role": role, "reason": reason, "reference": reference}
    if decision == "ask":
        request_note(
            request, "asked", actor=access.who, where=access.where, detail=detail,
            effect=lambda row: patient_notify(row, "refill_question"),
        )  # fmt: skip
        return request
    if decision in {"deny", "close"}:
        outcome = _Outcome.DENIED if decision == "deny" else _Outcome.CLOSED
        _end(request, outcome, decision, access=access, detail=detail)
        return request
    _approve(request, access, detail, quantity)
    return refill_walk(request)


def refill_cancel(request: RefillRequest, *, access: Access) -> RefillRequest:
    """Cancel a request until it is prepared: refill and packs are given back. Raises RefillRefused."""
    for _ in range(_TRIES):
        request.refresh_from_db()
        if request.outcome == _Outcome.CANCELLED:
            return request
        is_preparing = request.fulfilment == _Fulfilment.PREPARING
        if request.outcome is not None and not (request.outcome == _Outcome.DISPENSED and is_preparing):
            raise RefillRefused("too_late")
        try:
            _end(request, _Outcome.CANCELLED, "cancelled", access=access, detail={})
        except RefillChangedMeanwhile:
            continue
        return request
    raise RefillChangedMeanwhile


def refill_ready(request: RefillRequest, *, access: Access) -> RefillRequest:
    """Mark a dispensed refill as prepared, and tell the patient. Raises RefillRefused."""
    return _fulfil(request, _Fulfilment.PREPARING, _Fulfilment.READY, access)


def refill_collected(request: RefillRequest, *, access: Access) -> RefillRequest:
    """Mark a prepared refill as handed over. Raises RefillRefused."""
    return _fulfil(request, _Fulfilment.READY, _Fulfilment.COLLECTED, access)


def refill_returned(request: RefillRequest, *, access: Access) -> RefillRequest:
    """Mark a prepared refill as not collected: packs and refill are given back. Raises RefillRefused."""
    return _fulfil(request, _Fulfilment.READY, _Fulfilment.RETURNED, access)


def on_handoff_closed(sender: object, handoff: Handoff, **kwargs: object) -> None:
    """Close the request of a hand-off that staff closed without a decision."""
    request = RefillRequest.objects.filter(handoff=handoff, outcome=None, state=State.COMPLETE).first()
    if request and not order_is_out(request):
        _end(request, _Outcome.CLOSED, "close", access=Access(who="system", where="handoff"), detail={})


def _created(request: RefillRequest, access: Access) -> None:
    """Number the request, record its first state, and mark the prescription; in the transaction of its creation."""
    request.number = f"R-{_NUMBER_OFFSET + request.pk}"
    RefillRequest.objects.filter(pk=request.pk).update(number=request.number)
    RefillTransition.objects.create(
        request=request, version=0, walk=1, to_state=str(State.COLLECT), event="submitted", actor=access.who
    )
    Prescription.objects.filter(pk=request.prescription_id, status=Prescription.Status.ACTIVE).update(
        status=Prescription.Status.REFILL_PENDING
    )
    audit_record(
        who=access.who,
        what="refill_submitted",
        where=access.where,
        why=access.why,
        patient=request.patient,
        detail={"refill": request.number, "prescription": request.prescription_id},
    )


def _open_number(prescription: Prescription) -> str | None:
    rows = RefillRequest.objects.filter(prescription=prescription, outcome__isnull=True)
    return rows.values_list("number", flat=True).first()


def _is_repeated(request: RefillRequest, decision: str, access: Access) -> bool:
    last = RefillTransition.objects.filter(request=request, detail__has_key="decision").last()
    if last is None or last.actor != access.who or last.detail["decision"] != decision or decision == "ask":
        return False
    return request.state != State.COMPLETE or request.outcome is not None


def _may_decide(
    request: RefillRequest,
    decision: str,
    access: Access,
    role: str,
    is_fresh: bool,
    quantity: int | None,
    reference: str,
) -> None:
    """Raise RefillRefused unless this person may make this decision now."""
    if decision not in {"approve", "change_quantity", "deny", "ask", "close"}:
        raise RefillRefused("no_such_decision")
    if request.state != State.COMPLETE or request.outcome is not None:
        raise RefillRefused("not_waiting")
    if role not in DECIDERS:
        raise RefillRefused("role")
    if access.who == request.requested_by:
        raise RefillRefused("own_request")
    if decision not in {"approve", "change_quantity"}:
        return
    checks = checks_of(request)
    if any(one.is_final for one in checks):
        raise RefillRefused("new_prescription_needed")
    if not may_decide(role, request.contact):
        raise RefillRefused("role")
    if request.prescription.medication.schedule and not is_fresh:
        raise RefillRefused("fresh_sign_in_needed")
    if (
        any(one.reason == Reason.PRIOR_AUTHORISATION for one in stopping(checks, request.covered))
        and not reference
    ):
        raise RefillRefused("reference_needed")
    if decision == "change_quantity" and not (quantity and 0 < quantity <= request.prescription.quantity):
        raise RefillRefused("quantity")


def _approve(request: RefillRequest, access: Access, detail: dict[str, Any], quantity: int | None) -> None:
    """Start the next walk; what the person saw does not stop it again, and a new finding does."""
    seen = [one.key for one in checks_of(request) if one.escalates]
    fields: dict[str, Any] = {
        "walk": request.walk + 1,
        "covered": list(dict.fromkeys([*request.covered, *seen])),
        "reason": "",
        "contact": "",
    }
    if order_is_out(request):
        fields["order_at"] = timezone.now()
    if detail["decision"] == "change_quantity" and quantity:
        prescription = request.prescription
        fields["quantity"] = quantity
        fields["days_supply"] = max(1, -(-prescription.days_supply * quantity // prescription.quantity))
        detail["quantity"] = quantity
    request_move(
        request, Event.APPROVED, actor=access.who, where=access.where, detail=detail, fields=fields,
        effect=lambda row: _close_handoff(row, access),
    )  # fmt: skip


def _end(
    request: RefillRequest,
    outcome: RefillRequest.Outcome,
    event: str,
    *,
    access: Access,
    detail: dict[str, Any],
) -> None:
    """End the request: take an order back first, then outcome, refill, packs and prescription in one transaction."""
    order_take_back(request)

    def effect(row: RefillRequest) -> None:
        give_back(row)
        prescription_free(row)
        if outcome == _Outcome.DENIED:
            patient_notify(row, "refill_denied", whom=contact_name(row.contact, _language(row)))
        _close_handoff(row, access)

    fields: dict[str, Any] = {"outcome": outcome, "fulfilment": _Fulfilment.NONE}
    if request.order_state:
        fields["order_state"] = _Order.CANCELLED
    request_note(
        request, event, actor=access.who, where=access.where, detail=detail, fields=fields, effect=effect
    )


def _fulfil(
    request: RefillRequest, before: RefillRequest.Fulfilment, after: RefillRequest.Fulfilment, access: Access
) -> RefillRequest:
    request.refresh_from_db()
    if request.fulfilment == after:
        return request
    if request.outcome != _Outcome.DISPENSED or request.fulfilment != before:
        raise RefillRefused("not_" + before)

    def effect(row: RefillRequest) -> None:
        if after == _Fulfilment.READY:
            patient_notify(row, "refill_ready")
        if after == _Fulfilment.RETURNED:
            give_back(row, reason=StockMove.Reason.RETURN)

    request_note(
        request, str(after), actor=access.who, where=access.where, fields={"fulfilment": after}, effect=effect
    )
    return request


def _close_handoff(request: RefillRequest, access: Access) -> None:
    """Close the hand-off that waited for this; the request is no longer one that its closing would end."""
    if request.handoff is not None:
        handoff_close(handoff=request.handoff, actor=access.who)


def _language(request: RefillRequest) -> Language:
    return "he" if request.patient.language == "he" else "en"
