"""The bell between web processes: a channel layer that tells others of news, and knows when it tells nobody.

It carries no record. What it loses (Redis down, restarted, flushed) is read from the database a little later; a pulse
that the process sends to itself shows whether anything is heard at all.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from channels.layers import get_channel_layer

from agent.conversation.liveness import own_name

log = logging.getLogger(__name__)
PULSE_SECONDS: Final = 2.0
TIMEOUT: Final = 1.0  # a Redis that hangs is as good as none
WAITING: Final = 1_000  # conversations with unsent news; beyond it the poll has to do


def group_of(key: str) -> str:
    """The channel group of a conversation, by the hash of its secret."""
    return f"conversation.{key}"


class Bell:
    """One process' ear and voice on the channel layer. `heard(key, message)` is called for news of others."""

    def __init__(self, heard: Callable[[str, dict[str, Any]], None], turned: Callable[[bool], None]) -> None:
        self.deaf = False
        self._heard, self._turned = heard, turned
        self._layer = get_channel_layer()
        self._name = own_name()
        self._channel = ""
        self._keys: set[str] = set()
        self._unsent: dict[str, dict[str, Any]] = {}
        self._something = asyncio.Event()
        self._last_pulse = time.monotonic()

    def start(self) -> list[asyncio.Task[None]]:
        """Begins to listen and to send; the tasks are the caller's to keep and to cancel."""
        return [asyncio.create_task(work()) for work in (self._listen, self._send, self._pulse)]

    def tell(self, key: str, frame: dict[str, Any] | None) -> None:
        """Sends news of a conversation to the other processes soon, in order; None is a log that has grown."""
        if self.deaf or (waiting := self._waiting(key)) is None:
            return
        if frame is not None or waiting["news"][-1:] != [None]:
            waiting["news"].append(frame)
        self._something.set()

    def part(self, key: str, frame: dict[str, Any]) -> None:
        """The same for the last that is said to the holders of a secret."""
        if (waiting := self._waiting(key)) is not None:
            waiting["parting"] = frame
            self._something.set()

    def _waiting(self, key: str) -> dict[str, Any] | None:
        if key not in self._unsent and len(self._unsent) >= WAITING:
            return None
        return self._unsent.setdefault(key, {"news": []})

    async def listen_to(self, key: str) -> None:
        """From now on news of this conversation is heard here, if anything is."""
        self._keys.add(key)
        if not self.deaf and self._channel:
            await self._try(self._layer.group_add(group_of(key), self._channel))

    async def forget(self, key: str) -> None:
        """Nobody here listens to this conversation any more."""
        self._keys.discard(key)
        if not self.deaf and self._channel:
            await self._try(self._layer.group_discard(group_of(key), self._channel))

    async def _try(self, call: Any) -> bool:
        try:
            await _in_time(call)
        except Exception as error:  # any layer client's error, each of which means the same
            self._turn(deaf=True, why=type(error).__name__)
            return False
        return True

    def _turn(self, *, deaf: bool, why: str = "") -> None:
        if deaf == self.deaf:
            return
        self.deaf = deaf
        if deaf:
            log.warning("channel layer unavailable, reading the log instead: %s", why)
        else:
            log.warning("channel layer available again")
        self._turned(deaf)

    async def _listen(self) -> None:
        while True:
            try:
                if not self._channel:
                    channel = await _in_time(self._layer.new_channel("process."))
                    for group in (f"pulse.{self._name}", *map(group_of, list(self._keys))):
                        await _in_time(self._layer.group_add(group, channel))
                    self._channel = channel
                message = await self._layer.receive(self._channel)
            except Exception as error:  # as above
                self._turn(deaf=True, why=type(error).__name__)
                await asyncio.sleep(PULSE_SECONDS)
                continue
            try:
                if message["from"] != self._name:
                    self._heard(message["key"], message)
                elif "pulse" in message:
                    self._last_pulse = time.monotonic()
            except Exception as error:  # of another version, perhaps; what comes next is heard
                log.error("news not understood: %s", type(error).__name__)

    async def _send(self) -> None:
        while True:
            await self._something.wait()
            self._something.clear()
            unsent, self._unsent = self._unsent, {}
            for key, message in unsent.items():
                if self.deaf:
                    break
                told = {"type": "news", "from": self._name, "key": key, **message}
                await self._try(self._layer.group_send(group_of(key), told))

    async def _pulse(self) -> None:
        group = f"pulse.{self._name}"
        while True:
            message = {"type": "news", "from": self._name, "key": "", "pulse": True}
            asked = time.monotonic()
            sent = await self._try(self._layer.group_send(group, message))
            await asyncio.sleep(PULSE_SECONDS)
            silent = time.monotonic() - self._last_pulse
            if silent > 2 * PULSE_SECONDS:
                self._turn(deaf=True, why="silence")
            elif sent and self.deaf and self._last_pulse >= asked and await self._subscribe_again():
                self._turn(deaf=False)

    async def _subscribe_again(self) -> bool:
        """Conversations that were joined while nothing could be heard."""
        for key in list(self._keys):
            if not await self._try(self._layer.group_add(group_of(key), self._channel)):
                return False
        return True


async def _in_time(call: Awaitable[Any]) -> Any:
    """Waits at most TIMEOUT. A task of ours that is cancelled meanwhile ends, though a client may swallow that.

    `asyncio.wait_for` does, before Python 3.12, when the answer comes in the same moment, and clients of Redis use it too.
    """
    async with asyncio.timeout(TIMEOUT):
        result = await call
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
    return result
