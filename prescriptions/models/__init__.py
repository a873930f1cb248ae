"""The tables of this app, by subject; import them from here."""

from prescriptions.models.handoffs import Handoff, HandoffDeadline, ReplyTemplate
from prescriptions.models.operations import AuditCheck, SiteSwitches
from prescriptions.models.records import (
    LANGUAGES,
    Allergy,
    AuditEvent,
    AuditHead,
    Challenge,
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
from prescriptions.models.roster import OnCall
from prescriptions.models.simulator import SimulatedAllergy, SimulatedFault, SimulatedLab, SimulatedOrder

__all__ = [
    "LANGUAGES",
    "Allergy",
    "AuditCheck",
    "AuditEvent",
    "AuditHead",
    "Challenge",
    "CoverageRule",
    "Handoff",
    "HandoffDeadline",
    "LabRule",
    "Notification",
    "OnCall",
    "Patient",
    "Prescription",
    "RefillRequest",
    "RefillTransition",
    "ReplyTemplate",
    "ScheduleRule",
    "SimulatedAllergy",
    "SimulatedFault",
    "SimulatedLab",
    "SimulatedOrder",
    "SiteSwitches",
    "StockReservation",
    "SupplyLimit",
]
