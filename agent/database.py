"""Database work of the chat, off the event loop, on a few threads of its own.

Channels' default is one thread for the whole process; a slow query would then hold up every conversation. Many threads
are no better: they wait for one another at the interpreter's lock, and an acknowledgement that asks the database seven
times waits there seven times. So there are few, and what a customer waits for at the door (hello, the acknowledgement
of a message) goes before the making of answers.
"""

import threading
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any, ParamSpec, TypeVar

from channels.db import DatabaseSyncToAsync
from django.conf import settings

P = ParamSpec("P")
R = TypeVar("R")


class Desk:
    """Threads that work at three lines, in this order; one of them at the urgent one only, so that it always moves on."""

    def __init__(self, threads: int) -> None:
        lock = threading.RLock()
        self.come, self.urgent_come = threading.Condition(lock), threading.Condition(lock)
        self.urgent, self.begun, self.rest = Line(self), Line(self), Line(self)
        self._unstarted = [
            threading.Thread(
                target=self._serve, args=[number == 0], name=f"chat-database-{number}", daemon=True
            )
            for number in range(max(threads, 2))
        ]

    def open(self) -> None:
        """Starts the threads, when there is work: a process that forks before would lose them."""
        while self._unstarted:
            self._unstarted.pop().start()

    def _serve(self, only_urgent: bool) -> None:
        lines = [self.urgent] if only_urgent else [self.urgent, self.begun, self.rest]
        come = self.urgent_come if only_urgent else self.come
        while True:
            with come:
                come.wait_for(lambda: any(line.jobs for line in lines))
                future, call = next(line.jobs for line in lines if line.jobs).popleft()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(call())
                except BaseException as error:
                    future.set_exception(error)
            del future, call  # else their results live until the next job


class Line(Executor):
    """One of a desk's lines."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.jobs: deque[tuple[Future[Any], Callable[[], Any]]] = deque()

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Queues a call."""
        future: Future[R] = Future()
        with self._desk.come:
            self.jobs.append((future, partial(fn, *args, **kwargs)))
            self._desk.open()
            self._desk.come.notify()  # who is at work looks for more before waiting: one awake is enough
            if self is self._desk.urgent:
                self._desk.urgent_come.notify()
        return future


_desk = Desk(settings.DATABASE_THREADS)


def in_database(function: Callable[P, R]) -> Callable[P, Awaitable[R]]:
    """An awaitable form of a function that uses the ORM."""
    return _awaitable(function, _desk.begun)


def at_door(function: Callable[P, R]) -> Callable[P, Awaitable[R]]:
    """The same for short work that a client waits for."""
    return _awaitable(function, _desk.urgent)


def when_free(function: Callable[P, R]) -> Callable[P, Awaitable[R]]:
    """The same for work that waits until nobody's answer is being made."""
    return _awaitable(function, _desk.rest)


def _awaitable(function: Callable[P, R], line: Line) -> Callable[P, Awaitable[R]]:
    awaitable: Callable[P, Awaitable[R]] = DatabaseSyncToAsync(
        function, thread_sensitive=False, executor=line
    )
    return awaitable
