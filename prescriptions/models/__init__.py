"""The tables of this app, by subject; import them from here."""

from prescriptions.models.records import (
    LANGUAGES,
    Allergy,
    AuditEvent,
    AuditHead,
    Challenge,
    Handoff,
    Notification,
    Patient,
    Prescription,
)
from prescriptions.models.refills import (
    CoverageRule,
    LabRule,
    RefillRequest,
    RefillTransition,
    ScheduleRule,
    StockReservation,
    SupplyLimit,
)
from prescriptions.models.simulator import SimulatedAllergy, SimulatedFault, SimulatedLab, SimulatedOrder

__all__ = [
    "LANGUAGES",
    "Allergy",
    "AuditEvent",
    "AuditHead",
    "Challenge",
    "CoverageRule",
    "Handoff",
    "LabRule",
    "Notification",
    "Patient",
    "Prescription",
    "RefillRequest",
    "RefillTransition",
    "ScheduleRule",
    "SimulatedAllergy",
    "SimulatedFault",
    "SimulatedLab",
    "SimulatedOrder",
    "StockReservation",
    "SupplyLimit",
]
