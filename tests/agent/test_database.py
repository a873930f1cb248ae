"""The desk: few threads, the urgent line first, then what was begun."""

import asyncio
import threading
from contextvars import ContextVar

import pytest

from agent.threads import Desk, in_database

pytestmark = pytest.mark.django_db(transaction=True)  # its threads may have a connection from a test before


async def test_what_is_urgent_passes_what_waits() -> None:
    desk = Desk(2)
    gate, end, order = threading.Event(), threading.Event(), []
    for line, event in ((desk.begun, gate), (desk.urgent, end)):
        began = threading.Event()
        line.submit(lambda began=began, event=event: (began.set(), event.wait(10)))
        assert began.wait(10)
    later = [
        line.submit(lambda name=name: order.append(name))
        for name, line in (("rest", desk.rest), ("begun", desk.begun), ("urgent", desk.urgent))
        for _ in range(2)
    ]
    gate.set()
    await asyncio.wait(later, timeout=10)
    end.set()
    assert order == ["urgent", "urgent", "begun", "begun", "rest", "rest"]


async def test_slow_work_never_has_all_threads() -> None:
    desk = Desk(2)
    gate = threading.Event()
    slow = [desk.begun.submit(lambda: gate.wait(30)) for _ in range(10)]
    try:
        assert await asyncio.wait_for(desk.urgent.submit(lambda: "told"), 10) == "told"
        assert not any(each.done() for each in slow)
    finally:
        gate.set()


async def test_an_error_reaches_its_caller_and_the_thread_goes_on() -> None:
    desk = Desk(2)

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await desk.begun.submit(fail)
    assert await desk.begun.submit(lambda: 1) == 1


async def test_an_iteration_that_ends_unasked_is_an_error_like_any_other() -> None:
    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(Desk(2).begun.submit(lambda: next(iter(()))), 10)


async def test_what_was_given_up_is_not_done() -> None:
    desk = Desk(2)
    gate, done = threading.Event(), []
    held = desk.begun.submit(lambda: gate.wait(10))
    given_up = desk.begun.submit(lambda: done.append(1))
    assert given_up.cancel()
    gate.set()
    await held
    await desk.begun.submit(int)
    assert done == []


async def test_what_is_given_up_while_it_is_done_disturbs_nobody() -> None:
    began, gate, done = threading.Event(), threading.Event(), []

    def work() -> None:
        began.set()
        gate.wait(10)
        done.append(1)

    waiting = asyncio.create_task(in_database(work)())
    await asyncio.to_thread(began.wait, 10)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    gate.set()
    assert await in_database(lambda: 1)() == 1
    assert done == [1]


def test_an_event_loop_that_ends_leaves_the_thread_to_the_next() -> None:
    desk = Desk(2)
    began, gate = threading.Event(), threading.Event()

    async def left() -> None:
        desk.begun.submit(lambda: (began.set(), gate.wait(10)))
        await asyncio.to_thread(began.wait, 10)

    async def told() -> int:
        return await desk.begun.submit(lambda: 1)

    asyncio.run(left())
    gate.set()
    assert asyncio.run(told()) == 1


async def test_the_work_sees_what_its_caller_has_set_and_sets_nothing_for_it() -> None:
    said: ContextVar[str] = ContextVar("said", default="nothing")

    def work() -> str:
        heard = said.get()
        said.set("by the work")
        return heard

    said.set("by the caller")
    assert await in_database(work)() == "by the caller"
    assert said.get() == "by the caller"
