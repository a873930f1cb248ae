"""A circuit breaker: a part that keeps failing is left alone for a while, then tried with one request."""

import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger(__name__)


class Breaker:
    """Opens after `failures` in a row; after `seconds` it lets one request through, whose outcome decides.

    One process's view of another part. Safe to use from several threads.
    """

    def __init__(
        self, name: str, *, failures: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._name, self._most, self._seconds, self._clock = name, failures, seconds, clock
        self._failed = 0
        self._shut_until = 0.0
        self._lock = threading.Lock()

    @property
    def is_open(self) -> bool:
        """Whether the part counts as down."""
        return self._failed >= self._most

    def admits(self) -> bool:
        """Whether a request may be made now; its outcome must be told by `succeeded` or `failed`."""
        with self._lock:
            if not self.is_open:
                return True
            if self._clock() < self._shut_until:
                return False
            self._shut_until = self._clock() + self._seconds  # for everybody but this one
            return True

    def succeeded(self) -> None:
        """The part answered."""
        with self._lock:
            if self.is_open:
                log.warning("%s is back", self._name)
            self._failed = 0

    def failed(self) -> None:
        """The part did not answer as it should."""
        with self._lock:
            self._failed += 1
            if self.is_open:
                if self._failed == self._most:
                    log.warning("%s failed %s times in a row: left alone", self._name, self._failed)
                self._shut_until = self._clock() + self._seconds
