"""The open sockets of this process, and how they learn what happens in their conversation.

When the log has grown, sockets read it; ephemeral messages (progress, pieces of an answer) are handed to them.
News of other processes comes over the channel layer. Besides, the heads of all open logs are read every few seconds, every
second while the channel layer is out of reach, so that no event depends on it.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final, Protocol

from django.conf import settings

from agent.chat.bell import Bell, News
from agent.chat.protocol import GONE, TIMED_OUT
from agent.chat.server_messages import ConversationEnded, EphemeralMessage
from agent.conversation import events
from agent.threads import run_db

log = logging.getLogger(__name__)
POLL_SECONDS: Final = 5.0
POLL_SECONDS_DISCONNECTED: Final = 1.0


class Socket(Protocol):
    """An open socket as the hub sees it."""

    # The hash of the conversation's secret.
    key: str
    # The number of the last event it was sent.
    sent_seq: int
    # When its client last sent anything (monotonic seconds).
    received_at: float

    def log_grown(self) -> None:
        """Read the events that were not sent yet."""

    def send_ephemeral(self, message: EphemeralMessage) -> None:
        """Send a message that is stored nowhere."""

    def leave(self, code: int) -> None:
        """Close with this code."""

    async def finish(self, code: int) -> None:
        """Close with this code once the log has been sent."""


class Hub:
    """The open sockets of one process. Everything here runs in its event loop."""

    def __init__(self, on_change: Callable[[], None] = lambda: None) -> None:
        """Start listening. `on_change` is called when the channel layer is lost and when it is back."""
        self._sockets: dict[str, set[Socket]] = {}
        self._bell = Bell(self._on_news, on_change) if settings.REDIS_URL else None
        self._tasks = self._bell.start() if self._bell else []
        self._tasks.append(asyncio.create_task(self._poll()))

    @property
    def disconnected(self) -> bool:
        """Whether news of other processes only comes by reading the log."""
        return self._bell is not None and self._bell.disconnected

    def sockets(self) -> list[Socket]:
        """Return all open sockets."""
        return [socket for sockets in self._sockets.values() for socket in sockets]

    async def join(self, socket: Socket) -> None:
        """Pass news on to a socket from now on. Call it before the log is read, or an event in between is missed."""
        new = socket.key not in self._sockets
        self._sockets.setdefault(socket.key, set()).add(socket)
        if new and self._bell:
            await self._bell.subscribe(socket.key)

    async def leave(self, socket: Socket) -> None:
        """Forget a closed socket."""
        rest = self._sockets.get(socket.key, set())
        rest.discard(socket)
        if not rest and self._sockets.pop(socket.key, None) is not None and self._bell:
            await self._bell.unsubscribe(socket.key)

    def ring(self, key: str) -> None:
        """Make the sockets of a conversation read its log, which has grown."""
        for socket in self._sockets_of(key):
            socket.log_grown()
        if self._bell:
            self._bell.publish(key, None)

    def send(self, key: str, message: EphemeralMessage) -> None:
        """Send an ephemeral message to the sockets that a conversation has now."""
        for socket in self._sockets_of(key):
            socket.send_ephemeral(message)
        if self._bell:
            self._bell.publish(key, message)

    def revoke(self, key: str, message: ConversationEnded) -> None:
        """Send a last message to the holders of a secret that opens nothing any more, and close their sockets."""
        self._revoke(key, message)
        if self._bell:
            self._bell.publish_revoked(key, message)

    def close(self) -> None:
        """Stop listening: the process ends."""
        for task in self._tasks:
            task.cancel()

    def _sockets_of(self, key: str) -> tuple[Socket, ...]:
        return tuple(self._sockets.get(key, ()))

    def _revoke(self, key: str, message: ConversationEnded) -> None:
        for socket in self._sockets_of(key):
            socket.send_ephemeral(message)
            socket.leave(GONE)

    def _on_news(self, news: News) -> None:
        """Pass on what another process has published."""
        for socket in self._sockets_of(news["key"]):
            for message in news["news"]:
                if message is None:
                    socket.log_grown()
                else:
                    socket.send_ephemeral(message)
        if "parting" in news:
            self._revoke(news["key"], news["parting"])

    async def _poll(self) -> None:
        """Close idle sockets, and find events whose news was lost, every few seconds."""
        while True:
            await asyncio.sleep(POLL_SECONDS_DISCONNECTED if self.disconnected else POLL_SECONDS)
            idle_since = time.monotonic() - settings.CHAT_IDLE_TIMEOUT
            # Those that join while the heads are read wait for the next round.
            sockets = self.sockets()
            for socket in sockets:
                if socket.received_at < idle_since:
                    socket.leave(TIMED_OUT)
            if not sockets:
                continue
            try:
                heads = await run_db(events.heads)(list({socket.key for socket in sockets}))
            except Exception as error:
                log.error("heads not read: %s", type(error).__name__)
                continue
            for socket in sockets:
                head = heads.get(socket.key)
                if head is None:
                    socket.leave(GONE)
                elif head > socket.sent_seq:
                    socket.log_grown()
