"""Stub until the embedding is merged."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from agent import events, frames
from agent.models import Conversation
from pharmacy_site.lib.errors import PharmacyError


class TicketRefused(PharmacyError):
    """x"""


@dataclass(frozen=True)
class Entrance:
    conversation: Conversation
    secret: str
    identity_elsewhere: bool


def entrance(frame: Mapping[str, Any], address: str, *, language: str) -> Entrance:
    secret = frames.short(frame, "conversation")
    if secret is None:
        conversation, secret = events.conversation_begin(language=language)
    else:
        found = events.conversation_find(secret)
        if found is None:
            raise events.ConversationGone
        conversation = found
    return Entrance(conversation, secret, identity_elsewhere=False)


def handover_issue(conversation_id: UUID, key: str, address: str) -> str:
    raise TicketRefused
