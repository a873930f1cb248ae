"""News between web processes over the channel layer, and whether the channel layer can be reached.

It carries no record: what it loses (Redis down, restarted, flushed) is read from the database a little later. A pulse that
the process sends to itself shows whether anything arrives at all.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, NotRequired, TypedDict

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer

from agent.chat.server_messages import ConversationEnded, EphemeralMessage
from agent.conversation.liveness import own_name

log = logging.getLogger(__name__)
PULSE_SECONDS: Final = 2.0
# A Redis that hangs is as good as none.
TIMEOUT: Final = 1.0
# Conversations with unsent news; what is beyond it others find by polling.
MAX_UNSENT: Final = 1_000


class News(TypedDict):
    """What happened in a conversation, in order: ephemeral messages, and None where its log has grown."""

    key: str
    news: list[EphemeralMessage | None]
    parting: NotRequired[ConversationEnded]


def group_of(key: str) -> str:
    """Return the channel group of a conversation, by the hash of its secret."""
    return f"conversation.{key}"


class Bell:
    """Publishes to the channel layer and subscribes on it, for one process."""

    def __init__(self, on_news: Callable[[News], None], on_change: Callable[[], None]) -> None:
        """`on_news` is called with news of other processes, `on_change` when `disconnected` changes."""
        self.disconnected = False
        self._on_news, self._on_change = on_news, on_change
        self._layer = get_channel_layer()
        self._name = own_name()
        self._channel = ""
        self._keys: set[str] = set()
        self._unsent: dict[str, News] = {}
        self._has_unsent = asyncio.Event()
        self._last_pulse = time.monotonic()

    def start(self) -> list[asyncio.Task[None]]:
        """Begin to receive and to send; returns the tasks, which the caller cancels."""
        return [asyncio.create_task(work()) for work in (self._receive, self._send, self._pulse)]

    def publish(self, key: str, message: EphemeralMessage | None) -> None:
        """Send news of a conversation to the other processes soon, in order; None says that its log has grown."""
        if self.disconnected or (unsent := self._unsent_of(key)) is None:
            return
        if message is not None or unsent["news"][-1:] != [None]:
            unsent["news"].append(message)
        self._has_unsent.set()

    def publish_revoked(self, key: str, message: ConversationEnded) -> None:
        """Send the last message to the holders of a secret soon, behind all other news."""
        if (unsent := self._unsent_of(key)) is not None:
            unsent["parting"] = message
            self._has_unsent.set()

    def _unsent_of(self, key: str) -> News | None:
        if key not in self._unsent and len(self._unsent) >= MAX_UNSENT:
            return None
        return self._unsent.setdefault(key, {"key": key, "news": []})

    async def subscribe(self, key: str) -> None:
        """Receive news of this conversation from now on."""
        self._keys.add(key)
        if not self.disconnected and self._channel:
            await self._try(self._layer.group_add(group_of(key), self._channel))

    async def unsubscribe(self, key: str) -> None:
        """Receive no more news of this conversation."""
        self._keys.discard(key)
        if not self.disconnected and self._channel:
            await self._try(self._layer.group_discard(group_of(key), self._channel))

    async def _try(self, call: Awaitable[Any]) -> bool:
        """Return whether a call to the channel layer succeeded; if not, it counts as out of reach."""
        try:
            await _in_time(call)
        except Exception as error:
            # Each layer's client has errors of its own.
            self._set_disconnected(True, why=type(error).__name__)
            return False
        return True

    def _set_disconnected(self, disconnected: bool, *, why: str = "") -> None:
        if disconnected == self.disconnected:
            return
        self.disconnected = disconnected
        if disconnected:
            log.warning("channel layer unavailable, reading the log instead: %s", why)
        else:
            log.warning("channel layer available again")
        self._on_change()

    async def _receive(self) -> None:
        while True:
            try:
                if not self._channel:
                    channel = await _in_time(self._layer.new_channel("process."))
                    for group in (f"pulse.{self._name}", *map(group_of, list(self._keys))):
                        await _in_time(self._layer.group_add(group, channel))
                    self._channel = channel
                message = await self._layer.receive(self._channel)
            except Exception as error:
                self._set_disconnected(True, why=type(error).__name__)
                await asyncio.sleep(PULSE_SECONDS)
                continue
            try:
                if message["from"] != self._name:
                    self._on_news(message)
                elif "pulse" in message:
                    self._last_pulse = time.monotonic()
            except Exception as error:
                # A process of another version may have sent it.
                log.error("news not understood: %s", type(error).__name__)

    async def _send(self) -> None:
        while True:
            await self._has_unsent.wait()
            self._has_unsent.clear()
            unsent, self._unsent = self._unsent, {}
            for key, news in unsent.items():
                if self.disconnected:
                    break
                message = {"type": "news", "from": self._name, **news}
                await self._try(self._layer.group_send(group_of(key), message))

    async def _pulse(self) -> None:
        group = f"pulse.{self._name}"
        while True:
            message = {"type": "news", "from": self._name, "key": "", "pulse": True}
            sent_at = time.monotonic()
            sent = await self._try(self._layer.group_send(group, message))
            await asyncio.sleep(PULSE_SECONDS)
            silent = time.monotonic() - self._last_pulse
            if silent > 2 * PULSE_SECONDS:
                self._set_disconnected(True, why="silence")
            elif sent and self.disconnected and self._last_pulse >= sent_at and await self._resubscribe():
                self._set_disconnected(False)

    async def _resubscribe(self) -> bool:
        """Subscribe to all conversations, of which some were opened while the channel layer was out of reach."""
        for key in list(self._keys):
            if not await self._try(self._layer.group_add(group_of(key), self._channel)):
                return False
        return True


def publish_log_grown(key: str) -> None:
    """Tell all processes that a conversation's log has grown, from a process that has no bell of its own."""
    layer = get_channel_layer()
    message = {"type": "news", "from": own_name(), "key": key, "news": [None]}

    async def send() -> None:
        try:
            await _in_time(layer.group_send(group_of(key), message))
        finally:
            # This loop ends with the call; its connection, which is all that is flushed, must not outlive it.
            await layer.flush()

    try:
        async_to_sync(send)()
    except Exception as error:
        # Each layer's client has errors of its own.
        log.warning("news not published: %s", type(error).__name__)


async def _in_time(call: Awaitable[Any]) -> Any:
    """Wait at most TIMEOUT for a call, and raise if this task was cancelled meanwhile.

    `asyncio.wait_for` swallows, before Python 3.12, a cancellation that comes in the same moment as the answer, and
    clients of Redis use it too.
    """
    async with asyncio.timeout(TIMEOUT):
        result = await call
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
    return result
