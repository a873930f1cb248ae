"""Store how customers rate an answer."""

from typing import Literal
from uuid import UUID

from django.db import transaction

from agent.conversation import events
from agent.models import Event, Feedback
from agent.safety.privacy.storing import storable
from pharmacy_site.lib.text import clean
from prescriptions.masking import masked


def feedback_save(*, conversation_id: UUID, key: str, seq: int, rating: Literal[1, -1], comment: str) -> bool:
    """Store the rating of an answer, replacing an earlier one; False when `seq` is no answer of this conversation.

    What looks personal in the comment is masked. Raises ConversationGone.
    """
    with transaction.atomic():
        events.conversation_locked(conversation_id, key)
        answers = Event.objects.filter(
            conversation_id=conversation_id,
            type="message.completed",
            payload__role__in=["assistant", "staff"],
        )
        if not answers.filter(seq=seq).exists():
            return False
        text = storable(masked(clean(comment), challenge_open=False).text).text
        Feedback.objects.update_or_create(
            conversation_id=conversation_id, seq=seq, defaults={"rating": rating, "comment": text}
        )
    return True
