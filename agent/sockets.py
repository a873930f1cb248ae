"""Who may open a socket: the Origin allow-list and the limits per address."""

import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.cache import cache
from django.http.request import split_domain_port, validate_host

log = logging.getLogger(__name__)
_LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}


def _header(scope: Mapping[str, Any], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def origin_allowed(scope: Mapping[str, Any]) -> bool:
    """Whether the page that opens this socket is ours or on the allow-list; a missing Origin is refused."""
    origins = _header(scope, b"origin")
    if len(origins) != 1:
        return False
    origin = origins[0].lower()
    if origin in {allowed.lower().rstrip("/") for allowed in settings.CHAT_ALLOWED_ORIGINS}:
        return True
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
    hosts = _header(scope, b"host")
    if len(hosts) != 1:
        return False
    host, host_port = split_domain_port(hosts[0].lower())
    if not host or not validate_host(host, settings.ALLOWED_HOSTS):
        return False
    default = "443" if scheme == "https" else "80"
    same_host = domain == host or (settings.DEBUG and {domain, host} <= _LOOPBACK)
    return same_host and str(port or default) == (host_port or default)


def address_of(scope: Mapping[str, Any]) -> str:
    """The client's network address; behind proxies, the one that the outermost trusted proxy saw."""
    if settings.TRUSTED_PROXIES:
        hops = [hop.strip() for value in _header(scope, b"x-forwarded-for") for hop in value.split(",")]
        if len(hops) >= settings.TRUSTED_PROXIES:
            return hops[-settings.TRUSTED_PROXIES][:64]
    client = scope.get("client") or ("unknown",)
    return str(client[0])


async def socket_admitted(address: str) -> bool:
    """Counts a new socket of an address; False when it has opened too many within a minute."""
    return await sync_to_async(_admitted, thread_sensitive=False)(address)


def _admitted(address: str) -> bool:
    key = f"sockets:{address}"
    try:
        cache.add(key, 0, 60)
        return bool(cache.incr(key) <= settings.CHAT_SOCKETS_PER_MINUTE)
    except ValueError:  # the minute ended between the two calls
        return True
    except (
        Exception
    ) as error:  # any cache client's error: the count of open sockets still bounds this process
        log.warning("cache unavailable: %s", type(error).__name__)
        return True
