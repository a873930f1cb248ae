"""Who may open a socket: the Origin allow-list and the limits per address."""

import asyncio
from collections.abc import Mapping
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings

from pharmacy_site.lib.counters import use_admitted
from pharmacy_site.lib.network import client_address, origin_is_ours


def origin_allowed(scope: Mapping[str, Any]) -> bool:
    """Return whether the page that opens this socket is ours or on the allow-list; a missing Origin is refused."""
    origins, hosts = _header(scope, b"origin"), _header(scope, b"host")
    if len(origins) != 1:
        return False
    if origins[0].lower() in {allowed.lower().rstrip("/") for allowed in settings.CHAT_ALLOWED_ORIGINS}:
        return True
    return len(hosts) == 1 and origin_is_ours(origins[0], hosts[0])


def address_of(scope: Mapping[str, Any]) -> str:
    """Return a socket's network address."""
    peer = scope.get("client") or ("unknown",)
    return client_address(str(peer[0]), _header(scope, b"x-forwarded-for"))


async def socket_admitted(address: str) -> bool:
    """Count a new socket of an address and return whether it has not opened too many within a minute."""
    count = sync_to_async(use_admitted, thread_sensitive=False)
    try:
        return await asyncio.wait_for(count(f"sockets:{address}", limit=settings.CHAT_SOCKETS_PER_MINUTE), 1)
    except TimeoutError:
        # A cache that hangs is as good as none; the count of open sockets still bounds this process.
        return True


def _header(scope: Mapping[str, Any], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]
