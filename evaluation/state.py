"""Read and compare what a conversation leaves in the database: effects, without ids, times, texts, reads or logs."""

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from django.db.models import QuerySet

from agent.models import Confirmation
from inventory.models import StockLevel
from prescriptions.models import Challenge, Handoff, Notification, Patient, Prescription

State = dict[str, list[list[Any]]]

_TABLES: Final[dict[str, Callable[[], list[list[Any]]]]] = {
    "handoffs": lambda: _rows(Handoff.objects.all(), "reason", "state", "patient__mrn"),
    # An unanswered question, and a code that nobody entered, are not effects.
    "confirmations": lambda: _rows(
        Confirmation.objects.filter(state="yes"), "action", "payload__prescription"
    ),
    "challenges": lambda: _rows(
        Challenge.objects.filter(state__in=["used", "failed"]), "patient__mrn", "state", "tries_left"
    ),
    "notifications": lambda: _rows(Notification.objects.all(), "kind", "recipient"),
    "prescriptions": lambda: _rows(
        Prescription.objects.all(), "pk", "patient__mrn", "status", "refills_left"
    ),
    "stock": lambda: _rows(StockLevel.objects.all(), "store_id", "medication_id", "quantity"),
    "patients": lambda: _rows(Patient.objects.all(), "mrn", "email", "phone", "allergy_status"),
}


def state_read() -> State:
    """Return the sorted rows of every table that is compared."""
    return {name: read() for name, read in _TABLES.items()}


def state_hash(state: State) -> str:
    """Return the hash of a state."""
    return hashlib.sha256(json.dumps(state, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def state_problems(state: State, wanted: Sequence[State]) -> list[str]:
    """Return nothing if the state is one of those wanted, else how each table differs from the first of them."""
    if state_hash(state) in map(state_hash, wanted):
        return []
    return [
        f"state: {name} has {_without(state[name], rows)}, lacks {_without(rows, state[name])}"
        for name, rows in wanted[0].items()
        if state[name] != rows
    ]


def _rows(rows: QuerySet[Any], *columns: str) -> list[list[Any]]:
    return sorted((list(row) for row in rows.values_list(*columns)), key=json.dumps)


def _without(rows: list[list[Any]], others: list[list[Any]]) -> list[list[Any]]:
    rest = list(others)
    return [row for row in rows if row not in rest or rest.remove(row)]  # type: ignore[func-returns-value]
