"""The chat on other websites: which sites may show it, and the one-time tickets into a frame and out of it.

A frame's page fetches a ticket from its own origin and offers it in its hello. On a site that is not ours nobody is
identified; a ticket of the other kind moves the conversation out of the frame, into a window of our own.
"""

import re
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from agent.conversation import events
from agent.conversation.accept import RateLimited, address_key
from agent.conversation.events import secret_hash
from agent.models import ChatSite, Conversation, Run, Ticket
from pharmacy_site.lib.counters import minute_admits
from pharmacy_site.lib.errors import PharmacyError

TICKET_SECONDS: Final = 30
LOCAL: Final = frozenset({"localhost", "127.0.0.1"})
_ORIGIN: Final = re.compile(r"(https?)://([^/?#@:\\\[\]]+)(?::([0-9]{1,5}))?/?", re.IGNORECASE)
_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")  # a last label that makes browsers read the host as IPv4
_DEFAULT_PORT: Final = {"https": "443", "http": "80"}


class TicketRefused(PharmacyError):
    """This frame or window may not open that conversation, or there is no such site."""


class TicketExpired(TicketRefused):
    """The ticket is used, too old, another site's or another address's; a frame may come with a new one."""


class TicketsLimited(RateLimited):
    """This address asked for too many tickets within a minute."""


class OriginRefused(PharmacyError):
    """A text is no origin that may frame the chat; `reason` is "form", "scheme", "host" or "port"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Entrance:
    """What a hello opens: a conversation, the secret that opens it from now on, and where people are identified."""

    conversation: Conversation
    secret: str
    identity_elsewhere: bool
    left: str = ""  # the hash of the secret that opened it in the frame it was moved out of


# -- Origins ------------------------------------------------------------------------------------------------
def origin_clean(text: str) -> str:
    """The origin as browsers write it: lower case, international names in ASCII, no default port.

    OriginRefused for anything but a whole origin with https; this machine may be named with http.
    """
    parts = _ORIGIN.fullmatch(text.strip())
    if parts is None:
        raise OriginRefused("form")
    scheme, host, port = parts[1].lower(), _host_clean(parts[2]), parts[3] or ""
    if scheme == "http" and host not in LOCAL:
        raise OriginRefused("scheme")
    if port and not 1 <= int(port) <= 65_535:
        raise OriginRefused("port")
    port = str(int(port)) if port else ""
    return f"{scheme}://{host}" if port in ("", _DEFAULT_PORT[scheme]) else f"{scheme}://{host}:{port}"


def _host_clean(text: str) -> str:
    typed = text.lower()
    try:
        host = typed.encode("idna").decode("ascii")
        # Letters that the old and the new rules for international names map differently do not come back.
        same = host.encode("ascii").decode("idna") == typed or host == typed
    except UnicodeError:
        raise OriginRefused("host") from None
    if host in LOCAL:
        return host
    labels = host.split(".")
    whole = len(labels) >= 2 and len(host) <= 253 and all(_LABEL.fullmatch(label) for label in labels)
    if not same or not whole or _NUMBER.fullmatch(labels[-1]):
        raise OriginRefused("host")
    return host


def frame_ancestors(site: ChatSite) -> list[str]:
    """The sources of `frame-ancestors` for a site; none but clean origins, whatever the row holds."""
    return [origin for origin in site.origins if _is_clean(origin)] or ["'none'"]


def _is_clean(origin: object) -> bool:
    try:
        return isinstance(origin, str) and origin_clean(origin) == origin
    except OriginRefused:
        return False


def site_find(public_id: str) -> ChatSite | None:
    """The site that may show the chat now."""
    return ChatSite.objects.filter(public_id=public_id, is_active=True).first()


# -- Into a frame -------------------------------------------------------------------------------------------
def ticket_issue(site: ChatSite, address: str) -> str:
    """A ticket for the next hello of this site's frame, good once and from this address; raises TicketsLimited."""
    return _issue(address, site=site)


def site_admit(public_id: str, ticket: str, address: str) -> ChatSite:
    """The site that a ticket was issued for; the ticket is used up. Raises TicketRefused and TicketExpired."""
    site = site_find(public_id)
    if site is None:
        raise TicketRefused
    if not _held(ticket, address).filter(site=site).delete()[0]:
        raise TicketExpired
    return site


