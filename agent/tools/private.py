"""Decide whose data a call may read: in the chat only the verified patient's, whatever the model put into the call."""

import logging

from agent.tools.base import Tool, ToolContext
from prescriptions.audit import Access, audit_record
from prescriptions.contacts import contact_parse
from prescriptions.errors import PatientNotFound
from prescriptions.models import Patient

logger = logging.getLogger(__name__)


def access_of(tool_name: str, context: ToolContext) -> Access:
    """Return what the audit log records of a reading through this tool."""
    return Access(who=context.actor, where=f"tool:{tool_name}", why=_why(context))


def chat_patient(tool: Tool, context: ToolContext, identifier: str) -> Patient:
    """Return the conversation's verified patient if the identifier is theirs, else the same error as for nobody.

    Nothing is looked up: a foreign identifier and one that nobody has take the same path.
    """
    patient = context.patient
    if patient is not None and _is_theirs(patient, identifier):
        return patient
    denied_record(tool, context, why="identifier" if patient else "unverified")
    raise PatientNotFound


def denied_record(tool: Tool, context: ToolContext, *, why: str) -> None:
    """Log and audit a refused call for a patient's data."""
    logger.warning("authz_denied tool=%s actor=%s why=%s", tool.name, context.actor, why)
    audit_record(
        who=context.actor,
        what="authz_denied",
        where=f"tool:{tool.name}",
        why=why,
        how=_why(context),
        patient=context.patient,
    )


def _is_theirs(patient: Patient, identifier: str) -> bool:
    text = identifier.strip()
    contact = contact_parse(text)
    return text == patient.mrn or contact.email == patient.email or contact.phone == str(patient.phone)


def _why(context: ToolContext) -> str:
    return f"run:{context.run_id}" if context.run_id else context.channel
