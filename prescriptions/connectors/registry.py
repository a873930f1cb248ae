"""Choose the connectors, and call them behind a circuit breaker each.

A refusal is an answer; only an error of the connection counts as a failure. While a breaker is open nothing is sent.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from django.conf import settings
from django.db import DatabaseError

from pharmacy_site.lib.breaker import Breaker
from prescriptions.connectors.protocols import (
    EHR,
    ConnectorDown,
    ConnectorError,
    ConnectorGarbage,
    Dispensing,
    HealthRecord,
    Order,
    OrderRefused,
    OrderState,
)
from prescriptions.connectors.simulated import SimulatedDispenser, SimulatedEHR
from prescriptions.switches import board

T = TypeVar("T")


class Guarded:
    """A connector's circuit breaker."""

    def __init__(self, name: str) -> None:
        self.breaker = Breaker(
            name, failures=settings.CONNECTOR_FAILURES, seconds=settings.CONNECTOR_RECOVERY
        )

    def call(self, work: Callable[[], T]) -> T:
        """Return what the call returns, and count whether the system answered. Raises ConnectorError, OrderRefused."""
        if not self.breaker.admits():
            raise ConnectorDown("left alone for a while")
        try:
            result = work()
        except OrderRefused:
            self.breaker.succeeded()
            raise
        except ConnectorError:
            self.breaker.failed()
            raise
        except DatabaseError:
            # The simulator's tables are ours: no other system has failed.
            raise
        except Exception as error:
            # Whatever a driver raises, it could not read the answer; the error's text may hold personal data.
            self.breaker.failed()
            raise ConnectorGarbage(type(error).__name__) from error
        self.breaker.succeeded()
        return result


class GuardedEHR(Guarded):
    """The health record behind its breaker."""

    def __init__(self, ehr: EHR) -> None:
        super().__init__("health record")
        self._ehr = ehr

    def record(self, mrn: str) -> HealthRecord:
        """Return a patient's record. Raises ConnectorError."""
        return self.call(lambda: self._read(mrn))

    def _read(self, mrn: str) -> HealthRecord:
        found: object = self._ehr.record(mrn)
        if not isinstance(found, HealthRecord):
            # Without a record, its rules would find nothing to object to.
            raise ConnectorGarbage(type(found).__name__)
        return found


class GuardedDispensing(Guarded):
    """The dispenser behind its breaker."""

    def __init__(self, dispenser: Dispensing) -> None:
        super().__init__("dispenser")
        self._dispenser = dispenser

    def submit(self, order: Order) -> None:
        """Have an order carried out, unless operators have switched dispensing off. Raises OrderRefused, ConnectorError."""
        if board.read().dispensing_off:
            raise ConnectorDown("switched off")
        self.call(lambda: self._dispenser.submit(order))

    def status(self, key: str) -> OrderState:
        """Return what became of an order. Raises ConnectorError."""
        return self.call(lambda: self._dispenser.status(key))

    def cancel(self, key: str) -> None:
        """Take an order back. Raises ConnectorError."""
        self.call(lambda: self._dispenser.cancel(key))

    def accepted_keys(self) -> set[str]:
        """Return the keys of all orders carried out. Raises ConnectorError."""
        return self.call(self._dispenser.accepted_keys)


@dataclass(frozen=True)
class Connectors:
    """The systems that a refill talks to."""

    ehr: EHR
    dispenser: Dispensing


@cache
def connectors() -> Connectors:
    """Return this process's connectors: the simulator, until an address of a real system can be set."""
    timeout = settings.CONNECTOR_TIMEOUT
    return Connectors(
        GuardedEHR(SimulatedEHR(timeout=timeout)), GuardedDispensing(SimulatedDispenser(timeout=timeout))
    )
