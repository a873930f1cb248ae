"""Compute the first day of the next refill: a share of the last fill has to be used before."""

from datetime import date

from django.conf import settings
from django.utils import timezone

from prescriptions.models import Prescription
from prescriptions.refill.safety import can_be_refilled_from


def too_early_until(prescription: Prescription) -> date | None:
    """Return the first day on which enough of the last fill is used; None when that day has come, or nothing was filled."""
    if prescription.last_filled_on is None or not prescription.days_supply:
        return None
    is_controlled = bool(prescription.medication.schedule)
    percent = settings.REFILL_EARLY_PERCENT_CONTROLLED if is_controlled else settings.REFILL_EARLY_PERCENT
    first = can_be_refilled_from(prescription.last_filled_on, prescription.days_supply, percent)
    return first if timezone.localdate() < first else None
