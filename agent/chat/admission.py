"""Who may open a socket: the Origin allow-list and the limits per address."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port, validate_host

from pharmacy_site.lib.counters import counters

log = logging.getLogger(__name__)
_LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}


def _header(scope: Mapping[str, Any], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def origin_allowed(scope: Mapping[str, Any]) -> bool:
    """Whether the page that opens this socket is ours or on the allow-list; a missing Origin is refused."""
    origins, hosts = _header(scope, b"origin"), _header(scope, b"host")
    if len(origins) != 1:
        return False
    if origins[0].lower() in {allowed.lower().rstrip("/") for allowed in settings.CHAT_ALLOWED_ORIGINS}:
        return True
    return len(hosts) == 1 and origin_is_ours(origins[0], hosts[0])


def origin_is_ours(origin: str, host: str) -> bool:
    """Whether an Origin header names the very site that was asked for by this Host header."""
    origin = origin.lower()
    try:
        parts = urlsplit(origin)
        scheme, domain, port = parts.scheme, parts.hostname, parts.port
    except ValueError:
        return False
    if scheme not in ("http", "https") or not domain:
        return False
    domain = f"[{domain}]" if ":" in domain else domain
    if origin not in (f"{scheme}://{domain}", f"{scheme}://{domain}:{port}"):
        return False  # user names, paths, and brackets with something behind them
    host, host_port = split_domain_port(host.lower())
    if not host or not validate_host(host, settings.ALLOWED_HOSTS):
        return False
    default = "443" if scheme == "https" else "80"
    same_host = domain == host or (settings.DEBUG and {domain, host} <= _LOOPBACK)
    return same_host and str(port or default) == (host_port or default)


def address_of(scope: Mapping[str, Any]) -> str:
    """A socket's network address (of IPv6: its /64); behind proxies, the one that the outermost trusted proxy saw."""
    client = scope.get("client") or ("unknown",)
    return _seen(str(client[0]), _header(scope, b"x-forwarded-for"))


def request_address(request: HttpRequest) -> str:
    """A request's network address: the same as that of a socket of the same client."""
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR")
    return _seen(request.META.get("REMOTE_ADDR") or "unknown", [forwarded] if forwarded else [])


def _seen(client: str, forwarded: Sequence[str]) -> str:
    if settings.TRUSTED_PROXIES:
        hops = [hop.strip() for value in forwarded for hop in value.split(",")]
        if len(hops) >= settings.TRUSTED_PROXIES:
            client = hops[-settings.TRUSTED_PROXIES][:64]
    return _network(client)


def _network(client: str) -> str:
    """The address as limits count it: of IPv6 the first half, since whoever has one has all behind it."""
    try:
        address = ip_address(client)
    except ValueError:
        return client
    if not isinstance(address, IPv6Address):
        return client
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ip_network((int(address), 64), strict=False))


async def socket_admitted(address: str) -> bool:
    """Counts a new socket of an address; False when it has opened too many within a minute."""
    counted = sync_to_async(minute_admits, thread_sensitive=False)("sockets", address)
    try:
        return await asyncio.wait_for(counted, 1)
    except TimeoutError:  # a cache that hangs is as good as none
        return True


def minute_admits(what: str, who: str, *, most: int | None = None) -> bool:
    """Counts what somebody asks for ("sockets", "tickets", "codes"); False beyond `most` within a minute.

    Without a limit of its own that of new sockets holds.
    """
    key = f"{what}:{who}"
    try:
        counters().add(key, 0, 60)
        return bool(counters().incr(key) <= (most or settings.CHAT_SOCKETS_PER_MINUTE))
    except ValueError:  # the minute ended between the two calls
        return True
    except (
        Exception
    ) as error:  # any cache client's error: the count of open sockets still bounds this process
        log.warning("cache unavailable: %s", type(error).__name__)
        return True
