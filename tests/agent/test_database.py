"""The desk: few threads, the urgent line first, then what was begun."""

import threading
from concurrent.futures import wait

import pytest

from agent.database import Desk


def test_what_is_urgent_passes_what_waits() -> None:
    desk = Desk(2)
    gate, end, order = threading.Event(), threading.Event(), []
    for line, event in ((desk.begun, gate), (desk.urgent, end)):
        began = threading.Event()
        line.submit(lambda began=began, event=event: (began.set(), event.wait(10)))
        assert began.wait(10)
    later = [
        line.submit(order.append, name)
        for name, line in (("rest", desk.rest), ("begun", desk.begun), ("urgent", desk.urgent))
        for _ in range(2)
    ]
    gate.set()
    wait(later, timeout=10)
    end.set()
    assert order == ["urgent", "urgent", "begun", "begun", "rest", "rest"]


def test_slow_work_never_has_all_threads() -> None:
    desk = Desk(2)
    gate = threading.Event()
    slow = [desk.begun.submit(gate.wait, 30) for _ in range(10)]
    try:
        assert desk.urgent.submit(lambda: "told").result(10) == "told"
        assert not any(each.done() for each in slow)
    finally:
        gate.set()


def test_an_error_reaches_its_caller_and_the_thread_goes_on() -> None:
    desk = Desk(2)

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        desk.begun.submit(fail).result(10)
    assert desk.begun.submit(lambda: 1).result(10) == 1


def test_what_was_given_up_is_not_done() -> None:
    desk = Desk(2)
    gate, done = threading.Event(), []
    held = desk.begun.submit(gate.wait, 10)
    given_up = desk.begun.submit(done.append, 1)
    assert given_up.cancel()
    gate.set()
    held.result(10)
    desk.begun.submit(int).result(10)
    assert done == []
