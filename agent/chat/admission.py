"""Who may open a socket and begin a conversation, and how much a socket may send: the Origin allow-list and the limits."""

import asyncio
import json
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from asgiref.sync import sync_to_async
from django.conf import settings

from pharmacy_site.lib.counters import seconds_refused, use_admitted
from pharmacy_site.lib.network import client_address, origin_is_ours

_BURST_SECONDS: Final = 3
_HOUR: Final = 3600


class FrameAllowance:
    """How many frames a socket may still send: so many a second, and unused ones of three seconds for a burst."""

    def __init__(self) -> None:
        self._left = float(self._most)
        self._at = time.monotonic()

    @property
    def _most(self) -> int:
        return settings.CHAT_FRAMES_PER_SECOND * _BURST_SECONDS

    def take(self) -> bool:
        """Count one frame and return whether it is within the allowance."""
        now = time.monotonic()
        self._left = min(self._most, self._left + (now - self._at) * settings.CHAT_FRAMES_PER_SECOND)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


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


async def conversation_refused(address: str) -> int:
    """Count a new conversation of an address and return 0, or the seconds until it may begin another one."""
    count = sync_to_async(seconds_refused, thread_sensitive=False)
    try:
        counted = count(f"conversations:{address}", limit=settings.CHAT_CONVERSATIONS_PER_HOUR, seconds=_HOUR)
        return await asyncio.wait_for(counted, 1)
    except TimeoutError:
        return 0


def handshake_refusal(status: int, detail: str, retry_after: int | None) -> list[dict[str, Any]]:
    """Return the ASGI messages that answer a handshake with a status and a problem document (RFC 9457).

    `detail` lacks its end when the client may come back: the seconds until then follow.
    """
    headers = [(b"content-type", b"application/problem+json"), (b"cache-control", b"no-store")]
    if retry_after is not None:
        headers.append((b"retry-after", str(retry_after).encode()))
        detail = f"{detail} in {retry_after} seconds."
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    return [
        {"type": "websocket.http.response.start", "status": status, "headers": headers},
        {"type": "websocket.http.response.body", "body": json.dumps(body).encode()},
    ]


def _header(scope: Mapping[str, Any], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]
