"""Database work of the chat, off the event loop, on a few threads of its own.

Channels' default is one thread for the whole process; a slow query would then hold up every conversation.
"""

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from channels.db import DatabaseSyncToAsync
from django.conf import settings

P = ParamSpec("P")
R = TypeVar("R")
_threads = ThreadPoolExecutor(settings.DATABASE_THREADS, thread_name_prefix="chat-database")


def in_database(function: Callable[P, R]) -> Callable[P, Awaitable[R]]:
    """An awaitable form of a function that uses the ORM."""
    awaitable: Callable[P, Awaitable[R]] = DatabaseSyncToAsync(
        function, thread_sensitive=False, executor=_threads
    )
    return awaitable
