"""Write the hand-off of an escalated request: the context package, the contact and a drafted note, in one row."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from prescriptions.handoffs import handoff_open
from prescriptions.models import Allergy, Handoff, Prescription, RefillRequest, RefillTransition
from prescriptions.refill.evidence import pairs_for_staff
from prescriptions.refill.reservations import packs_for, store_of
from prescriptions.refill.states import Reason
from prescriptions.refill.wording import staff_note

_HISTORY = 10


def handoff_write(request: RefillRequest) -> None:
    """Open the hand-off of this walk, inside the step's transaction, once."""
    reasons = list(dict.fromkeys(row["reason"] for row in request.findings if row["escalates"]))
    reasons = reasons or [request.reason]
    notes = {
        "en": staff_note(request.number, request.contact, reasons, "en"),
        "he": staff_note(request.number, request.contact, reasons, "he"),
    }
    handoff = handoff_open(
        conversation_id=request.conversation_id,
        reason=Handoff.Reason.REFILL,
        run_key=f"refill:{request.number}:{request.walk}",
        language=request.language,
        patient=request.patient,
        summary=notes["he" if request.language == "he" else "en"],
    )
    Handoff.objects.filter(pk=handoff.pk).update(
        contact=request.contact, contact_why=request.reason, package=package_of(request) | {"note": notes}
    )
    RefillRequest.objects.filter(pk=request.pk).update(handoff=handoff)


def package_of(request: RefillRequest) -> dict[str, Any]:
    """Return what a person needs to decide; of a failed identity only the request itself."""
    asked = {
        "number": request.number,
        "walk": request.walk,
        "reason": request.reason,
        "quantity": request.quantity,
        "days_supply": request.days_supply,
        "pickup": request.store_id or "delivery",
        "requested_by": request.requested_by,
        "language": request.language,
        "conversation": str(request.conversation_id) if request.conversation_id else None,
    }
    path = list(
        RefillTransition.objects.filter(request=request)
        .order_by("version")
        .values_list("to_state", flat=True)
    )
    if request.reason == Reason.IDENTITY_FAILED:
        return {"request": asked, "path": path}
    prescription = request.prescription
    allergies = Allergy.objects.filter(patient=request.patient).select_related("ingredient").order_by("pk")
    return {
        "request": asked,
        "path": path,
        "findings": request.findings,
        "other_pairs": pairs_for_staff(request),
        "prescription": {
            "id": prescription.pk,
            "medication": prescription.medication_id,
            "directions": prescription.directions_en,
            "quantity": prescription.quantity,
            "days_supply": prescription.days_supply,
            "refills_left": prescription.refills_left,
            "last_filled_on": _iso(prescription.last_filled_on),
            "expires_on": _iso(prescription.expires_on),
            "prescriber": prescription.prescriber,
        },
        "days_left": _days_left(prescription),
        "history": [
            {"number": row.number, "outcome": row.outcome, "on": _iso(timezone.localtime(row.requested_at))}
            for row in RefillRequest.objects.filter(prescription=prescription)
            .exclude(pk=request.pk)
            .order_by("-pk")[:_HISTORY]
        ],
        "allergies": {
            "status": request.patient.allergy_status,
            "asked_on": _iso(request.patient.allergies_recorded_on),
            "items": [row.ingredient.key if row.ingredient else row.drug_class for row in allergies],
        },
        "stock": {
            "store": store_of(request).pk,
            "packs_needed": packs_for(prescription.medication, request.quantity),
        },
    }


def _days_left(prescription: Prescription) -> int | None:
    """Return the days of supply that the last fill still covers."""
    if prescription.last_filled_on is None:
        return None
    until = prescription.last_filled_on + timedelta(days=prescription.days_supply)
    return max(0, (until - timezone.localdate()).days)


def _iso(value: Any) -> str | None:
    return value.isoformat() if value else None
