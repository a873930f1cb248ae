"""Register the staff's pages: patients, prescriptions, refills, hand-offs, the audit log and notifications."""

from pharmacy_site.lib.admin import ReadOnly
from prescriptions.admin import (
    handoffs,
    notifications,
    patients,
    records,
    refills,
    reply_templates,
    roster,
    switches,
)
from prescriptions.admin.base import PatientData

__all__ = [
    "PatientData",
    "ReadOnly",
    "handoffs",
    "notifications",
    "patients",
    "records",
    "refills",
    "reply_templates",
    "roster",
    "switches",
]
