"""Open one hand-off for all failed verifications of a contact, however many conversations they were tried in."""

from datetime import timedelta
from typing import Final
from uuid import UUID, uuid4

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from prescriptions.audit import audit_record
from prescriptions.errors import HandoffLimited
from prescriptions.handoffs.limits import wait_alone
from prescriptions.handoffs.services import handoff_make_urgent, handoff_open
from prescriptions.models import Handoff

_FAILED_NOTE: Final = {
    "en": "Somebody could not prove who they are: every try was wrong, and whose account it is remains open. Please read the"
    " conversations and help whoever wrote there, without naming data of the account. Conversations: {conversations}.",
    "he": "מישהו לא הצליח להוכיח את זהותו: כל הניסיונות היו שגויים, ולא ידוע למי שייך החשבון. נא לקרוא את"
    " השיחות ולעזור למי שכתב בהן, בלי למסור פרטים מהחשבון. שיחות: {conversations}.",
}


def handoff_open_for_contact(
    *, contact_key: str, conversation_id: UUID, language: str, is_urgent: bool = False, address_key: str = ""
) -> Handoff:
    """Return the one open hand-off of failed verifications of this contact, with this conversation among its own.

    Whoever guesses in a hundred conversations is one case for staff (safety.md T4, C4). Two contacts of one account are two
    cases, as those of two accounts are: its number, its card and its limit would else tell whoever tries both that they
    belong together. Call it before a conversation is locked. Raises HandoffLimited, also when a contact had too many in a day.
    """
    prefix = f"identity:{contact_key}:"
    with transaction.atomic():
        # Else two simultaneous calls would find none, and open one each.
        wait_alone(f"failed identity {contact_key}")
        cases = Handoff.objects.filter(run_key__startswith=prefix)
        handoff = cases.select_for_update(of=("self",)).filter(closed_at=None).order_by("-pk").first()
        if handoff is None:
            day = cases.filter(created_at__gt=timezone.now() - timedelta(days=1))
            if not is_urgent and day.count() >= settings.HANDOFFS_PER_CONTACT:
                raise HandoffLimited
            opened = handoff_open(
                conversation_id=conversation_id,
                reason=Handoff.Reason.IDENTITY_FAILED,
                run_key=f"{prefix}{uuid4().hex[:16]}",
                language=language,
                is_urgent=is_urgent,
                address_key=address_key,
            )
            handoff = Handoff.objects.select_for_update(of=("self",)).get(pk=opened.pk)
        if is_urgent:
            handoff_make_urgent(handoff)
        about = handoff.package.get("conversations", [])
        if str(conversation_id) in about:
            return handoff
        about = [*about, str(conversation_id)]
        ids = ", ".join(one[:8] for one in about)
        notes = {language: note.format(conversations=ids) for language, note in _FAILED_NOTE.items()}
        handoff.package = {
            # Of a failed identity nothing but what was typed, and that is in the conversations.
            "request": {"reason": handoff.reason, "language": handoff.language},
            "contact": {"role": handoff.contact},
            "conversations": about,
            "note": notes,
        }
        handoff.summary = notes[handoff.language]
        handoff.save(update_fields=["package", "summary"])
        audit_record(
            who=f"chat:{conversation_id}",
            what="handoff_joined",
            where="chat",
            why=handoff.reason,
            detail={"handoff": handoff.number},
        )
    return handoff
