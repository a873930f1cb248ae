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

from agent.answers.render import say
from agent.conversation import events
from agent.conversation.accept import address_key
from agent.conversation.records import ConfirmAnswer, ConfirmClosed, ConfirmRequest, ConfirmSummary, RunInput
from agent.models import Confirmation, Run
from pharmacy_site.lib.errors import PharmacyError
from pharmacy_site.lib.text import Language, as_language
from prescriptions.audit import audit_record
from prescriptions.models import RefillRequest

REFILL: Final = "refill.submit"
CANCEL: Final = "refill.cancel"
Action = Literal["refill.submit", "refill.cancel"]


class ConfirmationExpired(PharmacyError):
    """The confirmation can no longer be answered: it was answered, has expired, or belongs to somebody else."""


class ConfirmationCalledOff(ConfirmationExpired):
    """The customer has called off what the confirmation asks for."""


class ConfirmationSuperseded(ConfirmationExpired):
    """A newer confirmation was requested since."""


_CLOSED: Final[dict[str, type[ConfirmationExpired]]] = {
    Confirmation.State.CALLED_OFF: ConfirmationCalledOff,
    Confirmation.State.SUPERSEDED: ConfirmationSuperseded,
}


def confirmation_request(
    run: Run, action: Action, refills: Sequence[RefillRequest], rows: list[list[str]]
) -> ConfirmRequest | None:
    """Request the customer's yes for submitting or cancelling these refills: one yes for all of them, as `rows` show them.

    Returns the event's content; None when their patient is not the one who is identified. A run that is repeated
    requests it once.
    """
    conversation = run.conversation
    patient = conversation.proven_patient
    if patient is None or not refills or any(one.patient_id != patient.pk for one in refills):
        return None
    language = as_language(conversation.language)
    # A customer who has changed their mind has one question open, not two.
    earlier = Confirmation.objects.filter(conversation=conversation, state=Confirmation.State.OPEN)
    earlier.exclude(run=run).update(state=Confirmation.State.SUPERSEDED)
    waiting = Confirmation.objects.filter(run=run, action=action).first()
    if waiting is None:
        waiting = Confirmation(
            conversation=conversation,
            run=run,
            action=action,
            # The versions bind the yes to what the card showed.
            payload={"refills": [[one.pk, one.version] for one in refills], "patient": patient.pk},
            expires_at=timezone.now() + timedelta(seconds=settings.CHAT_CONFIRM_TTL),
        )
        waiting.digest = _digest(waiting)
        waiting.save()
    return {
        "confirm_id": str(waiting.pk),
        "action": action,
        "summary": _summary(action, len(refills), rows, language),
        "expires_at": waiting.expires_at.isoformat(),
    }


def _summary(action: Action, number: int, rows: list[list[str]], language: Language) -> ConfirmSummary:
    if action == CANCEL:
        title, yes, no = "confirm_cancel", "confirm_cancel_yes", "confirm_cancel_no"
    else:
        title, yes, no = "confirm_refills" if number > 1 else "confirm_refill", "confirm_yes", "confirm_no"
    return {
        "title": say(title, language),
        "rows": rows,
        "yes": say(yes, language),
        "no": say(no, language),
    }


def confirmation_answer(
    *, conversation_id: UUID, key: str, confirm_id: UUID, decision: Literal["yes", "no"], address: str
) -> None:
    """Accept the customer's answer, and add the run that carries it out and says so.

    Raises ConfirmationExpired, with a subclass when it is known why, and ConversationGone.
    """
    with transaction.atomic():
        conversation = events.conversation_locked(conversation_id, key)
        waiting = Confirmation.objects.filter(pk=confirm_id, conversation=conversation).first()
        if waiting is None or not constant_time_compare(waiting.digest, _digest(waiting)):
            raise ConfirmationExpired
        patient = conversation.proven_patient
        if patient is None or patient.pk != waiting.payload["patient"]:
            raise ConfirmationExpired
        if waiting.state != Confirmation.State.OPEN or waiting.expires_at <= timezone.now():
            raise _CLOSED.get(waiting.state, ConfirmationExpired)
        Confirmation.objects.filter(pk=waiting.pk).update(state=decision, answered_at=timezone.now())
        audit_record(
            who=f"chat:{conversation_id}",
            what="confirmation_answered",
            where="chat",
            why=decision,
            patient=patient,
            detail={"confirmation": str(waiting.pk), "action": waiting.action},
        )
        answer: ConfirmAnswer = {
            "id": str(waiting.pk),
            "decision": decision,
            "action": waiting.action,
        }
        given: RunInput = {"address": address_key(address), "confirm": answer}
        Run.objects.create(
            conversation=conversation,
            kind=Run.Kind.CONFIRM,
            input_seq=conversation.seq_head,
            input=given,
        )


def confirmations_call_off(run: Run, about: RefillRequest | None = None) -> list[str]:
    """Close the open confirmations of a run's conversation, record an event for its pages, and return their actions.

    `about`: only what asks for a yes to this refill.
    """
    with transaction.atomic():
        conversation = events.conversation_locked(run.conversation_id)
        waiting = [
            row
            for row in Confirmation.objects.filter(
                conversation=conversation, state=Confirmation.State.OPEN, expires_at__gt=timezone.now()
            )
            if about is None or about.pk in (pk for pk, _version in row.payload["refills"])
        ]
        for row in waiting:
            Confirmation.objects.filter(pk=row.pk).update(
                state=Confirmation.State.CALLED_OFF, answered_at=timezone.now()
            )
            closed: ConfirmClosed = {"confirm_id": str(row.pk), "reason": "called_off"}
            events.event_append(
                conversation_id=conversation.pk,
                type="confirm.closed",
                payload=closed,
                run=run,
                patient=conversation.proven_patient,
                used=False,
            )
    return [row.action for row in waiting]


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
