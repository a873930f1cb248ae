"""S0 `prescription_management`: a patient's prescriptions, and whether one of them can be refilled.

In the chat the patient is the one who was verified; over HTTP the caller's key has the scope `patients`.

Evidence of a success: `prescriptions`: `[{presc_id, med_id, refills_left, refill_pending, status_known, expires_on,
issued_on, last_filled_on, days_supply, too_early_until, schedule, strength, directions_en, directions_he}]`. The directions are for the
customer's card alone: no model reads them and no record of a call has them. A failure has no evidence.
"""

from typing import Literal

from agent.answers.tool_sentences import tool_text
from agent.evidence import PrescriptionFacts
from agent.tools.base import (
    ActionUnknown,
    Answer,
    Arguments,
    PrescriptionMissing,
    Refusal,
    Result,
    Text,
    Tool,
    ToolContext,
    Whole,
)
from agent.tools.envelopes import SuccessS0
from agent.tools.private import access_of, chat_patient, denied_record
from pharmacy_site.lib.bilingual import both
from pharmacy_site.lib.errors import PharmacyError
from prescriptions.eligibility import can_refill, refill_is_pending, refill_reason, status_is_known, status_s0
from prescriptions.errors import PatientNotFound, PrescriptionNotFound
from prescriptions.models import Prescription
from prescriptions.refill.early import too_early_until
from prescriptions.selectors import patient_find, prescription_get_for, prescriptions_for


class PrescriptionManagementArguments(Arguments):
    """Who asks, what to do (LIST or REFILL_STATUS), and for which prescription."""

    user_identifier: Text
    action: Text
    prescription_id: Whole | None = None


class PrescriptionDetails(Result):
    """S0's prescription."""

    presc_id: int
    med_id: int
    medication_name_en: str
    medication_name_he: str
    refills_left: int
    status: Literal["active", "completed", "expired"]
    can_refill: bool


class PrescriptionList(SuccessS0):
    """All prescriptions of the user, maybe none."""

    user_name: str
    prescriptions: list[PrescriptionDetails]


class RefillStatus(SuccessS0):
    """One prescription and whether it can be refilled now."""

    prescription: PrescriptionDetails
    refill_eligible: bool
    reason: str


class PrescriptionManagementFailure(Result):
    """A bad action, no such user, or no such prescription of theirs."""

    success: Literal[False]
    error_code: Literal["INVALID_STATE", "UNAUTHORIZED", "NOT_FOUND", "INTERNAL"]
    error_message: str


def run(arguments: PrescriptionManagementArguments, context: ToolContext) -> Answer:
    """Return the user's prescriptions, or whether the given one can be refilled."""
    access = access_of(TOOL.name, context)
    if context.channel == "chat":
        patient = chat_patient(TOOL, context, arguments.user_identifier)
    if arguments.action not in {"LIST", "REFILL_STATUS"}:
        raise ActionUnknown
    if context.channel == "http":
        patient = patient_find(arguments.user_identifier, access=access)
    if arguments.action == "LIST":
        rows = prescriptions_for(patient, access=access)
        listed = PrescriptionList(
            user_name=both(patient, "name")[0], prescriptions=[_details(row) for row in rows]
        )
        return Answer(listed, {"prescriptions": [_facts(row) for row in rows]})
    if arguments.prescription_id is None:
        raise PrescriptionMissing
    try:
        row = prescription_get_for(patient, arguments.prescription_id, access=access)
    except PrescriptionNotFound:
        if context.channel == "chat":
            denied_record(TOOL, context, why="prescription")
        raise
    status = RefillStatus(
        prescription=_details(row), refill_eligible=can_refill(row), reason=refill_reason(row)
    )
    return Answer(status, {"prescriptions": [_facts(row)]})


def refuse(error: PharmacyError, arguments: PrescriptionManagementArguments, context: ToolContext) -> Refusal:
    """Word S0's errors; "not yours" and "does not exist" are the same words."""
    if isinstance(error, ActionUnknown):
        return Refusal(tool_text("s0_action", action=arguments.action))
    if isinstance(error, PatientNotFound):
        return Refusal(tool_text("s0_user", identifier=arguments.user_identifier))
    if isinstance(error, PrescriptionMissing):
        return Refusal(tool_text("s0_prescription_missing"))
    return Refusal(tool_text("s0_prescription", prescription=arguments.prescription_id))


def _details(row: Prescription) -> PrescriptionDetails:
    name_en, name_he = both(row.medication, "name")
    return PrescriptionDetails(
        presc_id=row.pk,
        med_id=row.medication_id,
        medication_name_en=name_en,
        medication_name_he=name_he,
        refills_left=row.refills_left,
        status=status_s0(row),
        can_refill=can_refill(row),
    )


def _facts(row: Prescription) -> PrescriptionFacts:
    directions_en, directions_he = both(row, "directions")
    early = too_early_until(row)
    return {
        "presc_id": row.pk,
        "med_id": row.medication_id,
        "refills_left": row.refills_left,
        "refill_pending": refill_is_pending(row),
        "status_known": status_is_known(row),
        "expires_on": row.expires_on.isoformat(),
        "issued_on": row.issued_on.isoformat(),
        "last_filled_on": row.last_filled_on.isoformat() if row.last_filled_on else None,
        "days_supply": row.days_supply,
        "too_early_until": early.isoformat() if early else None,
        "schedule": row.medication.schedule,
        "strength": row.medication.strength,
        "directions_en": directions_en,
        "directions_he": directions_he,
    }


TOOL = Tool(
    name="prescription_management",
    family="S0",
    description=(
        "List the prescriptions of the user with this e-mail or phone (action LIST), or check whether one of them can "
        "be refilled (action REFILL_STATUS with prescription_id). In the chat: only the verified customer's own."
    ),
    arguments=PrescriptionManagementArguments,
    success=(PrescriptionList, RefillStatus),
    failure=PrescriptionManagementFailure,
    run=run,
    refuse=refuse,
    private=True,
)
