"""Effects in two steps: the server describes what would be done, and only the customer's yes does it.

A confirmation is bound to its content, its conversation and the patient whose identity was proven when it was requested.
It can be answered once, within five minutes. A model can request one; no text that is typed answers it.
"""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Final, Literal
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac

from agent.answers.render import label, measure, say
from agent.conversation import events
from agent.conversation.accept import address_key
from agent.conversation.records import ConfirmAnswer, ConfirmRequest, ConfirmSummary, RunInput
from agent.models import Confirmation, Run
from pharmacy_site.lib.bilingual import named
from pharmacy_site.lib.errors import PharmacyError
from pharmacy_site.lib.text import Language, as_language
from prescriptions import selectors
from prescriptions.audit import Access, audit_record
from prescriptions.errors import PrescriptionNotFound
from prescriptions.models import Prescription

REFILL: Final = "refill.pass_on"


class ConfirmationExpired(PharmacyError):
    """The confirmation can no longer be answered: it was answered, has expired, or belongs to somebody else."""


def refill_ask(run: Run, *prescription_ids: int) -> ConfirmRequest | None:
    """Request the customer's yes for passing refills of these prescriptions to a pharmacist: one yes for all of them.

    Returns the event's content; None when nobody is identified, or a prescription is not theirs. A run that is
    repeated requests it once.
    """
    conversation = run.conversation
    patient = conversation.proven_patient
    if patient is None:
        return None
    access = Access(who=f"chat:{conversation.pk}", where="chat", why="confirm")
    try:
        asked = [selectors.prescription_get_for(patient, pk, access=access) for pk in prescription_ids]
    except PrescriptionNotFound:
        return None
    language = as_language(run.conversation.language)
    # A customer who has changed their mind has one question open, not two.
    earlier = Confirmation.objects.filter(conversation=conversation, state=Confirmation.State.OPEN)
    earlier.exclude(run=run).update(state=Confirmation.State.NO)
    waiting = Confirmation.objects.filter(run=run, action=REFILL).first()
    if waiting is None:
        waiting = Confirmation(
            conversation=conversation,
            run=run,
            action=REFILL,
            payload={"prescriptions": [one.pk for one in asked], "patient": patient.pk},
            expires_at=timezone.now() + timedelta(seconds=settings.CHAT_CONFIRM_TTL),
        )
        waiting.digest = _digest(waiting)
        waiting.save()
    return {
        "confirm_id": str(waiting.pk),
        "action": REFILL,
        "summary": _summary(asked, language),
        "expires_at": waiting.expires_at.isoformat(),
    }


def _summary(asked: Sequence[Prescription], language: Language) -> ConfirmSummary:
    """Describe what would be done: each medicine with the refills that are left of it."""
    rows = []
    for prescription in asked:
        medication = prescription.medication
        called = f"{named(medication, language)} {measure(medication.strength, language)}".strip()
        rows.append([label("column", "medicine", language), called])
        rows.append([label("column", "refills", language), str(prescription.refills_left)])
    return {
        "title": say("confirm_refills" if len(asked) > 1 else "confirm_refill", language),
        "rows": rows,
        "yes": say("confirm_yes", language),
        "no": say("confirm_no", language),
    }


def confirmation_answer(
    *, conversation_id: UUID, key: str, confirm_id: UUID, decision: Literal["yes", "no"], address: str
) -> None:
    """Accept the customer's answer, and add the run that carries it out and says so.

    Raises ConfirmationExpired and ConversationGone.
    """
    with transaction.atomic():
        conversation = events.conversation_locked(conversation_id, key)
        waiting = Confirmation.objects.filter(
            pk=confirm_id,
            conversation=conversation,
            state=Confirmation.State.OPEN,
            expires_at__gt=timezone.now(),
        ).first()
        if waiting is None or not constant_time_compare(waiting.digest, _digest(waiting)):
            raise ConfirmationExpired
        patient = conversation.proven_patient
        if patient is None or patient.pk != waiting.payload["patient"]:
            raise ConfirmationExpired
        Confirmation.objects.filter(pk=waiting.pk).update(state=decision, answered_at=timezone.now())
        audit_record(
            who=f"chat:{conversation_id}",
            what="confirmation_answered",
            where="chat",
            why=decision,
            patient=patient,
            detail={"confirmation": str(waiting.pk), "action": waiting.action},
        )
        answer: ConfirmAnswer = {"id": str(waiting.pk), "decision": decision}
        given: RunInput = {"address": address_key(address), "confirm": answer}
        Run.objects.create(
            conversation=conversation,
            kind=Run.Kind.CONFIRM,
            input_seq=conversation.seq_head,
            input=given,
        )


def confirmed(run: Run) -> Confirmation | None:
    """Return the confirmation that a run carries out, if its customer said yes and its content is unchanged."""
    answer: ConfirmAnswer | None = run.input.get("confirm")
    if run.kind != Run.Kind.CONFIRM or answer is None or answer["decision"] != "yes":
        return None
    rows = Confirmation.objects.filter(conversation_id=run.conversation_id, state=Confirmation.State.YES)
    found = rows.filter(pk=answer["id"]).first()
    return found if found and constant_time_compare(found.digest, _digest(found)) else None


def _digest(waiting: Confirmation) -> str:
    """Return the signature that binds a confirmation to its conversation, action and content."""
    content = [str(waiting.pk), str(waiting.conversation_id), waiting.action, waiting.payload]
    return salted_hmac(
        "chat.confirmation", json.dumps(content, sort_keys=True), algorithm="sha256"
    ).hexdigest()
