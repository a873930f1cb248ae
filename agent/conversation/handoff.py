"""Open hand-offs from a conversation, and write the events that show them to the customer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypedDict
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from agent.answers.handoffs import (
    elsewhere_said,
    end_said,
    hearing_row,
    late_said,
    queue_words,
    taken_said,
    waiting_rows,
)
from agent.answers.render import say
from agent.conversation import events
from agent.conversation.runs import run_still_ours, runs_left
from agent.conversation.stores import store_of_staff
from agent.conversation.typed import MOST_CONTACTS, contacts_opened
from agent.models import Conversation, Event, Run
from agent.state import ConversationState
from inventory.models import Medication
from pharmacy_site.lib.text import Language, as_language
from prescriptions.contacts import email_masked
from prescriptions.errors import HandoffLimited
from prescriptions.handoffs.selectors import handoffs_unclaimed, handoffs_waiting, waiting_before
from prescriptions.handoffs.services import handoff_open
from prescriptions.models import Handoff, Patient, RefillRequest
from stores.models import Store

_ASKED: Final = 3
"""How many of the customer's last messages are named as what was asked."""


class QueuePlace(TypedDict):
    """Where an open hand-off stands, in the words and the language of its card."""

    number: str
    queue: str


@dataclass(frozen=True)
class HandedOver:
    """The hand-off that a run leads to, and whether an earlier one is it; no row: too many were opened."""

    row: Handoff | None
    again: bool = False


def hand_over(
    conversation: Conversation,
    *,
    reason: str,
    run_key: str,
    run: Run | None = None,
    patient: Patient | None = None,
    summary: str = "",
    address_key: str = "",
) -> Handoff:
    """Open the hand-off with this key and write its event; one that exists already is returned as it is.

    Call it inside a transaction. Raises HandoffLimited.
    """
    # A run that is taken up again finds what its first attempt has done.
    existing = Handoff.objects.filter(run_key=run_key).first()
    if existing:
        return existing
    state = _state_for(conversation, patient)
    opened = handoff_open(
        conversation_id=conversation.pk,
        reason=reason,
        run_key=run_key,
        language=conversation.language,
        patient=patient,
        summary=summary,
        is_urgent=conversation.emergency_open,
        package=_package(conversation, patient),
        medication=_medication(state),
        branch=_branch(state),
        address_key=address_key,
    )
    if contacts := contacts_opened(state.get("contacts", "")):
        contacts_leave(conversation.pk, contacts, patient)
    handoff_tell(opened, conversation, run=run)
    return opened


def identity_announce(conversation: Conversation, opened: Handoff) -> None:
    """Tell a conversation, once, of the hand-off that failed verifications of its contact have. Call it inside a transaction."""
    if not _numbers(conversation.pk).filter(payload__number=opened.number).exists():
        handoff_tell(opened, conversation)


def handoffs_about(conversation_id: UUID) -> Q:
    """Return the filter for a conversation's hand-offs: its own, and one of failed verifications that it shares with others."""
    return Q(conversation_id=conversation_id) | Q(number__in=list(cards_languages(conversation_id)))


def cards_languages(conversation_id: UUID) -> dict[str, Language]:
    """Return the language of the card that a conversation has of each hand-off, by number; what comes later keeps to it."""
    rows = _numbers(conversation_id).order_by("-seq").values_list("payload__number", "payload__lang")
    return {number: as_language(language) for number, language in rows}


def _card_language(handoff: Handoff, conversation: Conversation) -> Language:
    """Return the language in which a conversation reads of a hand-off; one that shares another's keeps to its own."""
    shown = cards_languages(conversation.pk).get(handoff.number)
    own = handoff.language if handoff.conversation_id == conversation.pk else conversation.language
    return shown or as_language(own)


def _numbers(conversation_id: UUID) -> QuerySet[Event]:
    return Event.objects.filter(conversation_id=conversation_id, type="handoff.updated")


def handoff_tell(
    handoff: Handoff, conversation: Conversation, *, run: Run | None = None, is_late: bool = False
) -> None:
    """Append the event that shows the customer how a hand-off stands; call it inside a transaction.

    A conversation that only shares the hand-off of another learns nothing of who waits there, and that staff answer there.
    """
    is_shared = conversation.pk != handoff.conversation_id
    language = _card_language(handoff, conversation)
    place = (conversation.state or {}).get("place") or {}
    staff = store_of_staff(handoff.branch_id or place.get("store"))
    payload: dict[str, Any] = {"number": handoff.number, "state": str(handoff.state), "lang": language}
    if handoff.is_over:
        payload["outcome"] = handoff.outcome
        payload["message"] = end_said(
            handoff.outcome,
            handoff.contact,
            staff,
            language,
            was_answered=handoff.first_reply_at is not None and not is_shared,
            is_left=runs_left(conversation.pk).exists(),
        )
    else:
        if handoff.claimed_by_id is None:
            payload |= queue_place(handoff, waiting_before(handoff), language)
            payload["message"] = say("staff_page", language)
        else:
            payload["message"] = taken_said(handoff.contact, language)
        if is_late:
            payload["message"] = late_said(staff, language)
        if is_shared:
            payload["message"] = elsewhere_said(staff, language)
        payload["rows"] = waiting_rows(
            handoff.reason, staff, timezone.localdate(), language, is_read=not is_shared
        )
        if not is_shared:
            payload["contact"] = hearing_row(_address_shown(handoff), language)
        # Who is identified is written to by the address on file.
        payload["asks_email"] = not (is_shared or handoff.patient_id or handoff.contact_email)
    events.event_append(
        conversation_id=conversation.pk,
        type="handoff.updated",
        payload=payload,
        run=run,
        patient=handoff.patient,
        used=run is not None,
    )


