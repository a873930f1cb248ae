"""`manage.py serve`: the site under uvicorn, with the limits that a chat on the open internet needs."""

import asyncio
from argparse import ArgumentParser
from typing import Any, Final

import h11
import uvicorn
from django.conf import settings
from django.core.management.base import BaseCommand
from uvicorn.protocols.http.h11_impl import H11Protocol

LARGEST_FRAME: Final = 1024 * 1024
FIRST_BYTES: Final = 10.0  # seconds


class ImpatientProtocol(H11Protocol):
    """HTTP that hangs up on a connection which sends no request."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts the clock."""
        super().connection_made(transport)
        self._silence: asyncio.TimerHandle | None = None
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Stops it once a request is whole."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops it as well."""
        if self._silence:
            self._silence.cancel()
        super().connection_lost(exc)

    def _watch(self) -> None:
        handed_on = self.transport.get_protocol() is not self  # a WebSocket is nobody's silence
        if handed_on or self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            if self._silence:
                self._silence.cancel()
            self._silence = None
        elif self._silence is None:
            self._silence = self.loop.call_later(FIRST_BYTES, self.transport.abort)


class Command(BaseCommand):
    """Serves until SIGTERM or Ctrl-C; then answers that are being made are finished first."""

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
            http=ImpatientProtocol,
            ws_max_size=LARGEST_FRAME,
            ws_per_message_deflate=False,  # it keeps a window in memory for every socket
            ws_ping_interval=20,
            ws_ping_timeout=20,
            timeout_graceful_shutdown=settings.CHAT_DRAIN,
            proxy_headers=False,  # whom to believe about addresses is TRUSTED_PROXIES' to say
            server_header=False,
            lifespan="on",  # "auto" takes a start that failed for one that was not asked for
            log_level="warning",
        )
