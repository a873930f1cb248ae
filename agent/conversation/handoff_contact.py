"""Take the e-mail address at which somebody who is not identified wants to hear of their hand-off."""

from typing import Final
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from agent.conversation import events
from agent.conversation.accept import RateLimited
from agent.conversation.handoff import handoff_tell
from pharmacy_site.lib.counters import use_admitted
from pharmacy_site.lib.errors import PharmacyError
from prescriptions.models import Handoff

_PER_MINUTE: Final = 5


class ContactRefused(PharmacyError):
    """The address is none, or this conversation has no such hand-off that waits and whose customer is unknown."""


def contact_save(*, conversation_id: UUID, key: str, number: str, email: str, address: str) -> None:
    """Store the address on the hand-off, and show the customer that it is. Raises ContactRefused and RateLimited."""
    for who in (conversation_id, address):
        if not use_admitted(f"contacts:{who}", limit=_PER_MINUTE):
            raise RateLimited(60)
    email = email.strip().lower()
    try:
        validate_email(email)
    except ValidationError:
        raise ContactRefused from None
    with transaction.atomic():
        rows = Handoff.objects.waiting().filter(conversation_id=conversation_id, patient=None, number=number)
        handoff = rows.select_for_update(of=("self",)).first()
        if handoff is None:
            raise ContactRefused
        handoff.contact_email = email
        handoff.save(update_fields=["contact_email"])
        handoff_tell(handoff, events.conversation_locked(conversation_id, key))
