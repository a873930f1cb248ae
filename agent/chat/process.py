"""The chat's parts of one web process: its hub, its runner, its hourly chores, and how it ends."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Final
from weakref import WeakKeyDictionary

from django.conf import settings
from django.db import connections

from agent.chat.bell import publish_log_grown
from agent.chat.hub import Hub
from agent.chat.protocol import RESTART
from agent.chat.runner import Runner
from agent.chat.server_messages import EphemeralMessage
from agent.conversation import modes
from agent.conversation.embedding import tickets_purge
from agent.retention import retention_apply
from agent.threads import run_db
from pharmacy_site.lib.errors import trace_of
from pharmacy_site.lib.shutdown import shutting_down
from prescriptions.alerts import SECONDS as ALERTS_SECONDS
from prescriptions.alerts import alerts_log
from prescriptions.audit.watching import audit_watch
from prescriptions.handoffs.sweep import handoffs_sweep
from prescriptions.notifications import notifications_sweep
from prescriptions.refill.sweep import refills_sweep

log = logging.getLogger(__name__)
CHORES_SECONDS: Final = 3_600
HANDOFFS_SECONDS: Final = 15
# How long an ending process waits for the last answers to go out.
LAST_MESSAGES_SECONDS: Final = 5.0


class Process:
    """The chat's parts in one event loop."""

    def __init__(self) -> None:
        # Not above: the loop loads every model, and the addresses (which each command checks) lead to this module.
        from agent.turn.loop import answer

        self.hub = Hub(self._on_change)
        self.runner = Runner(self.hub, answer)
        self._chores = asyncio.create_task(self._do_chores())
        self._sweeping = [
            asyncio.create_task(sweep(refills_sweep, settings.REFILL_SWEEP)),
            asyncio.create_task(sweep(handoffs_sweep, HANDOFFS_SECONDS, settings.SWEEP_BESIDE_BEAT)),
            asyncio.create_task(sweep(audit_watch, settings.AUDIT_ANCHOR_SWEEP, settings.AUDIT_ANCHOR_SWEEP)),
            asyncio.create_task(sweep(alerts_log, ALERTS_SECONDS, ALERTS_SECONDS)),
            asyncio.create_task(sweep(notifications_sweep, settings.CHAT_SWEEP, settings.SWEEP_BESIDE_BEAT)),
        ]
        self._publishing: asyncio.Task[None] | None = None
        self._mode_lock = asyncio.Lock()

    async def drain(self) -> None:
        """End the process: begin nothing new, finish the answers at work, send the clients to another process."""
        if shutting_down.is_set():
            return
        shutting_down.set()
        await self.runner.drain(settings.CHAT_DRAIN)
        closing = [asyncio.create_task(socket.finish(RESTART)) for socket in self.hub.sockets()]
        if closing:
            await asyncio.wait(closing, timeout=LAST_MESSAGES_SECONDS)
        self._chores.cancel()
        for task in self._sweeping:
            task.cancel()
        self.hub.close()

    async def _do_chores(self) -> None:
        """Delete what is past its time: at once when the process begins, then every hour."""
        while True:
            try:
                await run_db(tickets_purge)()
                # Not on the chat's database threads: the first time it may take long.
                await asyncio.to_thread(_swept, partial(retention_apply, where="web"))
            except Exception as error:
                # Whatever it is, the next round must come.
                log.error("chores failed: %s at %s", type(error).__name__, trace_of(error))
            await asyncio.sleep(CHORES_SECONDS)

    def _on_change(self) -> None:
        self._publishing = asyncio.create_task(self._publish_mode())

    async def _publish_mode(self) -> None:
        """Set the open conversations to degraded or normal mode; calls are serialised, so that the latest wins."""
        async with self._mode_lock:
            keys = list({socket.key for socket in self.hub.sockets()})
            try:
                for key in await run_db(modes.set_degraded_all)(keys, degraded=self.hub.disconnected):
                    self.hub.ring(key)
            except Exception as error:
                log.error("modes not changed: %s", type(error).__name__)


async def sweep(work: Callable[[], object], seconds: float, beside_beat: float | None = None) -> None:
    """Do this work every so many seconds; with a broker Celery's beat does it, and this only every `beside_beat`."""
    while (pause := beside_beat if settings.CELERY_BROKER_URL else seconds) is not None:
        await asyncio.sleep(pause)
        try:
            # Not on the chat's database threads: it may wait for other systems.
            await asyncio.to_thread(_swept, work)
        except Exception as error:
            log.error("%s failed: %s at %s", work.__name__, type(error).__name__, trace_of(error))


def _swept(work: Callable[[], object]) -> None:
    try:
        work()
    finally:
        connections.close_all()


_processes: WeakKeyDictionary[asyncio.AbstractEventLoop, Process] = WeakKeyDictionary()


def process() -> Process:
    """Return the parts of this event loop, made by the first call."""
    loop = asyncio.get_running_loop()
    if loop not in _processes:
        _processes[loop] = Process()
    return _processes[loop]


def ring_from_thread(key: str) -> None:
    """Make a conversation's open sockets read its log, which has grown, from outside the event loop."""
    rung = False
    for loop, here in list(_processes.items()):
        if loop.is_running():
            loop.call_soon_threadsafe(here.hub.ring, key)
            rung = True
    if not rung and settings.REDIS_URL:
        # A worker, or a web process without chats: what is lost here is found by reading the log.
        publish_log_grown(key)


def send_from_thread(key: str, message: EphemeralMessage) -> None:
    """Send an ephemeral message to a conversation's open sockets, from outside the event loop."""
    for loop, here in list(_processes.items()):
        if loop.is_running():
            loop.call_soon_threadsafe(here.hub.send, key, message)
