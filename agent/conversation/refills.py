"""Describe refill requests for answers, and append the events that show a conversation how far they are."""

import logging
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import DatabaseError, transaction
from django.utils import timezone

from agent.answers.refills import RefillFacts, progress_card
from agent.conversation import events
from agent.conversation.stores import store_facts
from agent.models import Conversation
from pharmacy_site.lib.bilingual import both
from pharmacy_site.lib.text import as_language
from prescriptions.audit import Access
from prescriptions.models import Patient, RefillRequest
from prescriptions.refill.progress import stages_of
from prescriptions.refill.selectors import refills_shown, status_of, status_said

log = logging.getLogger(__name__)


def refill_facts(request: RefillRequest) -> RefillFacts:
    """Return a request as its customer sees it."""
    medication = request.prescription.medication
    english, hebrew = both(medication, "name")
    return {
        "number": request.number,
        "state": request.state,
        "status": status_of(request),
        "is_open": request.outcome is None,
        "prescription_id": request.prescription_id,
        "says_en": status_said(request, "en"),
        "says_he": status_said(request, "he"),
        "medicine_id": medication.pk,
        "label_en": english,
        "label_he": hebrew,
        "strength": medication.strength,
        "quantity": request.quantity,
        "days_supply": request.days_supply,
        "store": store_facts(request.store) if request.store else None,
        "pickup_known": request.pickup_known,
        "expires_at": request.expires_at.isoformat() if request.expires_at else None,
        "stages": [
            {"code": stage.code, "state": stage.state, "at": _local(stage.at)} for stage in stages_of(request)
        ],
    }


def _local(at: datetime | None) -> str | None:
    """Return a moment by the pharmacy's clock, as cards show it: the check of answers proves times by what it reads here."""
    return timezone.localtime(at).isoformat() if at else None


def refill_announce(request: RefillRequest, conversation: Conversation) -> None:
    """Append the event that tells a conversation how far a request is. Call it inside a transaction."""
    language, facts = as_language(conversation.language), refill_facts(request)
    payload: dict[str, Any] = {
        "number": facts["number"],
        "state": facts["state"],
        "status": facts["status"],
        "lang": language,
        "message": facts[f"says_{language}"],  # type: ignore[literal-required]  # both languages are keys
    }
    if request.is_confirmed:
        payload["card"] = progress_card(facts, language)
    elif facts["expires_at"] and facts["status"] == "collecting":
        payload["expires_at"] = facts["expires_at"]
    events.event_append(
        conversation_id=conversation.pk,
        type="refill.updated",
        payload=payload,
        patient=request.patient,
        used=False,
    )


def refills_bring(conversation_id: UUID, patient: Patient) -> None:
    """Show a customer who was identified just now the requests that they have; their news comes here from now on.

    Call it outside of transactions: a step of a request locks its row first, then the conversation, then the audit log.
    A failure costs the customer only these cards, never the message.
    """
    access = Access(who=f"chat:{conversation_id}", where="chat", why="identified")
    try:
        elsewhere = [
            row for row in refills_shown(patient, access=access) if row.conversation_id != conversation_id
        ]
        for request in reversed(elsewhere):
            with transaction.atomic():
                RefillRequest.objects.filter(pk=request.pk).update(conversation_id=conversation_id)
                refill_announce(request, events.conversation_get(conversation_id))
    except DatabaseError as error:
        log.error("refills not brought: %s", type(error).__name__)
