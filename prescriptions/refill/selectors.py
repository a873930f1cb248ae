"""Read refill requests: by number, by patient, their path, and what a customer is told about one."""

from datetime import timedelta
from typing import Final

from django.db.models import Q, QuerySet
from django.utils import timezone

from pharmacy_site.lib.bilingual import named
from pharmacy_site.lib.text import Language
from prescriptions.audit import Access, audit_record
from prescriptions.errors import RefillNotFound
from prescriptions.models import Patient, RefillRequest, RefillTransition
from prescriptions.refill.orders import order_is_out
from prescriptions.refill.states import END_STATES, Reason, State
from prescriptions.refill.wording import question_text, status_text
from prescriptions.switches import board

_Outcome, _Fulfilment = RefillRequest.Outcome, RefillRequest.Fulfilment
_SHOWN_FOR: Final = timedelta(days=14)
_MOST_SHOWN: Final = 8
_SAID_BY_REASON = {
    Reason.EARLY: "early",
    Reason.OUT_OF_STOCK: "out_of_stock",
    Reason.NOT_REFILLABLE: "new_prescription",
}


def refills_all() -> "QuerySet[RefillRequest]":
    """Return all requests, newest first, with what their resource shows."""
    return RefillRequest.objects.select_related("patient", "handoff").prefetch_related("transitions")


def refill_get(number: str, *, access: Access, patient: Patient | None = None) -> RefillRequest:
    """Return the request with this number, with `patient` only that one's, or raise RefillNotFound."""
    rows = refills_all().filter(number=number[:40])
    row = (rows if patient is None else rows.filter(patient=patient)).first()
    audit_record(
        who=access.who,
        what="refill_read" if row else "refill_refused",
        where=access.where,
        why=access.why,
        patient=row.patient if row else patient,
        detail={"refill": row.number if row else None},
    )
    if row is None:
        raise RefillNotFound
    return row


def refills_for(patient: Patient, *, access: Access) -> "QuerySet[RefillRequest]":
    """Return a patient's requests, newest first."""
    audit_record(who=access.who, what="refills_read", where=access.where, why=access.why, patient=patient)
    return refills_all().filter(patient=patient)


def path_of(request: RefillRequest) -> list[str]:
    """Return the states that the request passed, in order, of every walk."""
    rows = sorted(request.transitions.all(), key=lambda row: row.version)
    return [row.to_state for row in rows if row.to_state != row.from_state]


def replayed(request: RefillRequest) -> str:
    """Return the state to which the request's record leads; "" when its rows do not follow from each other."""
    state = ""
    for row in RefillTransition.objects.filter(request=request).order_by("version"):
        if row.from_state != state:
            return ""
        state = row.to_state
    return state


def status_of(request: RefillRequest) -> str:
    """Return the code of what a customer is told, a key of `wording`."""
    if request.outcome == _Outcome.DISPENSED:
        if request.fulfilment == _Fulfilment.READY and request.store is None:
            return "ready_delivery"
        return str(request.fulfilment) or "preparing"
    if request.outcome:
        return str(request.outcome)
    if not request.is_confirmed:
        return "paused" if request.is_paused else "collecting"
    if State(request.state) in END_STATES:
        return _waiting_status(request)
    if request.state != State.BACKEND:
        return "received"
    return "being_sent" if order_is_out(request) or not board.read().dispensing_off else "held"


def status_said(request: RefillRequest, language: Language) -> str:
    """Return what a customer is told about the request."""
    dates = [row["evidence"].get("possible_from", "") for row in request.findings if row["name"] == "early"]
    said = status_text(
        status_of(request),
        language,
        number=request.number,
        contact=request.contact,
        date=next(iter(dates), ""),
        where=named(request.store, language) if request.store else "",
    )
    question = question_open(request)
    return f"{said} {question_text(question, request.contact, language)}" if question else said


def question_open(request: RefillRequest) -> str:
    """Return what the person who decides asks the customer; "" once it was answered or decided, or when nothing is asked."""
    if request.outcome is not None or State(request.state) not in END_STATES:
        return ""
    rows = sorted(request.transitions.all(), key=lambda row: row.version)
    asked = [row for row in rows if row.walk == request.walk and row.event in {"asked", "answered"}]
    return str(asked[-1].detail.get("question") or "") if asked else ""


def refills_shown(patient: Patient, *, access: Access) -> list[RefillRequest]:
    """Return the requests that a customer hears of, newest first: open ones, and those that ended a short time ago.

    What was collected, or not confirmed and given up, is over.
    """
    since = timezone.now() - _SHOWN_FOR
    rows = refills_for(patient, access=access).select_related("store", "prescription__medication")
    is_open = Q(outcome=None) | Q(fulfilment__in=[_Fulfilment.PREPARING, _Fulfilment.READY])
    return list(rows.filter(is_open | Q(updated_at__gte=since, is_confirmed=True))[:_MOST_SHOWN])


def _waiting_status(request: RefillRequest) -> str:
    needs_new = any(row["evidence"].get("why") == "new_prescription" for row in request.findings)
    if request.reason == Reason.CONTROLLED_SUBSTANCE and needs_new:
        return "controlled_new_prescription"
    return _SAID_BY_REASON.get(Reason(request.reason), "with_person") if request.reason else "with_person"
