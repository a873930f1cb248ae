"""Whose identity is proven in a conversation; how it is proven is `prescriptions/identity.py`'s matter."""

from datetime import datetime
from uuid import UUID

from django.utils import timezone

from agent.models import Conversation
from prescriptions.models import Patient


def identity_begin(conversation_id: UUID, patient: Patient) -> datetime:
    """Record that this patient's identity was proven just now, and return when that was."""
    now = timezone.now()
    Conversation.objects.filter(pk=conversation_id).update(patient=patient, verified_at=now, active_at=now)
    return now


def identity_end(conversation_id: UUID) -> None:
    """Forget whose identity was proven: the next question about a patient needs a new proof."""
    Conversation.objects.filter(pk=conversation_id).update(patient=None, verified_at=None)
