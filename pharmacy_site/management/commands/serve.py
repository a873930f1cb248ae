"""`manage.py serve`: serve the site with uvicorn, with the limits that a chat on the open internet needs."""

import asyncio
from argparse import ArgumentParser
from typing import Any, Final

import h11
import uvicorn
from django.conf import settings
from django.core.management.base import BaseCommand
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

LARGEST_MESSAGE: Final = 1024 * 1024
REQUEST_SECONDS: Final = 10.0
# Of a client that was told that its WebSocket is closed: so many frames may have been on their way.
HEARD_OUT: Final = 100
LAST_SECONDS: Final = 1.0
UNREADABLE: Final = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class RequestTimeoutProtocol(H11Protocol):
    """HTTP that closes a connection on which no whole request arrives in time."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock."""
        super().connection_made(transport)
        self._timeout: asyncio.TimerHandle | None = None
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Stop the clock once a request is whole."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        if self._timeout:
            self._timeout.cancel()
        super().connection_lost(exc)

    def _watch(self) -> None:
        # A WebSocket has a protocol of its own, with timeouts of its own.
        upgraded = self.transport.get_protocol() is not self
        if upgraded or self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            if self._timeout:
                self._timeout.cancel()
            self._timeout = None
        elif self._timeout is None:
            self._timeout = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)


class ClosingProtocol(WebSocketsSansIOProtocol):
    """WebSocket that refuses a handshake with a body, and drops a client which goes on sending after it was closed.

    Uvicorn would leave the first without an answer, open and uncounted for as long as the client likes; of the second it
    would read and discard what comes for ten seconds, at the cost of all other connections.
    """

    _behind_close = 0

    def data_received(self, data: bytes) -> None:
        """Parse received bytes; answer 400 and close if they are no valid handshake."""
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            self.transport.write(UNREADABLE)
            self.transport.close()

    def send_receive_event_to_app(self) -> None:
        """Hand a message on, or count it when the WebSocket is closed."""
        super().send_receive_event_to_app()
        if not self.close_sent:
            return
        self._behind_close += 1
        if self._behind_close == HEARD_OUT:
            # What it sends waits on its own side, and it can still read why it was closed.
            self.transport.pause_reading()
            self.loop.call_later(LAST_SECONDS, self.transport.abort)


class Command(BaseCommand):
    """Serves until SIGTERM or Ctrl-C; answers that are being made are finished first."""

    help = "Serve the site. Several worker processes need PostgreSQL and Redis."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--workers", type=int, default=1)

    def handle(self, *args: Any, host: str, port: int, workers: int, **options: Any) -> None:
        uvicorn.run(
            "pharmacy_site.asgi:application",
            host=host,
            port=port,
            workers=workers,
            http=RequestTimeoutProtocol,
            ws=ClosingProtocol,
            ws_max_size=LARGEST_MESSAGE,
            # Compression would keep a window in memory for every socket.
            ws_per_message_deflate=False,
            ws_ping_interval=20,
            ws_ping_timeout=20,
            timeout_graceful_shutdown=settings.CHAT_DRAIN,
            # TRUSTED_PROXIES says which proxies are believed.
            proxy_headers=False,
            server_header=False,
            # With "auto", an error at the start would count as an application without a lifespan.
            lifespan="on",
            log_level="warning",
        )
