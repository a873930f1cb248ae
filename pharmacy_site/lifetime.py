"""How a web process begins and ends: the chat's work starts with it, and SIGTERM lets it finish what it is saying.

uvicorn tells by ASGI's lifespan; daphne has none, so its reactor is asked.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from agent.process import process


async def lifespan(
    scope: dict[str, Any],
    receive: Callable[[], Awaitable[dict[str, Any]]],
    send: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    """ASGI's lifespan protocol."""
    await receive()
    process()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await process().drain()
    await send({"type": "lifespan.shutdown.complete"})


def under_twisted() -> None:
    """The same under daphne, whose reactor waits for what its shutdown is given."""
    if "twisted.internet.reactor" not in sys.modules:
        return
    from twisted.internet import reactor
    from twisted.internet.defer import Deferred

    def end() -> Deferred[None]:
        return Deferred.fromFuture(asyncio.ensure_future(process().drain()))

    reactor.callWhenRunning(process)
    reactor.addSystemEventTrigger("before", "shutdown", end)  # type: ignore[arg-type]
