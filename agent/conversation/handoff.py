"""Hand-offs of a conversation: the row with its number, and the event by which clients learn of it."""

from dataclasses import dataclass
from typing import TypedDict
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from agent.answers.handoffs import hearing_row, queue_words, waiting_rows
from agent.answers.render import say
from agent.conversation import events
from agent.conversation.runs import run_still_ours
from agent.conversation.stores import store_of_staff
from agent.models import Conversation, Run
from pharmacy_site.lib.text import as_language
from prescriptions import handoffs
from prescriptions.contacts import email_masked
from prescriptions.models import Handoff, Patient


class QueuePlace(TypedDict):
    """Where an open hand-off stands, in the words and the language of its card."""

    number: str
    queue: str


@dataclass(frozen=True)
class HandedOver:
    """The hand-off that a run leads to, and whether an earlier one is it."""

    row: Handoff
    again: bool


def hand_over(
    conversation: Conversation,
    *,
    reason: str,
    run_key: str,
    run: Run | None = None,
    patient: Patient | None = None,
    summary: str = "",
) -> Handoff:
    """Open the hand-off with this key and write its event; one that exists already is returned as it is.

    Call it inside a transaction.
    """
    # A run that is taken up again finds what its first attempt has done.
    existing = Handoff.objects.filter(run_key=run_key).first()
    if existing:
        return existing
    opened = handoffs.handoff_open(
        conversation_id=conversation.pk,
        reason=reason,
        run_key=run_key,
        language=conversation.language,
        patient=patient,
        summary=summary,
        is_urgent=conversation.emergency_open,
    )
    language = as_language(opened.language)
    place = conversation.state.get("place") or {}
    rows = waiting_rows(reason, store_of_staff(place.get("store")), timezone.localdate(), language)
    events.event_append(
        conversation_id=conversation.pk,
        type="handoff.updated",
        payload={
            **queue_place(opened, handoffs.waiting_before(opened)),
            "state": "open",
            "lang": language,
            "rows": rows,
            "contact": hearing_row(email_masked(patient.email) if patient else "", language),
            "message": say("staff_page", language),
        },
        run=run,
        patient=patient,
    )
    return opened


def queue_place(handoff: Handoff, before: int) -> QueuePlace:
    """Return the number of an open hand-off, and in words how many are before it."""
    return {"number": handoff.number, "queue": queue_words(before, as_language(handoff.language))}


def queue_places(conversation_id: UUID) -> list[QueuePlace]:
    """Return where the open hand-offs of a conversation stand now."""
    waiting = handoffs.handoffs_waiting().filter(conversation_id=conversation_id)
    return [queue_place(row, handoffs.waiting_before(row)) for row in waiting]


def run_hand_over(
    run: Run,
    *,
    reason: str,
    run_key: str,
    earlier: QuerySet[Handoff],
    patient: Patient | None,
    summary: str = "",
) -> HandedOver | None:
    """Hand a run's matter over to a person, unless one of the `earlier` hand-offs is still open: then that is it.

    None when the run is no longer this process's. Raises ConversationGone.
    """
    with transaction.atomic():
        if not run_still_ours(run):
            return None
        is_open = earlier.filter(state=Handoff.State.OPEN).exclude(run_key=run_key)
        if found := is_open.order_by("-pk").first():
            return HandedOver(found, again=True)
        opened = hand_over(
            run.conversation, reason=reason, run_key=run_key, run=run, patient=patient, summary=summary
        )
        return HandedOver(opened, again=False)
