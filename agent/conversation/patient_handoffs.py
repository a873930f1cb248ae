"""Bring a patient's hand-offs into the conversation in which they were identified just now, with what staff wrote."""

import logging
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import Q
from django.utils import timezone

from agent.conversation import events
from agent.conversation.handoff import handoff_tell
from agent.conversation.modes import Mode, mode_set, mode_settle
from agent.models import Conversation, Event
from prescriptions.handoffs.moves import handoff_move, handoffs_identify
from prescriptions.models import Handoff, Patient, RefillRequest

log = logging.getLogger(__name__)
KEPT: Final = timedelta(days=14)
"""For so long what staff wrote and decided comes along."""


def handoffs_bring(conversation_id: UUID, patient: Patient) -> None:
    """Let the patient's open hand-offs, and those that ended lately, go on in this conversation, beside its own.

    Call it outside of transactions: each hand-off's row is locked before any conversation. A failure costs the customer
    only these cards, never the message.
    """
    handoffs_take(conversation_id, patient)
    since = timezone.now() - KEPT
    rows = Handoff.objects.filter(
        Q(closed_at=None) | Q(closed_at__gte=since), patient=patient, conversation_id__isnull=False
    ).exclude(conversation_id=conversation_id)
    try:
        for pk in list(rows.order_by("pk").values_list("pk", flat=True)):
            with transaction.atomic():
                handoff_move(rows.select_for_update(of=("self",)).get(pk=pk), conversation_id)
    except (DatabaseError, Handoff.DoesNotExist, events.ConversationGone) as error:
        log.error("hand-offs not brought: %s", type(error).__name__)


def handoffs_take(conversation_id: UUID, patient: Patient) -> None:
    """Make the hand-offs that the conversation had before this patient was identified theirs; as in `handoffs_bring`."""
    verified = {"how": settings.CHAT_IDENTITY, "at": timezone.now().isoformat()}
    try:
        handoffs_identify(conversation_id, patient, verified=verified)
    except (DatabaseError, Patient.DoesNotExist, events.ConversationGone) as error:
        log.error("hand-offs not taken: %s", type(error).__name__)


def handoff_follow(handoff: Handoff, moved_from: UUID) -> None:
    """Show a hand-off that was moved where it is now, with what staff wrote before; both conversations get their mode."""
    pk = handoff.conversation_id
    if pk is None or not Conversation.objects.filter(pk=pk).exists():
        return
    conversation = events.conversation_locked(pk)
    _repeat(handoff, conversation, moved_from)
    if not RefillRequest.objects.filter(handoff=handoff).exists():
        handoff_tell(handoff, conversation)
    before = Conversation.objects.filter(pk=moved_from).first()
    if not handoff.is_over:
        mode_settle(pk, is_new=True)
        if before and before.mode == Mode.HUMAN and handoff.claimed_by_id is not None:
            mode_set(events.conversation_locked(pk), Mode.HUMAN)
    if before:
        mode_settle(moved_from)


def _repeat(handoff: Handoff, conversation: Conversation, moved_from: UUID) -> None:
    """Append what staff wrote about a hand-off in an earlier conversation, at the time at which they wrote it.

    What is there already, because the hand-off has been in this conversation before, is not repeated.
    """
    said = Event.objects.filter(
        type="message.completed", payload__role="staff", payload__handoff=handoff.number
    )
    known = {_written_at(event) for event in said.filter(conversation=conversation)}
    earlier = said.filter(conversation_id=moved_from, created_at__gte=timezone.now() - KEPT)
    for event in sorted(earlier, key=_written_at):
        if (at := _written_at(event)) in known:
            continue
        written = {**event.payload, "at": at, "repeated": True}
        events.event_append(
            conversation_id=conversation.pk,
            type="message.completed",
            payload=written,
            patient=handoff.patient,
            used=False,
        )


def _written_at(event: Event) -> str:
    """Return when staff wrote a message; one that is repeated keeps that time."""
    return str(event.payload.get("at") or event.created_at.isoformat())
