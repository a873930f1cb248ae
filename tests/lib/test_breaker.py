"""A breaker opens after failures in a row, lets one request through after a while, and closes when that one succeeds."""

import threading

from pharmacy_site.lib.breaker import Breaker


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def opened(clock: Clock) -> Breaker:
    breaker = Breaker("part", failures=5, seconds=30, clock=clock)
    for _ in range(5):
        assert breaker.admits()
        breaker.failed()
    return breaker


def test_the_breaker_opens_after_five_failures_in_a_row() -> None:
    breaker = Breaker("part", failures=5, seconds=30, clock=Clock())
    for outcome in "ffffsffff":
        assert breaker.admits()
        breaker.failed() if outcome == "f" else breaker.succeeded()
    assert breaker.admits()
    breaker.failed()
    assert not breaker.admits()


def test_after_thirty_seconds_one_trial_request_decides() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now = 29.9
    assert not breaker.admits()
    clock.now = 30.0
    assert [breaker.admits() for _ in range(3)] == [True, False, False]
    breaker.failed()
    clock.now = 59.9
    assert not breaker.admits()
    clock.now = 60.0
    assert breaker.admits()
    breaker.succeeded()
    assert all(breaker.admits() for _ in range(3))


def test_an_unfinished_trial_blocks_the_next_only_for_a_time() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now = 30.0
    assert breaker.admits()
    clock.now = 60.0
    assert breaker.admits()


def test_only_one_of_many_threads_gets_the_trial() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now = 30.0
    admitted: list[bool] = []
    threads = [threading.Thread(target=lambda: admitted.append(breaker.admits())) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(admitted) == 1
