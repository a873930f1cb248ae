"""Write to customers by e-mail that there is news of their hand-off: no medicine, nothing of what was said."""

from django.conf import settings

from agent.conversation.reply_links import reply_link
from agent.models import Conversation
from prescriptions.models import Handoff, Notification
from prescriptions.notifications import notification_enqueue


def reply_mail(handoff: Handoff, conversation: Conversation, kind: Notification.Kind, *, after: int) -> None:
    """Enqueue an e-mail of this kind to the address on file, or the one that was left; once until they write again.

    `after` is the number of the customer's last message. It is sent a little later: who writes meanwhile is here. None is
    sent for a conversation that only shares the hand-off: its link would open what somebody else wrote.
    """
    address = handoff.patient.email if handoff.patient else handoff.contact_email
    if not address or conversation.pk != handoff.conversation_id:
        return
    notification_enqueue(
        key=f"{kind}:{handoff.number}:{conversation.pk.hex[:12]}:{after}",
        kind=kind,
        recipient=address,
        language=handoff.language,
        context={"number": handoff.number, "link": reply_link(conversation, handoff.language)},
        conversation_id=conversation.pk,
        delay=settings.REPLY_MAIL_DELAY,
    )