def may_resume(conversation: Conversation, site: ChatSite | None) -> bool:
    """Whether a conversation goes on where it was begun: in this site's frame, or (None) on our own pages."""
    return conversation.site_id == (site.pk if site else None)


# -- Out of a frame -----------------------------------------------------------------------------------------
def handover_issue(conversation_id: UUID, key: str, address: str) -> str:
    """The address of our own page with a ticket by which the conversation goes on there, for the secret's holder.

    Raises ConversationGone, TicketRefused for a conversation that is in no frame, and TicketsLimited.
    """
    with transaction.atomic():
        conversation = events.conversation_locked(conversation_id, key)
        if conversation.site_id is None:
            raise TicketRefused
        Ticket.objects.filter(conversation=conversation).delete()
        ticket = _issue(address, conversation=conversation)
    # Behind the "#", a ticket reaches no server, log or referrer.
    return f"/continue/?lang={conversation.language}#{ticket}"


def handover_take(ticket: str, address: str) -> Entrance:
    """Moves a conversation out of its frame and returns it with its new secret; the old one opens nothing.

    What waited for the customer's identity is taken up by a run of its own. Raises TicketExpired.
    """
    secret = secrets.token_urlsafe(32)
    with transaction.atomic():
        held = _held(ticket, address).filter(site=None)
        found = held.values_list("conversation_id", flat=True).first()
        if found is None or not held.delete()[0]:
            raise TicketExpired
        left = Conversation.objects.values_list("secret_hash", flat=True).get(pk=found)
        Conversation.objects.filter(pk=found).update(
            secret_hash=secret_hash(secret), site=None, patient=None, verified_at=None
        )
        conversation = Conversation.objects.get(pk=found)
        if conversation.state.get("waiting"):
            Run.objects.create(
                conversation=conversation,
                kind=Run.Kind.RESUME,
                input_seq=conversation.seq_head,
                input={"address": address_key(address)},
            )
    return Entrance(conversation, secret, identity_elsewhere=False, left=left)


# -- The door -----------------------------------------------------------------------------------------------
def entrance(
    *,
    address: str,
    language: str,
    site: str | None = None,
    ticket: str | None = None,
    secret: str | None = None,
) -> Entrance:
    """Return the conversation that a hello opens: a new one, one that goes on, or one that leaves its frame by a ticket.

    `site` is the public id of the site whose frame it is, `secret` that of a conversation to go on with. Raises
    TicketRefused, TicketExpired and ConversationGone.
    """
    if ticket and not site:
        return handover_take(ticket, address)
    framed_by = site_admit(site, ticket or "", address) if site else None
    if secret is None:
        begun, new_secret = events.conversation_begin(language=language, site=framed_by)
        return Entrance(begun, new_secret, begun.identity_elsewhere)
    found = events.conversation_find(secret)
    if found is None:
        raise events.ConversationGone
    if not may_resume(found, framed_by):
        raise TicketRefused
    return Entrance(found, secret, found.identity_elsewhere)


def tickets_purge() -> int:
    """Deletes the tickets whose time is over and returns how many they were."""
    return Ticket.objects.filter(expires_at__lte=timezone.now()).delete()[0]


def _issue(address: str, *, site: ChatSite | None = None, conversation: Conversation | None = None) -> str:
    if not minute_admits(f"tickets:{address}", limit=settings.CHAT_SOCKETS_PER_MINUTE):
        raise TicketsLimited(60)
    ticket = secrets.token_urlsafe(32)
    Ticket.objects.create(
        ticket_hash=secret_hash(ticket),
        site=site,
        conversation=conversation,
        address_key=address_key(address),
        expires_at=timezone.now() + timedelta(seconds=TICKET_SECONDS),
    )
    return ticket


def _held(ticket: str, address: str) -> QuerySet[Ticket]:
    """The rows of a ticket that may be used now, from here."""
    return Ticket.objects.filter(
        ticket_hash=secret_hash(ticket), address_key=address_key(address), expires_at__gt=timezone.now()
    )
