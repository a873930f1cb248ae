"""Hand-offs as HTTP resources: what a member of staff reads in the queue and in a case."""

from typing import Any, Literal

from django.contrib.auth.models import User
from django.utils import timezone
from pydantic import BaseModel

from agent.web.serializers import Page, Problem, paged
from prescriptions.cases.case import messages_for, summary_shown
from prescriptions.cases.queue import person_name
from prescriptions.cases.wording import verified_code
from prescriptions.handoffs.sla import sla_state
from prescriptions.models import Handoff, Patient

StateName = Literal["open", "claimed", "decided", "closed"]


class HandoffsQuery(Page):
    """The query of hand-offs: all, or those in one state."""

    state: StateName | None = None


class HandoffResource(BaseModel):
    """A hand-off in the queue; `patient_id` is null unless the key's member of staff has claimed it and sees patients."""

    number: str
    state: StateName
    reason: str
    """Why it was opened; of a refill, `why` says what stopped it."""
    why: str
    role: str
    person: str | None
    urgent: bool
    language: str
    refill: str | None
    medication: int | None
    schedule: str | None
    branch: int | None
    patient_id: str | None
    identity: Literal["failed", "staff", "system", "identified", "none"]
    claimed_by: str | None
    opened_at: str
    claim_due_at: str | None
    decide_due_at: str | None
    sla: Literal["pending", "imminent", "breaching", "achieved", "breached", "cancelled"]
    raised_at: str | None
    closed_at: str | None
    outcome: str | None


class HandoffMessage(BaseModel):
    """One message of the conversation; `seq` of the last one is what a reply has to have seen."""

    seq: int
    role: Literal["user", "assistant", "staff", "system"]
    text: str
    language: str
    at: str | None
    author: str | None
    automatic: bool


class HandoffPatient(BaseModel):
    """The patient, for whoever has claimed the hand-off."""

    patient_id: str
    name_en: str
    name_he: str
    born: str
    phone: str | None
    email: str


class HandoffCase(HandoffResource):
    """A hand-off with what a person needs to decide it; null is what the member of staff may not read.

    `package` is the context package of the moment when it was opened; `note` is drafted for the person who decides;
    `contacts_left` are addresses and phones that the customer wrote in the chat, for whoever has claimed it.
    """

    conversation: str | None
    summary: str
    note: dict[str, str] | None
    package: dict[str, Any] | None
    patient: HandoffPatient | None
    contacts_left: list[str]
    messages: list[HandoffMessage]
    last_seq: int


class HandoffConflict(Problem):
    """The body of a 409: why, and who has claimed it, or up to which message nothing was read."""

    detail: str
    code: str
    claimed_by: str | None = None
    last_seq: int | None = None


class HandoffRefusal(Problem):
    """The body of a 403; `code` says which rule of ours refuses it, where one does."""

    detail: str
    code: str | None = None


class ReplyWritten(BaseModel):
    """The number of the message that was written."""

    seq: int


HandoffPage = paged("HandoffPage", HandoffResource)


def handoff_resource(row: Handoff, user: User) -> HandoffResource:
    """Return a hand-off as this member of staff reads it in the queue."""
    return HandoffResource.model_validate(_fields(row, user))


def handoff_case(row: Handoff, user: User, *, with_content: bool = True) -> HandoffCase:
    """Return a case as this member of staff reads it; without its content what is said of it in the queue."""
    sees_patients = with_content and user.has_perm("prescriptions.view_patient")
    patient = _identity(row, user) if with_content else None
    messages = messages_for(row, user) if with_content else []
    package = {name: value for name, value in row.package.items() if name != "note"}
    return HandoffCase.model_validate(
        {
            **_fields(row, user),
            "conversation": str(row.conversation_id) if with_content and row.conversation_id else None,
            "summary": summary_shown(row, user) if with_content else "",
            "note": row.package.get("note") if with_content else None,
            "package": package if sees_patients else None,
            "patient": _patient(patient) if patient else None,
            "contacts_left": row.contacts_left if with_content and row.claimed_by_id == user.pk else [],
            "messages": [
                {
                    "seq": said.seq,
                    "role": said.role,
                    "text": said.text,
                    "language": said.language,
                    "at": said.at.isoformat() if said.at else None,
                    "author": said.author or None,
                    "automatic": said.is_automatic,
                }
                for said in messages
            ],
            "last_seq": max((said.seq for said in messages), default=0),
        }
    )


def _fields(row: Handoff, user: User) -> dict[str, Any]:
    asked = row.package.get("request") or {}
    patient = _identity(row, user)
    return {
        "number": row.number,
        "state": row.state,
        "reason": row.reason,
        "why": str(asked.get("reason") or row.contact_why or row.reason),
        "role": row.contact,
        "person": person_name(row.contact_person) or None,
        "urgent": row.is_urgent,
        "language": row.language,
        "refill": asked.get("number"),
        "medication": row.medication_id,
        "schedule": (row.medication.schedule or None) if row.medication else None,
        "branch": row.branch_id,
        "patient_id": patient.mrn if patient else None,
        "identity": verified_code(row),
        "claimed_by": person_name(row.claimed_by) or None,
        "opened_at": row.created_at.isoformat(),
        "claim_due_at": _iso(row.claim_due_at),
        "decide_due_at": _iso(row.decide_due_at),
        "sla": sla_state(row, timezone.now()),
        "raised_at": _iso(row.raised_at),
        "closed_at": _iso(row.closed_at),
        "outcome": row.outcome or None,
    }


def _identity(row: Handoff, user: User) -> Patient | None:
    """Return the patient for whoever has claimed the hand-off and sees patients; of a failed identity nobody's."""
    is_mine = row.claimed_by_id == user.pk and user.has_perm("prescriptions.view_patient")
    return row.patient if is_mine and verified_code(row) != "failed" else None


def _patient(patient: Patient) -> dict[str, Any]:
    return {
        "patient_id": patient.mrn,
        "name_en": patient.name_en,
        "name_he": patient.name_he,
        "born": patient.born.isoformat(),
        "phone": str(patient.phone) if patient.phone else None,
        "email": patient.email,
    }


def _iso(value: Any) -> str | None:
    return value.isoformat() if value else None
