"""Hand-offs of a conversation: the row with its number, and the event by which clients learn of it."""

from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from agent.answers.handoffs import waiting_text
from agent.conversation import events
from agent.conversation.runs import run_still_ours
from agent.conversation.stores import store_of_staff
from agent.models import Conversation, Run
from pharmacy_site.lib.text import as_language
from prescriptions import handoffs
from prescriptions.models import Handoff, Patient


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
    language = as_language(conversation.language)
    message = waiting_text(reason, store_of_staff(), timezone.localdate(), language)
    events.event_append(
        conversation_id=conversation.pk,
        type="handoff.updated",
        payload={"number": opened.number, "state": "open", "message": message},
        run=run,
    )
    return opened


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
