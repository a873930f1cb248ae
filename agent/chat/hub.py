"""Who listens to which conversation in this process, and how news reaches them: directly, by the bell, or by reading.

A socket is told that the log has grown and reads it; what is not kept (progress, deltas) is handed to it. Besides, the
log's heads are read every few seconds, every second when the bell is deaf, so that no news depends on the bell.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, Final, Protocol

from django.conf import settings

from agent.chat.bell import Bell
from agent.conversation import events
from agent.threads import run_db

log = logging.getLogger(__name__)
POLL_SECONDS: Final = 5.0
POLL_SECONDS_DEAF: Final = 1.0
GONE: Final = 4410
IDLE: Final = 4408


class Socket(Protocol):
    """An open socket as the hub sees it."""

    key: str  # the hash of the conversation's secret
    sent: int  # the last number it was sent
    heard_at: float  # when its client last sent anything (monotonic seconds)

    def grown(self) -> None:
        """The log has more than was sent."""

    def tell(self, frame: dict[str, Any]) -> None:
        """An event that is not kept."""

    def leave(self, code: int) -> None:
        """Say good-bye with this close code."""

    async def finish(self, code: int) -> None:
        """The same, after what is in the log already."""


class Hub:
    """The open sockets of one process. Everything here runs in its event loop."""

    def __init__(self, turned: Callable[[bool], None] = lambda deaf: None) -> None:
        self._sockets: dict[str, set[Socket]] = {}
        self._bell = Bell(self._heard, turned) if settings.REDIS_URL else None
        self._tasks = self._bell.start() if self._bell else []
        self._tasks.append(asyncio.create_task(self._poll()))

    @property
    def deaf(self) -> bool:
        """Whether news of other processes only comes by reading."""
        return self._bell is not None and self._bell.deaf

    def sockets(self) -> list[Socket]:
        """All that listen."""
        return [socket for sockets in self._sockets.values() for socket in sockets]

    async def join(self, socket: Socket) -> None:
        """From now on the socket is told; call it before the log is read, so that nothing falls between."""
        new = socket.key not in self._sockets
        self._sockets.setdefault(socket.key, set()).add(socket)
        if new and self._bell:
            await self._bell.listen_to(socket.key)

    async def leave(self, socket: Socket) -> None:
        """The socket is closed."""
        rest = self._sockets.get(socket.key, set())
        rest.discard(socket)
        if not rest and self._sockets.pop(socket.key, None) is not None and self._bell:
            await self._bell.forget(socket.key)

    def ring(self, key: str) -> None:
        """The log of a conversation has grown."""
        for socket in tuple(self._sockets.get(key, ())):
            socket.grown()
        if self._bell:
            self._bell.tell(key, None)

    def tell(self, key: str, frame: dict[str, Any]) -> None:
        """Passes on an event that is not kept to whoever listens now."""
        frame = {"v": 1, **frame}
        for socket in tuple(self._sockets.get(key, ())):
            socket.tell(frame)
        if self._bell:
            self._bell.tell(key, frame)

    def part(self, key: str, frame: dict[str, Any]) -> None:
        """The secret with this hash opens nothing any more: says so and closes."""
        self._part(key, frame)
        if self._bell:
            self._bell.part(key, frame)

    def _part(self, key: str, frame: dict[str, Any]) -> None:
        for socket in tuple(self._sockets.get(key, ())):
            socket.tell({"v": 1, **frame})
            socket.leave(GONE)

    def _heard(self, key: str, message: dict[str, Any]) -> None:
        for socket in tuple(self._sockets.get(key, ())):
            for frame in message["news"]:
                if frame is None:
                    socket.grown()
                else:
                    socket.tell(frame)
        if "parting" in message:
            self._part(key, message["parting"])

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS_DEAF if self.deaf else POLL_SECONDS)
            idle_since = time.monotonic() - settings.CHAT_IDLE_TIMEOUT
            sockets = self.sockets()  # those that join while the heads are read are none of this round's
            for socket in sockets:
                if socket.heard_at < idle_since:
                    socket.leave(IDLE)
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
                elif head > socket.sent:
                    socket.grown()

    def close(self) -> None:
        """Stops listening: the process ends."""
        for task in self._tasks:
            task.cancel()
