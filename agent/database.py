"""Database work of the chat, off the event loop, on a few threads of its own.

Channels' default is one thread for the whole process; a slow query would then hold up every conversation. What a
customer waits for at the door (hello, the acknowledgement of a message) does not stand behind answers in the making.
"""

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from channels.db import DatabaseSyncToAsync
from django.conf import settings

P = ParamSpec("P")
R = TypeVar("R")
_threads = ThreadPoolExecutor(settings.DATABASE_THREADS, thread_name_prefix="chat-database")
_door = ThreadPoolExecutor(2, thread_name_prefix="chat-door")


def in_database(function: Callable[P, R]) -> Callable[P, Awaitable[R]]:
    """An awaitable form of a function that uses the ORM."""
    return _awaitable(function, _threads)


def at_door(function: Callable[P, R]) -> Callable[P, Awaitable[R]]:
    """The same for short work that a client waits for."""
    return _awaitable(function, _door)


def _awaitable(function: Callable[P, R], threads: ThreadPoolExecutor) -> Callable[P, Awaitable[R]]:
    awaitable: Callable[P, Awaitable[R]] = DatabaseSyncToAsync(
        function, thread_sensitive=False, executor=threads
    )
    return awaitable
