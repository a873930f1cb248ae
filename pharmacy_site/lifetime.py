"""Start the chat's work with the web process, and let it finish the answers at work when the process is stopped.

uvicorn reports both by ASGI's lifespan protocol; daphne has none, so its reactor calls us.
"""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from agent.chat.process import process
from pharmacy_site.lib.shutdown import shutting_down


async def lifespan(
    scope: dict[str, Any],
    receive: Callable[[], Awaitable[dict[str, Any]]],
    send: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    """Start the chat's parts, and drain them at the end (ASGI's lifespan protocol)."""
    await receive()
    process()
    _drain_before(signal.SIGTERM)
    _drain_before(signal.SIGINT)
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await process().drain()
    await send({"type": "lifespan.shutdown.complete"})


def _drain_before(number: signal.Signals) -> None:
    """Drain before uvicorn handles this signal: it would close all sockets at once, in the middle of answers."""
    theirs, loop = signal.getsignal(number), asyncio.get_running_loop()

    async def end() -> None:
        await process().drain()
        if callable(theirs):
            theirs(number, None)

    def on_signal() -> None:
        if shutting_down.is_set() and callable(theirs):
            # A second signal ends the process at once.
            theirs(number, None)
        else:
            tasks.append(loop.create_task(end()))

    tasks: list[asyncio.Task[None]] = []
    if theirs not in (None, signal.SIG_DFL, signal.SIG_IGN):
        loop.add_signal_handler(number, on_signal)


def under_twisted() -> None:
    """End the chat's work before daphne stops: its reactor waits for the Deferreds that shutdown triggers return."""
    if "twisted.internet.reactor" not in sys.modules:
        return
    from twisted.internet import reactor
    from twisted.internet.defer import Deferred

    def end() -> Deferred[None]:
        return Deferred.fromFuture(asyncio.ensure_future(process().drain()))

    # Its event loop runs a moment after the reactor says that it does.
    reactor.callWhenRunning(lambda: reactor.callLater(0, process))  # type: ignore[arg-type]
    reactor.addSystemEventTrigger("before", "shutdown", end)  # type: ignore[arg-type]
