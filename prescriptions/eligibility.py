"""Decide whether a prescription may be refilled, in the vocabularies of S0 and S1 (tables of README section 1)."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal

from django.utils import timezone

from inventory.models import Medication
from prescriptions import selectors
from prescriptions.audit import Access
from prescriptions.models import Patient, Prescription

StatusS0 = Literal["active", "completed", "expired"]
StatusS1 = Literal["active", "expired", "refill_pending", "cancelled"]
Intent = Literal["new", "refill"]
NextStep = Literal["request_rx_details", "allow_refill_request", "cannot_proceed"]

logger = logging.getLogger(__name__)

_VOCABULARIES: Final[Mapping[str, tuple[StatusS0, StatusS1]]] = {
    "active": ("active", "active"),
    "completed": ("completed", "expired"),
    "expired": ("expired", "expired"),
    "cancelled": ("expired", "cancelled"),
    "refill_pending": ("active", "refill_pending"),
}
_UNKNOWN: Final[tuple[StatusS0, StatusS1]] = ("expired", "expired")


@dataclass(frozen=True)
class Verification:
    """The result of S1's `prescription_verify`; `prescription` is the row that it is based on."""

    rx_required: bool
    has_valid_rx: bool
    rx_status: StatusS1 | None
    expires_at: date | None
    refills_remaining: int
    next_step: NextStep
    prescription: Prescription | None = None


def status_is_known(prescription: Prescription) -> bool:
    """Return whether the stored status is a known one; if not, staff must check the prescription."""
    return prescription.status in _VOCABULARIES


def status_s0(prescription: Prescription) -> StatusS0:
    """Return the status in S0's vocabulary: active, completed or expired."""
    return _statuses(prescription)[0]


def status_s1(prescription: Prescription) -> StatusS1:
    """Return the status in S1's vocabulary: active, expired, refill_pending or cancelled."""
    return _statuses(prescription)[1]


def refill_is_pending(prescription: Prescription) -> bool:
    """Return whether a refill was already requested; S0's vocabulary has no status for it."""
    return prescription.status == Prescription.Status.REFILL_PENDING


def can_refill(prescription: Prescription) -> bool:
    """Return whether the prescription can be refilled by S0's rule: active and at least one refill left."""
    return status_s0(prescription) == "active" and prescription.refills_left > 0


def refill_reason(prescription: Prescription) -> str:
    """Return S0's reason, word for word."""
    status = status_s0(prescription)
    if status != "active":
        return f"Prescription is {status}"
    if prescription.refills_left > 0:
        return f"{prescription.refills_left} refill(s) available"
    return "No refills remaining"


def prescription_verify(
    patient: Patient, medication: Medication, intent: Intent, *, access: Access
) -> Verification:
    """Return whether this patient may have this medication refilled or newly filled (S1)."""
    on_file = selectors.prescriptions_for(patient, access=access)
    best = max((p for p in on_file if p.medication_id == medication.pk), key=_rank, default=None)
    if best is None:
        return Verification(
            rx_required=medication.rx_required,
            has_valid_rx=False,
            rx_status=None,
            expires_at=None,
            refills_remaining=0,
            next_step="request_rx_details" if medication.rx_required else "allow_refill_request",
        )
    status = status_s1(best)
    return Verification(
        rx_required=medication.rx_required,
        has_valid_rx=status in {"active", "refill_pending"},
        rx_status=status,
        expires_at=best.expires_on,
        refills_remaining=0 if best.status == Prescription.Status.COMPLETED else best.refills_left,
        next_step=_next_step(medication, best, intent),
        prescription=best,
    )


def _next_step(medication: Medication, prescription: Prescription, intent: Intent) -> NextStep:
    """Return what S1 lets a customer with a prescription on file do next."""
    if not medication.rx_required:
        return "allow_refill_request"
    active = status_s1(prescription) == "active"
    if active and (intent == "new" or prescription.refills_left > 0):
        return "allow_refill_request"
    return "cannot_proceed"


def _rank(prescription: Prescription) -> tuple[bool, bool, bool, date, int]:
    """Return the sort key of prescriptions of one medication: active with refills, active, pending, latest expiry."""
    status = status_s1(prescription)
    active = status == "active"
    return (
        active and prescription.refills_left > 0,
        active,
        status == "refill_pending",
        prescription.expires_on,
        prescription.pk,
    )


def _statuses(prescription: Prescription) -> tuple[StatusS0, StatusS1]:
    """Return the status in both vocabularies; active past its date is expired, and so is an unknown status."""
    if not status_is_known(prescription):
        logger.warning("prescription %s has an unknown status", prescription.pk)
        return _UNKNOWN
    if prescription.status == Prescription.Status.ACTIVE and prescription.expires_on < timezone.localdate():
        return _VOCABULARIES["expired"]
    return _VOCABULARIES[prescription.status]
