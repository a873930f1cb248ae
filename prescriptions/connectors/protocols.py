"""Define what the refill workflow asks of a health record and of a dispenser; free of any wire format.

An implementation answers within its time-out or raises `ConnectorTimeout`, and never retries an order by itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal, Protocol

from pharmacy_site.lib.errors import PharmacyError

OrderState = Literal["accepted", "cancelled", "absent"]


class ConnectorError(PharmacyError):
    """The other system gave no answer that can be used."""


class ConnectorDown(ConnectorError):
    """It could not be reached, or its circuit breaker is open: nothing was sent."""


class ConnectorTimeout(ConnectorError):
    """It did not answer in time: what was sent may have been carried out."""


class ConnectorGarbage(ConnectorError):
    """It answered with something unreadable: what was sent may have been carried out."""


class OrderRefused(PharmacyError):
    """The dispenser answered that it does not carry out this order; a regular answer, not a failure."""


@dataclass(frozen=True)
class LabValue:
    """The newest value of one laboratory test."""

    value: Decimal
    taken_on: date


@dataclass(frozen=True)
class HealthRecord:
    """What the health record knows of a patient; allergies are classes, and keys of ingredients."""

    labs: Mapping[str, LabValue]
    allergy_classes: tuple[str, ...] = ()
    allergy_ingredients: tuple[str, ...] = ()


@dataclass(frozen=True)
class Order:
    """An order to the dispenser; the same `key` is carried out at most once."""

    key: str
    medication_id: int
    units: int
    # None: sent to the address on file.
    store_id: int | None


class EHR(Protocol):
    """The electronic health record."""

    def record(self, mrn: str) -> HealthRecord:
        """Return a patient's record. Raises ConnectorError."""


class Dispensing(Protocol):
    """The dispensing system."""

    def submit(self, order: Order) -> None:
        """Have an order carried out. Raises OrderRefused, ConnectorError."""

    def status(self, key: str) -> OrderState:
        """Return what became of an order. Raises ConnectorError."""

    def cancel(self, key: str) -> None:
        """Take back an order that is not prepared yet; one that is unknown counts as taken back. Raises ConnectorError."""

    def accepted_keys(self) -> set[str]:
        """Return the keys of all orders carried out and not cancelled, for reconciliation. Raises ConnectorError."""
