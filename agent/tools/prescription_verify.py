"""S1 `prescription_verify`: whether a medication needs a prescription and the patient has a valid one on file.

In the chat the patient is the one who was verified; over HTTP the caller's key has the scope `patients`.

Evidence of a success: `medication` (see `facts.py`), `prescription`: `{presc_id, status_known, expires_on, issued_on,
last_filled_on, days_supply, too_early_until}` or null: ids, numbers and dates only. A failure has none.
"""

from typing import Literal

from agent.answers.tool_sentences import tool_text
from agent.evidence import PrescriptionFacts
from agent.tools.base import (
    Answer,
    Arguments,
    MedicationRef,
    Refusal,
    Result,
    Text,
    Tool,
    ToolContext,
)
from agent.tools.envelopes import SuccessS1
from agent.tools.facts import medication_facts
from agent.tools.private import access_of, chat_patient
from inventory import catalog
from pharmacy_site.lib.errors import PharmacyError
from pharmacy_site.lib.text import Language
from prescriptions import eligibility
from prescriptions.errors import PatientNotFound
from prescriptions.models import Prescription
from prescriptions.refill.early import too_early_until
from prescriptions.selectors import patient_get


class PrescriptionVerifyArguments(Arguments):
    """The patient by medical record number, the medication, and whether it is a new fill or a refill."""

    patient_id: Text
    med_id: MedicationRef
    intent: Literal["new", "refill"]
    language: Language


class PrescriptionVerifySuccess(SuccessS1):
    """What is on file, and the next step."""

    rx_required: bool
    patient_found: Literal[True] = True
    has_valid_rx: bool
    rx_status: Literal["active", "expired", "refill_pending", "cancelled"] | None
    expires_at: str | None
    refills_remaining: int
    next_step: Literal["request_rx_details", "allow_refill_request", "cannot_proceed"]
    notes: str | None


class PrescriptionVerifyError(Result):
    """S1's error."""

    code: Literal["PATIENT_NOT_FOUND", "MED_NOT_FOUND", "DB_ERROR"]
    message: str


class PrescriptionVerifyFailure(Result):
    """No such patient, no such medication, or no database."""

    ok: Literal[False]
    error: PrescriptionVerifyError


def run(arguments: PrescriptionVerifyArguments, context: ToolContext) -> Answer:
    """Return whether this patient has a valid prescription for this medication, and the next step."""
    access = access_of(TOOL.name, context)
    if context.channel == "chat":
        patient = chat_patient(TOOL, context, arguments.patient_id)
    else:
        patient = patient_get(arguments.patient_id.strip(), access=access)
    medication = catalog.medication_get(arguments.med_id)
    found = eligibility.prescription_verify(patient, medication, arguments.intent, access=access)
    success = PrescriptionVerifySuccess(
        rx_required=found.rx_required,
        has_valid_rx=found.has_valid_rx,
        rx_status=found.rx_status,
        expires_at=found.expires_at.isoformat() if found.expires_at else None,
        refills_remaining=found.refills_remaining,
        next_step=found.next_step,
        notes=_notes(found, arguments),
    )
    return Answer(
        success, {"medication": medication_facts(medication), "prescription": _facts(found.prescription)}
    )


def refuse(error: PharmacyError, arguments: PrescriptionVerifyArguments, context: ToolContext) -> Refusal:
    """Say which of the two was not found."""
    if isinstance(error, PatientNotFound):
        return Refusal(tool_text("patient_not_found", arguments.language))
    return Refusal(tool_text("med_not_found", arguments.language, query=arguments.med_id))


def _notes(found: eligibility.Verification, arguments: PrescriptionVerifyArguments) -> str | None:
    if not found.rx_required:
        return tool_text("otc", arguments.language)
    if found.prescription is None:
        return tool_text("rx_none", arguments.language)
    if not eligibility.status_is_known(found.prescription):
        return tool_text("rx_unknown", arguments.language)
    if found.next_step == "cannot_proceed":
        key = "no_refills" if found.rx_status == "active" else found.rx_status
        return tool_text(f"rx_{key}", arguments.language)
    return None


def _facts(row: Prescription | None) -> PrescriptionFacts | None:
    if row is None:
        return None
    early = too_early_until(row)
    return {
        "presc_id": row.pk,
        "status_known": eligibility.status_is_known(row),
        "expires_on": row.expires_on.isoformat(),
        "issued_on": row.issued_on.isoformat(),
        "last_filled_on": row.last_filled_on.isoformat() if row.last_filled_on else None,
        "days_supply": row.days_supply,
        "too_early_until": early.isoformat() if early else None,
    }


TOOL = Tool(
    name="prescription_verify",
    family="S1",
    description=(
        "Confirm whether a medication requires a prescription and whether the patient has a valid one on file, before "
        "any refill. In the chat: only the verified customer's own."
    ),
    arguments=PrescriptionVerifyArguments,
    success=(PrescriptionVerifySuccess,),
    failure=PrescriptionVerifyFailure,
    run=run,
    refuse=refuse,
    private=True,
)
