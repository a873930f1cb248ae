"""Limit how many hand-offs are opened from an address and in a conversation, so that a flood leaves staff their queue."""

from datetime import timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.utils import timezone

from prescriptions.errors import HandoffLimited
from prescriptions.models import Handoff, Patient

_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)


def handoff_admit(
    conversation_id: UUID | None, address_key: str, *, urgent: bool, patient: Patient | None = None
) -> None:
    """Raise HandoffLimited when a conversation, a patient or an address has opened too many; refills do not count.

    A patient's are those of a day. An urgent one is never too many of its conversation or patient, and three times as many
    are admitted from an address. Call it in the transaction that opens the hand-off, with the patient's row locked: until its
    end others from there wait, so that nobody counts before another's row is there.
    """
    if patient is not None and not urgent:
        theirs = Handoff.objects.filter(
            patient=patient, is_urgent=False, created_at__gt=timezone.now() - _DAY
        )
        if theirs.exclude(reason=Handoff.Reason.REFILL).count() >= settings.HANDOFFS_PER_CONTACT:
            raise HandoffLimited
    if conversation_id is not None and not urgent:
        wait_alone(f"handoffs of conversation {conversation_id}")
        here = Handoff.objects.waiting().filter(conversation_id=conversation_id)
        if here.exclude(reason=Handoff.Reason.REFILL).count() >= settings.HANDOFFS_PER_CONVERSATION:
            raise HandoffLimited
    if address_key:
        wait_alone(f"handoffs of address {address_key}")
        most = settings.HANDOFFS_PER_ADDRESS * (3 if urgent else 1)
        since = timezone.now() - _HOUR
        if Handoff.objects.filter(address_key=address_key, created_at__gt=since).count() >= most:
            raise HandoffLimited


def wait_alone(what: str) -> None:
    """Wait for all transactions that named the same; SQLite has only one writer at a time anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [what])
