"""What staff do in a conversation: write to the customer, and give the conversation back to the assistant.

The hand-off's row is locked before the conversation's, and the audit line is written last, as everywhere.
"""

from typing import Final
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from agent.conversation import events
from agent.conversation.modes import Mode, mode_set
from agent.conversation.records import MessagePayload
from agent.conversation.reply_mail import reply_mail
from agent.conversation.runs import runs_reopen
from agent.models import Conversation
from pharmacy_site.lib.text import clean, language_of
from prescriptions.audit import Access
from prescriptions.errors import HandoffRefused, UnseenMessages
from prescriptions.handoffs.moves import seen_here
from prescriptions.handoffs.services import handoff_given_back, handoff_held, handoff_replied
from prescriptions.models import Handoff, Notification
from prescriptions.roles import roles_of
from prescriptions.staff_roles import LADDER

_NO_CONVERSATION: Final = "no_conversation"


def staff_reply(
    handoff: Handoff, user: User, text: str, *, seen_seq: int, access: Access, seen_in: UUID | None = None
) -> int:
    """Write what a member of staff says to the customer, and return the message's number (`CONVERSATION_WRITER`).

    From then on the assistant is silent. `seen_seq` is the number of the last message that the writer has read, and
    `seen_in` the conversation in which they read it: of another one it counts for nothing (`seen_here`). Raises HandoffTaken, HandoffRefused ("text": none, or too long; "no_conversation": it was deleted), and UnseenMessages when
    the customer has written since; nothing is written then.
    """
    said = clean(text)
    if not said or len(said) > settings.CHAT_TEXT_LIMIT:
        raise HandoffRefused("text")
    with transaction.atomic():
        row = handoff_held(handoff, user)
        conversation = _conversation_of(row)
        last = _last_of_customer(conversation.pk, row.patient_id)
        if last > seen_here(row, seen_seq, seen_in):
            raise UnseenMessages(last, conversation.pk)
        payload: MessagePayload = {
            "role": "staff",
            "text": said,
            "lang": language_of(said) or row.language,
            "cards": [],
            "suggestions": [],
            "author": user.get_full_name(),
            "author_role": _role_of(user),
            "handoff": row.number,
        }
        mode_set(conversation, Mode.HUMAN)
        written = events.event_append(
            conversation_id=conversation.pk,
            type="message.completed",
            payload=payload,
            patient=row.patient,
            # What staff do does not extend the time for which the customer's identity holds.
            used=False,
        )
        reply_mail(row, conversation, Notification.Kind.STAFF_REPLIED, after=last)
        handoff_replied(row, user, access=access)
    return written["seq"]


def conversation_give_back(handoff: Handoff, user: User, access: Access) -> None:
    """Let the assistant answer again in the conversation of a hand-off that stays open (`CONVERSATION_GIVER`).

    It also answers what was written after the last word of staff. Raises HandoffTaken and HandoffRefused.
    """
    with transaction.atomic():
        row = handoff_held(handoff, user)
        conversation = _conversation_of(row)
        mode_set(conversation, Mode.BOT)
        runs_reopen(conversation.pk)
        handoff_given_back(row, user, access=access)


def _conversation_of(handoff: Handoff) -> Conversation:
    try:
        if handoff.conversation_id:
            return events.conversation_locked(handoff.conversation_id)
    except events.ConversationGone:
        pass
    raise HandoffRefused(_NO_CONVERSATION)


def _last_of_customer(conversation_id: UUID, patient_id: int | None) -> int:
    """Return the number of the last message of the customer that staff may read for this patient; 0 for none."""
    found = events.messages_until(conversation_id, 2**31 - 1, settings.CHAT_MESSAGES_PER_DAY)
    readable = (
        message
        for message in reversed(found)
        if message.payload["role"] == "user" and events.messages_for([message], patient_id)
    )
    return next((message.seq for message in readable), 0)


def _role_of(user: User) -> str:
    roles = roles_of(user)
    return next((role for role in reversed(LADDER) if role in roles), "")
