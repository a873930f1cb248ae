"""Signed links of e-mails: whoever holds one may open the one conversation in which staff have replied, for a week."""

from datetime import timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.core import signing
from django.urls import reverse

from agent.models import Conversation

_SALT: Final = "chat.reply"
LINK_TIME: Final = timedelta(days=7)


def reply_link(conversation: Conversation, language: str) -> str:
    """Return the address of the page that opens a conversation; what a patient was told there needs a new proof."""
    token = signing.dumps(conversation.pk.hex, salt=_SALT)
    # Behind the "#", it reaches no server, log or referrer.
    return f"{settings.SITE_URL}{reverse('reply')}?lang={language}#{token}"


def reply_link_read(token: str) -> UUID | None:
    """Return the conversation that a link opens, or None when it is none of ours, or too old."""
    try:
        return UUID(hex=signing.loads(token, salt=_SALT, max_age=LINK_TIME))
    except signing.BadSignature:
        return None
