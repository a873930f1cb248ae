"""What one web process has for the chat: its hub, its runner, and how it ends."""

import asyncio
import logging
from typing import Final
from weakref import WeakKeyDictionary

from django.conf import settings

from agent.chat.hub import Hub
from agent.chat.runner import Runner
from agent.conversation import modes
from agent.conversation.embedding import tickets_purge
from agent.conversation.retention import AT_ONCE, conversations_expire
from agent.threads import run_db
from pharmacy_site.lib.errors import trace_of
from pharmacy_site.lib.shutdown import shutting_down

log = logging.getLogger(__name__)
RESTART: Final = 1012
CHORES_SECONDS: Final = 3_600
FAREWELL: Final = 5.0  # seconds for the last answers to go out


class Process:
    """The chat's parts in one event loop."""

    def __init__(self) -> None:
        # Not above: the loop loads every model, and the addresses (which each command checks) lead to this module.
        from agent.turn.loop import answer

        self.hub = Hub(self._turned)
        self.runner = Runner(self.hub, answer)
        self._chores = asyncio.create_task(self._keep_house())
        self._settling: asyncio.Task[None] | None = None
        self._settle_lock = asyncio.Lock()

    async def drain(self) -> None:
        """Ends: nothing new begins, what is being said is finished, the sockets are sent to another process."""
        if shutting_down.is_set():
            return
        shutting_down.set()
        await self.runner.drain(settings.CHAT_DRAIN)
        farewells = [asyncio.create_task(socket.finish(RESTART)) for socket in self.hub.sockets()]
        if farewells:
            await asyncio.wait(farewells, timeout=FAREWELL)
        self._chores.cancel()
        self.hub.close()

    async def _keep_house(self) -> None:
        """Deletes what is past its time: at once when the process begins, then every hour."""
        while True:
            try:
                while await run_db(conversations_expire)() == AT_ONCE:
                    pass
                await run_db(tickets_purge)()
            except Exception as error:  # whatever it is, the next round must come
                log.error("chores failed: %s at %s", type(error).__name__, trace_of(error))
            await asyncio.sleep(CHORES_SECONDS)

    def _turned(self, deaf: bool) -> None:
        self._settling = asyncio.create_task(self._settle())

    async def _settle(self) -> None:
        """Tells the conversations that are open here, and in use, how the chat does: one round at a time, the last counts."""
        async with self._settle_lock:
            keys = list({socket.key for socket in self.hub.sockets()})
            try:
                for key in await run_db(modes.settle_all)(keys, degraded=self.hub.deaf):
                    self.hub.ring(key)
            except Exception as error:
                log.error("modes not settled: %s", type(error).__name__)


_processes: WeakKeyDictionary[asyncio.AbstractEventLoop, Process] = WeakKeyDictionary()


def process() -> Process:
    """The parts of this event loop, made when they are first asked for."""
    loop = asyncio.get_running_loop()
    if loop not in _processes:
        _processes[loop] = Process()
    return _processes[loop]


def ring_from_thread(key: str) -> None:
    """Tells open sockets of this process that a log has grown; for code outside the event loop."""
    for loop, here in list(_processes.items()):
        if loop.is_running():
            loop.call_soon_threadsafe(here.hub.ring, key)
