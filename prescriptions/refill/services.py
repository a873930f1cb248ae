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
from prescriptions.errors import (
    DeliveryAddressMissing,
    RefillAlreadyOpen,
    RefillChangedMeanwhile,
    RefillRefused,
)
from prescriptions.handoffs.services import handoff_close
from prescriptions.models import Handoff, Patient, RefillRequest
from prescriptions.refill.collection import Pickup, days_of, number_just_dispensed, number_open
from prescriptions.refill.decision_rules import decision_check, decision_is_repeated
from prescriptions.refill.orders import give_back, order_is_out, order_take_back
from prescriptions.refill.questions import question_package
from prescriptions.refill.safety import Check
from prescriptions.refill.states import Event, Reason
from prescriptions.refill.steps import checks_of, patient_notify, prescription_free, prescription_mark
from prescriptions.refill.transitions import request_move, request_note, request_number
from prescriptions.refill.wording import contact_name
from prescriptions.selectors import prescription_get_for
from stores.models import Store

_TRIES: Final = 5
_HANDED: Final = {
    "approve": Handoff.Outcome.APPROVED,
    "change_quantity": Handoff.Outcome.CHANGED,
    "deny": Handoff.Outcome.DENIED,
    "close": Handoff.Outcome.UNANSWERED,
}
"""How a decision ends the hand-off that waited for it."""
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
    `submit_key` returns the request that it made. Raises PrescriptionNotFound, RefillAlreadyOpen (also of a request
    that was just dispensed, and is not ready yet), and for a delivery DeliveryAddressMissing.
    """
    prescription = prescription_get_for(patient, prescription_id, access=access)
    if store is None and not patient.address:
        raise DeliveryAddressMissing
    units = prescription.quantity if quantity is None else quantity
    if days_supply is None:
        days_supply = days_of(prescription, units)
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
        number = number_open(prescription)
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
    question: str = "",
    pickup: Pickup | None = None,
    note: str = "",
    outcome: str = "",
) -> RefillRequest:
    """Record a person's decision: "approve", "change_quantity", "deny", "ask" or "close".

    `role` is the person's group; `is_fresh` says that they signed in again within five minutes, which a controlled
    medicine asks for. `reference` is the insurer's, for prior authorisation; `question` is what "ask" asks the customer,
    in their words' language; `pickup` is the place that an approval sets when nobody named one, or when there is too
    little in stock; `note` is kept with the decision, for staff; `outcome` is how "close" ends the hand-off. Repeating the decision that was made changes nothing.
    Raises RefillRefused, RefillChangedMeanwhile.
    """
    if decision_is_repeated(request, decision, access):
        return request
    decision_check(request, decision, access, role, is_fresh, quantity, reference, pickup)
    detail = {"decision": decision, "role": role, "reason": reason, "reference": reference}
    if note:
        detail["note"] = note
    if decision == "ask":
        detail["question"] = question
        request_note(
            request, "asked", actor=access.who, where=access.where, detail=detail,
            effect=_asked,
        )  # fmt: skip
        return request
    if decision in {"deny", "close"}:
        ending = _Outcome.DENIED if decision == "deny" else _Outcome.CLOSED
        handed = Handoff.Outcome(outcome) if outcome else _HANDED[decision]
        _end(request, ending, decision, access=access, detail=detail, handed=handed)
        return request
    _approve(request, access, detail, quantity, pickup)
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


def _created(request: RefillRequest, access: Access) -> None:
    """Number the request, record its first state, and mark the prescription; in the transaction of its creation."""
    # After the row was written: whoever was open before it has ended, and what they did can be read.
    if number := number_just_dispensed(request.prescription):
        raise RefillAlreadyOpen(number)
    request_number(request, "submitted", access)
    prescription_mark(request)
    audit_record(
        who=access.who,
        what="refill_submitted",
        where=access.where,
        why=access.why,
        patient=request.patient,
        detail={"refill": request.number, "prescription": request.prescription_id},
    )


def _asked(request: RefillRequest) -> None:
    question_package(request)
    patient_notify(request, "refill_question")


def _approve(
    request: RefillRequest,
    access: Access,
    detail: dict[str, Any],
    quantity: int | None,
    pickup: Pickup | None,
) -> None:
    """Start the next walk; what the person saw does not stop it again, and a new finding does."""
    seen = [one.key for one in checks_of(request) if one.escalates]
    fields: dict[str, Any] = {
        "walk": request.walk + 1,
        "covered": list(dict.fromkeys([*request.covered, *seen])),
        "reason": "",
        "contact": "",
        "contact_person": None,
        "routing": [],
    }
    if order_is_out(request):
        fields["order_at"] = timezone.now()
    if detail["decision"] == "change_quantity" and quantity:
        prescription = request.prescription
        fields["quantity"] = quantity
        fields["days_supply"] = max(1, days_of(prescription, quantity))
        detail["quantity"] = quantity
    if pickup is not None:
        fields |= {"store": pickup.store, "pickup_known": True}
        detail["pickup"] = pickup.store.pk if pickup.store else "delivery"
    request_move(
        request, Event.APPROVED, actor=access.who, where=access.where, detail=detail, fields=fields,
        effect=lambda row: _close_handoff(row, access, _HANDED[detail["decision"]]),
    )  # fmt: skip


def _end(
    request: RefillRequest,
    outcome: RefillRequest.Outcome,
    event: str,
    *,
    access: Access,
    detail: dict[str, Any],
    handed: Handoff.Outcome | None = None,
) -> None:
    """End the request: take an order back first, then outcome, refill, packs and prescription in one transaction."""
    order_take_back(request)

    def effect(row: RefillRequest) -> None:
        give_back(row)
        prescription_free(row)
        if outcome == _Outcome.DENIED:
            patient_notify(row, "refill_denied", whom=contact_name(row.contact, _language(row)))
        _close_handoff(row, access, handed or _HANDED.get(event, Handoff.Outcome.CANCELLED))

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


def _close_handoff(request: RefillRequest, access: Access, outcome: Handoff.Outcome) -> None:
    """End the hand-off that waited for this; the request is no longer one that its closing would end."""
    if request.handoff is not None:
        handoff_close(handoff=request.handoff, access=access, outcome=outcome)


def _language(request: RefillRequest) -> Language:
    return "he" if request.patient.language == "he" else "en"
