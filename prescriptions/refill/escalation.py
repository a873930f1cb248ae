"""Write the hand-off of an escalated request: the context package, the contact and a drafted note, in one row."""

from datetime import timedelta
from typing import Any, Final

from django.utils import timezone

from inventory.stock import level_at
from prescriptions.handoffs.services import Contact, handoff_open
from prescriptions.models import Allergy, AuditEvent, Handoff, Prescription, RefillRequest, RefillTransition
from prescriptions.refill.evidence import pairs_for_staff
from prescriptions.refill.questions import questions_of
from prescriptions.refill.reservations import packs_for, store_of
from prescriptions.refill.states import Reason
from prescriptions.refill.wording import staff_note

_HISTORY = 10
_FIRST: Final = frozenset({Reason.MAJOR_INTERACTION, Reason.DIRECT_ALLERGY})
"""What staff see before all other refills."""


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
        is_urgent=bool(_FIRST & set(reasons)),
        contact=Contact(request.contact, request.reason, request.contact_person_id),
        package=package_of(request) | {"note": notes},
        medication=request.prescription.medication,
        branch=request.store,
        reasons=reasons,
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
        "pickup": request.pickup,
        "requested_by": request.requested_by,
        "language": request.language,
        "conversation": str(request.conversation_id) if request.conversation_id else None,
    }
    steps = RefillTransition.objects.filter(request=request).order_by("version")
    path = [after for before, after in steps.values_list("from_state", "to_state") if after != before]
    contact = {"role": request.contact, "person": request.contact_person_id}
    chosen = {"contact": contact, "routing": request.routing}
    if request.reason == Reason.IDENTITY_FAILED:
        return {"request": asked, "path": path, **chosen}
    prescription = request.prescription
    level = level_at(store_of(request), prescription.medication)
    allergies = Allergy.objects.filter(patient=request.patient).select_related("ingredient").order_by("pk")
    return {
        "request": asked,
        "path": path,
        **chosen,
        "questions": questions_of(request),
        "verification": _verification(request),
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
            "packs_there": level.quantity if level else 0,
        },
    }


def _verification(request: RefillRequest) -> dict[str, str | None]:
    """Return how the customer of this request proved who they are, and when; for others, that staff or a system asked."""
    who = request.requested_by.partition(":")[0]
    if who != "chat":
        return {"how": {"user": "staff", "key": "system"}.get(who, who), "at": None}
    chat = f"chat:{request.conversation_id}"
    proven = AuditEvent.objects.filter(who=chat, what="identity_verified", patient_id=request.patient_id)
    last = proven.order_by("-number").first()
    return {"how": last.how, "at": last.at.isoformat()} if last else {"how": "unknown", "at": None}


def _days_left(prescription: Prescription) -> int | None:
    """Return the days of supply that the last fill still covers."""
    if prescription.last_filled_on is None:
        return None
    until = prescription.last_filled_on + timedelta(days=prescription.days_supply)
    return max(0, (until - timezone.localdate()).days)


def _iso(value: Any) -> str | None:
    return value.isoformat() if value else None
