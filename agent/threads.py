"""Run the chat's database work off the event loop, on a few threads of its own.

Channels' default is one thread for the whole process, where one slow query holds up every conversation. Many threads are
no better: they wait for one another at the interpreter's lock. So there are few, and one of them does only the short
work that a client waits for (hello, the acknowledgement of a message): slow queries of answers never hold it up.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Final, ParamSpec, TypeVar

from django.conf import settings
from django.db import close_old_connections

P = ParamSpec("P")
R = TypeVar("R")

_urgent: Final = ThreadPoolExecutor(1, thread_name_prefix="chat-urgent")
# For work that waits for a language model for seconds.
_slow: Final = ThreadPoolExecutor(4, thread_name_prefix="chat-slow")
_normal: Final = ThreadPoolExecutor(max(settings.DATABASE_THREADS - 1, 1), thread_name_prefix="chat-database")


def run_db(function: Callable[P, R]) -> Callable[P, Awaitable[R]]:
    """Return an awaitable form of a function that uses the ORM. Calls wait for their turn in the order they came."""
    return _awaitable(function, _normal)


def run_urgent(function: Callable[P, R]) -> Callable[P, Awaitable[R]]:
    """Return the same for short work that a client waits for: it does not queue behind the work of answers."""
    return _awaitable(function, _urgent)


def run_slow(function: Callable[P, R]) -> Callable[P, Awaitable[R]]:
    """Return the same for work that may wait for a language model: no query of another answer queues behind it."""
    return _awaitable(function, _slow)


def _awaitable(function: Callable[P, R], executor: ThreadPoolExecutor) -> Callable[P, Awaitable[R]]:
    # The work sees a copy of its caller's context variables; what it sets stays its own.
    async def call(*args: P.args, **kwargs: P.kwargs) -> R:
        work = partial(copy_context().run, _with_connection, partial(function, *args, **kwargs))
        return await asyncio.get_running_loop().run_in_executor(executor, work)

    return call


def _with_connection(work: Callable[[], R]) -> R:
    """Work with a connection that is neither broken nor too old, and return it to its pool afterwards."""
    close_old_connections()
    try:
        return work()
    except StopIteration as error:  # no future can carry it: its caller would wait for ever
        raise RuntimeError("StopIteration in database work") from error
    finally:
        close_old_connections()
