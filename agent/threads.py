"""Database work of the chat, off the event loop, on a few threads of its own.

Channels' default is one thread for the whole process; a slow query would then hold up every conversation. Many threads
are no better: they wait for one another at the interpreter's lock, and an acknowledgement that asks the database seven
times waits there seven times. So there are few, and what a customer waits for at the door (hello, the acknowledgement
of a message) goes before the making of answers.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar

from django.conf import settings
from django.db import close_old_connections

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
                job = next(line.jobs for line in lines if line.jobs).popleft()
            job.work()
            del job  # else its result lives until the next one


class Job(Generic[R]):
    """A call that an event loop waits for."""

    def __init__(self, call: Callable[[], R]) -> None:
        self._call, self._loop = call, asyncio.get_running_loop()
        self.answer: asyncio.Future[R] = self._loop.create_future()

    def work(self) -> None:
        """Calls, in a thread, unless nobody waits for it any more."""
        if self.answer.cancelled():
            return
        try:
            result = self._call()
        except StopIteration as error:  # which no future takes
            self._tell(self.answer.set_exception, RuntimeError(f"StopIteration: {error}"))
        except BaseException as error:
            self._tell(self.answer.set_exception, error)
        else:
            self._tell(self.answer.set_result, result)

    def _tell(self, settle: Callable[[Any], None], told: Any) -> None:
        with suppress(RuntimeError):  # the event loop has ended, and with it whoever waited
            self._loop.call_soon_threadsafe(self._told, settle, told)

    def _told(self, settle: Callable[[Any], None], told: Any) -> None:
        if not self.answer.done():  # given up meanwhile
            settle(told)


class Line:
    """One of a desk's lines."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.jobs: deque[Job[Any]] = deque()

    def submit(self, call: Callable[[], R]) -> asyncio.Future[R]:
        """Queues a call; one whose future is cancelled before its turn comes is left undone."""
        job = Job(call)
        with self._desk.come:
            self.jobs.append(job)
            self._desk.open()
            self._desk.come.notify()  # who is at work looks for more before waiting: one awake is enough
            if self is self._desk.urgent:
                self._desk.urgent_come.notify()
        return job.answer


_desk = Desk(settings.DATABASE_THREADS)


def run_db(function: Callable[P, R]) -> Callable[P, Awaitable[R]]:
    """An awaitable form of a function that uses the ORM."""
    return _awaitable(function, _desk.begun)


def run_urgent(function: Callable[P, R]) -> Callable[P, Awaitable[R]]:
    """The same for short work that a client waits for."""
    return _awaitable(function, _desk.urgent)


def run_background(function: Callable[P, R]) -> Callable[P, Awaitable[R]]:
    """The same for work that waits until nobody's answer is being made."""
    return _awaitable(function, _desk.rest)


def _awaitable(function: Callable[P, R], line: Line) -> Callable[P, Awaitable[R]]:
    # Context variables go along; what asgiref keeps by thread (an activated translation) does not.
    async def call(*args: P.args, **kwargs: P.kwargs) -> R:
        work = partial(function, *args, **kwargs)
        return await line.submit(partial(copy_context().run, _connected, work))

    return call


def _connected(work: Callable[[], R]) -> R:
    """Works with a connection that is none of those that broke or grew too old, and gives it back to its pool."""
    close_old_connections()
    try:
        return work()
    finally:
        close_old_connections()