def oldest_waiting(conversation_id: UUID) -> Handoff | None:
    """Return the open hand-off of a conversation that staff take first."""
    return handoffs_waiting().filter(conversation_id=conversation_id).first()


def number_known(handoff: Handoff) -> str:
    """Return the number that the customer knows: of a refill, that of the request."""
    request = RefillRequest.objects.filter(handoff=handoff).values_list("number", flat=True).first()
    return request or handoff.number


def queue_place(handoff: Handoff, before: int, language: Language | None = None) -> QueuePlace:
    """Return the number of an open hand-off, and in words how many are before it."""
    return {"number": handoff.number, "queue": queue_words(before, language or as_language(handoff.language))}


def queue_places(conversation_id: UUID) -> list[QueuePlace]:
    """Return where the unclaimed hand-offs of a conversation stand now."""
    languages = cards_languages(conversation_id)
    waiting = handoffs_unclaimed().filter(handoffs_about(conversation_id))
    return [queue_place(row, waiting_before(row), languages.get(row.number)) for row in waiting]


def run_hand_over(
    run: Run,
    *,
    reason: str,
    run_key: str,
    earlier: QuerySet[Handoff],
    patient: Patient | None,
    address_key: str,
    summary: str = "",
) -> HandedOver | None:
    """Hand a run's matter over to a person, unless one of the `earlier` hand-offs is still open: then that is it.

    None, and nothing opened, when the run is no longer this process's. Raises ConversationGone.
    """
    with transaction.atomic():
        is_open = earlier.filter(closed_at=None).exclude(run_key=run_key)
        if found := is_open.order_by("-pk").first():
            return HandedOver(found, again=True) if run_still_ours(run) else None
        # Hand-offs are locked before their conversation, as everywhere: the other order deadlocks.
        try:
            opened = hand_over(
                run.conversation,
                reason=reason,
                run_key=run_key,
                run=run,
                patient=patient,
                summary=summary,
                address_key=address_key,
            )
        except HandoffLimited:
            return HandedOver(None)
        if not run_still_ours(run):
            transaction.set_rollback(True)
            return None
        return HandedOver(opened)


def contacts_leave(conversation_id: UUID, contacts: Sequence[str], patient: Patient | None) -> None:
    """Keep addresses and phones of a message on the hand-offs that wait for its writer; whoever has claimed one reads them.

    Call it inside a transaction that has not locked the conversation yet.
    """
    rows = Handoff.objects.waiting().filter(
        Q(patient=None) | Q(patient=patient), conversation_id=conversation_id
    )
    for handoff in rows.order_by("pk").select_for_update(of=("self",)):
        left = [one for one in handoff.contacts_left if one not in contacts]
        handoff.contacts_left = [*left, *contacts][-MOST_CONTACTS:]
        handoff.save(update_fields=["contacts_left"])


# -- What staff are told -------------------------------------------------------------------------------------
def _package(conversation: Conversation, patient: Patient | None) -> dict[str, Any]:
    """Return which messages ask, and how it was proven who writes them: numbers and codes, no words."""
    said = events.messages_until(conversation.pk, 2**31 - 1, 4 * _ASKED)
    pk = patient.pk if patient else None
    asked = [one.seq for one in said if one.payload["role"] == "user" and events.messages_for([one], pk)]
    proven = patient is not None and conversation.verified_at is not None
    return {
        "asked": asked[-_ASKED:],
        "verified": {
            "how": settings.CHAT_IDENTITY if proven else "none",
            "at": conversation.verified_at.isoformat() if proven and conversation.verified_at else None,
        },
    }


def _state_for(conversation: Conversation, patient: Patient | None) -> ConversationState:
    """Return the conversation's state, empty when it belongs to another patient."""
    state: ConversationState = conversation.state
    return state if state.get("patient") in (None, patient.pk if patient else None) else {}


def _medication(state: ConversationState) -> Medication | None:
    """Return the one medicine that is talked about."""
    ids = {one["id"] for one in state.get("focus", ()) if "id" in one}
    return Medication.objects.filter(pk=ids.pop()).first() if len(ids) == 1 else None


def _branch(state: ConversationState) -> Store | None:
    """Return the branch that is talked about."""
    store = (state.get("place") or {}).get("store")
    return Store.objects.filter(pk=store, is_active=True).first() if store else None


def _address_shown(handoff: Handoff) -> str:
    address = handoff.patient.email if handoff.patient else handoff.contact_email
    return email_masked(address) if address else ""
