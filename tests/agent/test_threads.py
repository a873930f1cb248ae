"""Database work off the event loop: urgent calls do not wait for others, cancelled ones are not made."""

import asyncio
import threading
from contextvars import ContextVar

import pytest

from agent.threads import run_db, run_urgent

# The threads may have connections of earlier tests, which each call looks at.
pytestmark = pytest.mark.django_db


async def test_urgent_work_is_done_while_all_other_threads_are_busy() -> None:
    gate = threading.Event()
    slow = [asyncio.create_task(run_db(gate.wait)(30)) for _ in range(10)]
    try:
        assert await asyncio.wait_for(run_urgent(lambda: "done")(), 10) == "done"
        assert not any(each.done() for each in slow)
    finally:
        gate.set()
        await asyncio.wait(slow)


async def test_work_is_done_in_the_order_in_which_it_came() -> None:
    gate, order = threading.Event(), []
    calls = [asyncio.create_task(run_urgent(gate.wait)(10))]
    calls += [asyncio.create_task(run_urgent(order.append)(number)) for number in range(5)]
    await asyncio.sleep(0)
    gate.set()
    await asyncio.wait(calls, timeout=10)
    assert order == [0, 1, 2, 3, 4]


async def test_an_error_reaches_its_caller_and_the_thread_goes_on() -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await run_db(fail)()
    assert await run_db(lambda: 1)() == 1


async def test_stop_iteration_reaches_its_caller_as_an_error() -> None:
    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(run_db(lambda: next(iter(())))(), 10)


async def test_work_that_was_cancelled_while_it_waited_is_not_done() -> None:
    gate, done = threading.Event(), []
    held = asyncio.create_task(run_urgent(gate.wait)(10))
    given_up = asyncio.create_task(run_urgent(done.append)(1))
    await asyncio.sleep(0)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    gate.set()
    await held
    await run_urgent(int)()
    assert done == []


async def test_cancelling_a_caller_does_not_disturb_other_work() -> None:
    began, gate, done = threading.Event(), threading.Event(), []

    def work() -> None:
        began.set()
        gate.wait(10)
        done.append(1)

    waiting = asyncio.create_task(run_db(work)())
    await asyncio.to_thread(began.wait, 10)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    gate.set()
    assert await run_db(lambda: 1)() == 1
    assert done == [1]


def test_a_thread_serves_the_next_event_loop_after_one_has_ended() -> None:
    began, gate = threading.Event(), threading.Event()

    async def abandon() -> None:
        task = asyncio.create_task(run_db(lambda: (began.set(), gate.wait(10)))())
        await asyncio.to_thread(began.wait, 10)
        task.cancel()

    async def work() -> int:
        return await run_db(lambda: 1)()

    asyncio.run(abandon())
    gate.set()
    assert asyncio.run(work()) == 1


async def test_work_reads_its_callers_context_variables_and_does_not_change_them() -> None:
    said: ContextVar[str] = ContextVar("said", default="nothing")

    def work() -> str:
        before = said.get()
        said.set("by the work")
        return before

    said.set("by the caller")
    assert await run_db(work)() == "by the caller"
    assert said.get() == "by the caller"
