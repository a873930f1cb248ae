"""Say whether somebody may decide a refill request now, and where it may be picked up; nothing is changed here."""

from prescriptions.audit import Access
from prescriptions.errors import RefillRefused
from prescriptions.models import RefillRequest, RefillTransition
from prescriptions.refill.collection import Pickup
from prescriptions.refill.contacts import DECIDERS, may_decide
from prescriptions.refill.orders import order_is_out
from prescriptions.refill.reservations import packs_for, stores_with, supplier_of
from prescriptions.refill.safety import stopping
from prescriptions.refill.states import Reason, State
from prescriptions.refill.steps import checks_of
from stores.models import Store


def decision_is_repeated(request: RefillRequest, decision: str, access: Access) -> bool:
    """Return whether this person has made this decision already, and it was the last one."""
    last = RefillTransition.objects.filter(request=request, detail__has_key="decision").last()
    if last is None or last.actor != access.who or last.detail["decision"] != decision or decision == "ask":
        return False
    return request.state != State.COMPLETE or request.outcome is not None


def decision_check(
    request: RefillRequest,
    decision: str,
    access: Access,
    role: str,
    is_fresh: bool,
    quantity: int | None,
    reference: str,
    pickup: Pickup | None,
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
    if decision == "change_quantity" and order_is_out(request):
        # What was sent may be carried out as it was: another quantity on record would be wrong.
        raise RefillRefused("order_out")
    if decision == "change_quantity" and not (quantity and 0 < quantity <= request.prescription.quantity):
        raise RefillRefused("quantity")
    _place_check(request, pickup, quantity if decision == "change_quantity" else None)


def place_is_open(request: RefillRequest) -> bool:
    """Return whether the decider may say where it is picked up: nobody did, or there is too little where they did."""
    return not request.pickup_known or request.reason == Reason.OUT_OF_STOCK


def places_for(request: RefillRequest, units: int | None = None) -> tuple[list[Store], bool]:
    """Return the stores that have enough for it, by default of the quantity asked for, and whether it can be delivered."""
    medication = request.prescription.medication
    stocked = stores_with(medication, packs_for(medication, units or request.quantity))
    stores = list(Store.objects.filter(pk__in=stocked, is_active=True).order_by("pk"))
    return stores, bool(request.patient.address) and supplier_of(None) in stores


def _place_check(request: RefillRequest, pickup: Pickup | None, units: int | None) -> None:
    if pickup is None:
        if not request.pickup_known:
            raise RefillRefused("place_needed")
        return
    if not place_is_open(request):
        raise RefillRefused("place_fixed")
    if pickup.store is None and not request.patient.address:
        raise RefillRefused("no_address")
    if supplier_of(pickup.store) not in places_for(request, units)[0]:
        raise RefillRefused("place_stock")
