"""The chat on other websites: which sites may frame it, and the one-time tickets into a frame and out of it.

A frame's page fetches a ticket from its own origin and sends it with its hello. On a site that is not ours nobody is
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
from agent.conversation.reply_links import reply_link_read
from agent.models import ChatSite, Conversation, Run, Ticket
from pharmacy_site.lib.counters import use_admitted
from pharmacy_site.lib.errors import PharmacyError

TICKET_SECONDS: Final = 30
LOCAL: Final = frozenset({"localhost", "127.0.0.1"})
_ORIGIN: Final = re.compile(r"(https?)://([^/?#@:\\\[\]]+)(?::([0-9]{1,5}))?/?", re.IGNORECASE)
_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
# With such a last label, browsers read the host as an IPv4 address.
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_DEFAULT_PORT: Final = {"https": "443", "http": "80"}


class TicketRefused(PharmacyError):
    """The frame or window may not open that conversation, or there is no such site."""


class TicketExpired(TicketRefused):
    """The ticket was used, is too old, or belongs to another site or address; a frame may try with a new one."""


class TicketsLimited(RateLimited):
    """The address requested too many tickets within a minute."""


class OriginRefused(PharmacyError):
    """A text is not an origin that may frame the chat; `reason` is "form", "scheme", "host" or "port"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Entrance:
    """The conversation that a hello opens, the secret that opens it from now on, and where customers are identified.

    `revoked_key` is the hash of the secret that opened it in the frame which it has left.
    """

    conversation: Conversation
    secret: str
    identity_elsewhere: bool
    revoked_key: str = ""


# -- Origins ------------------------------------------------------------------------------------------------
def origin_clean(text: str) -> str:
    """Return an origin as browsers write it: lower case, international names in ASCII, no default port.

    Raises OriginRefused for anything but a whole origin with https; localhost may have http.
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
    """Return a host in lower case and ASCII. Raises OriginRefused."""
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
    valid = len(labels) >= 2 and len(host) <= 253 and all(_LABEL.fullmatch(label) for label in labels)
    if not same or not valid or _NUMBER.fullmatch(labels[-1]):
        raise OriginRefused("host")
    return host


def frame_ancestors(site: ChatSite) -> list[str]:
    """Return the sources of `frame-ancestors` for a site: only valid origins, whatever the row holds."""
    return [origin for origin in site.origins if _is_clean(origin)] or ["'none'"]


def _is_clean(origin: object) -> bool:
    try:
        return isinstance(origin, str) and origin_clean(origin) == origin
    except OriginRefused:
        return False


def site_find(public_id: str) -> ChatSite | None:
    """Return the active site with this public id."""
    return ChatSite.objects.filter(public_id=public_id, is_active=True).first()


# -- Into a frame -------------------------------------------------------------------------------------------
def ticket_issue(site: ChatSite, address: str) -> str:
    """Issue a ticket for the next hello of this site's frame, valid once and from this address. Raises TicketsLimited."""
    return _issue(address, site=site)


def site_admit(public_id: str, ticket: str, address: str) -> ChatSite:
    """Use up a ticket and return the site that it was issued for. Raises TicketRefused and TicketExpired."""
    site = site_find(public_id)
    if site is None:
        raise TicketRefused
    if not _valid_tickets(ticket, address).filter(site=site).delete()[0]:
        raise TicketExpired
    return site


def may_resume(conversation: Conversation, site: ChatSite | None) -> bool:
    """Return whether a conversation was begun here: in this site's frame, or (None) on our own pages."""
    return conversation.site_id == (site.pk if site else None)


# -- Out of a frame -----------------------------------------------------------------------------------------
def handover_issue(conversation_id: UUID, key: str, address: str) -> str:
    """Return the address of our own page with a ticket that moves the conversation there.

    `key` is the hash of the secret that the caller holds. Raises ConversationGone, TicketRefused for a conversation that
    is in no frame, and TicketsLimited.
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
    """Move a conversation out of its frame and return it with a new secret; the old one opens nothing any more.

    A question that waited for the customer's identity is taken up by a run of its own. Raises TicketExpired.
    """
    with transaction.atomic():
        tickets = _valid_tickets(ticket, address).filter(site=None)
        pk = tickets.values_list("conversation_id", flat=True).first()
        if pk is None or not tickets.delete()[0]:
            raise TicketExpired
        return _moved(pk, address)


def reply_take(token: str, address: str) -> Entrance:
    """Open the conversation of a link that an e-mail brought, as `handover_take` does. Raises TicketExpired and TicketsLimited."""
    _limit(address)
    pk = reply_link_read(token)
    try:
        with transaction.atomic():
            if pk is None:
                raise TicketExpired
            return _moved(events.conversation_locked(pk).pk, address)
    except events.ConversationGone:
        raise TicketExpired from None


def _moved(pk: UUID, address: str) -> Entrance:
    """Give a conversation a new secret, on our own page and with nobody identified; call it inside a transaction."""
    secret = secrets.token_urlsafe(32)
    revoked_key = Conversation.objects.values_list("secret_hash", flat=True).get(pk=pk)
    Conversation.objects.filter(pk=pk).update(
        secret_hash=secret_hash(secret), site=None, patient=None, verified_at=None
    )
    conversation = Conversation.objects.get(pk=pk)
    if conversation.state.get("waiting"):
        Run.objects.create(
            conversation=conversation,
            kind=Run.Kind.RESUME,
            input_seq=conversation.seq_head,
            input={"address": address_key(address)},
        )
    return Entrance(conversation, secret, identity_elsewhere=False, revoked_key=revoked_key)


# -- Opening a conversation ---------------------------------------------------------------------------------
def is_beginning(*, site: str | None, ticket: str | None, secret: str | None) -> bool:
    """Return whether a hello with these begins a new conversation, if it is admitted."""
    return secret is None and not (ticket and not site)


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
        # A one-time ticket has no colon, a signed link has.
        return reply_take(ticket, address) if ":" in ticket else handover_take(ticket, address)
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
    """Delete the tickets that have expired and return how many there were."""
    return Ticket.objects.filter(expires_at__lte=timezone.now()).delete()[0]


def _issue(address: str, *, site: ChatSite | None = None, conversation: Conversation | None = None) -> str:
    _limit(address)
    ticket = secrets.token_urlsafe(32)
    Ticket.objects.create(
        ticket_hash=secret_hash(ticket),
        site=site,
        conversation=conversation,
        address_key=address_key(address),
        expires_at=timezone.now() + timedelta(seconds=TICKET_SECONDS),
    )
    return ticket


def _limit(address: str) -> None:
    if not use_admitted(f"tickets:{address}", limit=settings.CHAT_SOCKETS_PER_MINUTE):
        raise TicketsLimited(60)


def _valid_tickets(ticket: str, address: str) -> QuerySet[Ticket]:
    """Return the row of a ticket, if it may be used now and from this address."""
    return Ticket.objects.filter(
        ticket_hash=secret_hash(ticket), address_key=address_key(address), expires_at__gt=timezone.now()
    )
