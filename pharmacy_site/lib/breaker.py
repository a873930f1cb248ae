"""A circuit breaker: stop calling a service that keeps failing, then try it again with one request."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final
from weakref import WeakSet

log = logging.getLogger(__name__)


_all: Final["WeakSet[Breaker]"] = WeakSet()


def breakers() -> dict[str, bool]:
    """Return which breakers of this process are open, by name; of several with one name, whether any is."""
    found: dict[str, bool] = {}
    for breaker in list(_all):
        found[breaker.name] = found.get(breaker.name, False) or breaker.is_open
    return dict(sorted(found.items()))


class Breaker:
    """Open after `failures` in a row; after `seconds` let one request through, whose outcome decides.

    It counts what this process alone has seen. Several threads may use it.
    """

    def __init__(
        self, name: str, *, failures: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.name, self._most, self._seconds, self._clock = name, failures, seconds, clock
        self._failed = 0
        self._shut_until = 0.0
        self._lock = threading.Lock()
        _all.add(self)

    @property
    def is_open(self) -> bool:
        """Return whether the service counts as down."""
        return self._failed >= self._most

    def admits(self) -> bool:
        """Return whether a request may be made now; report its outcome with `succeeded` or `failed`."""
        with self._lock:
            if not self.is_open:
                return True
            if self._clock() < self._shut_until:
                return False
            self._shut_until = self._clock() + self._seconds  # for everybody but this one
            return True

    def succeeded(self) -> None:
        """Record that the service answered."""
        with self._lock:
            if self.is_open:
                log.warning("%s is back", self.name)
            self._failed = 0

    def failed(self) -> None:
        """Record that the service failed to answer."""
        with self._lock:
            self._failed += 1
            if self.is_open:
                if self._failed == self._most:
                    log.warning("%s failed %s times in a row: left alone", self.name, self._failed)
                self._shut_until = self._clock() + self._seconds
