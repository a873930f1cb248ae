"""Tell how far a refill request is, in the steps that a customer sees; computed from its record."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from prescriptions.models import RefillRequest, RefillTransition
from prescriptions.refill.states import END_STATES, Event, State

_Outcome, _Fulfilment = RefillRequest.Outcome, RefillRequest.Fulfilment
_PREPARED: Final = (_Fulfilment.READY, _Fulfilment.COLLECTED, _Fulfilment.RETURNED)
_NOT_SUBMITTED: Final = ("begun", "changed", "paused")

StageCode = Literal[
    "collecting", "received", "checked", "with_person", "approved", "preparing", "ready", "collected",
    "denied", "cancelled", "closed", "returned",
]  # fmt: skip


@dataclass(frozen=True)
class Stage:
    """One step: behind the customer ("done"), where the request is ("now"), to come ("next"), or its early end ("stopped")."""

    code: StageCode
    state: Literal["done", "now", "next", "stopped"]
    at: datetime | None = None


def stages_of(request: RefillRequest) -> list[Stage]:
    """Return the steps of a request in order."""
    rows = sorted(request.transitions.all(), key=lambda row: row.version)
    if not request.is_confirmed:
        return [Stage("cancelled", "stopped")] if request.outcome else [Stage("collecting", "now")]
    submitted = next((row for row in rows if row.event not in _NOT_SUBMITTED), None)
    stages = [Stage("received", "done", submitted.at if submitted else request.requested_at)]
    checked = _at(rows, Event.SAFE, Event.ESCALATED)
    stages.append(Stage("checked", "done" if checked else "now", checked))
    if asked := _at(rows, Event.HANDED_OFF):
        is_waiting = request.outcome is None and State(request.state) in END_STATES
        stages.append(Stage("with_person", "now" if is_waiting else "done", asked))
    return [*stages, *_ending(request, rows)]


def _ending(request: RefillRequest, rows: Sequence[RefillTransition]) -> list[Stage]:
    """Return the steps from the approval on, or how the request ended without being dispensed."""
    last = rows[-1].at if rows else None
    if request.outcome == _Outcome.DENIED:
        return [Stage("denied", "stopped", last)]
    if request.outcome == _Outcome.CANCELLED:
        return [Stage("cancelled", "stopped", last)]
    if request.outcome == _Outcome.CLOSED:
        return [Stage("closed", "stopped", last)]
    dispensed = _at(rows, Event.DISPENSED)
    if dispensed is None:
        is_sent = request.state == State.BACKEND
        return [
            Stage("approved", "now" if is_sent else "next"),
            *(Stage(code, "next") for code in _STILL_TO_COME),
        ]
    prepared = request.fulfilment in _PREPARED
    ready = _at(rows, "ready")
    stages = [
        Stage("approved", "done", dispensed),
        Stage("preparing", "done" if prepared else "now"),
        Stage(
            "ready",
            "now" if request.fulfilment == _Fulfilment.READY else "done" if prepared else "next",
            ready,
        ),
    ]
    if request.fulfilment == _Fulfilment.RETURNED:
        return [*stages, Stage("returned", "stopped", _at(rows, "returned"))]
    is_collected = request.fulfilment == _Fulfilment.COLLECTED
    return [*stages, Stage("collected", "done" if is_collected else "next", _at(rows, "collected"))]


_STILL_TO_COME: Final[tuple[StageCode, ...]] = ("preparing", "ready", "collected")


def _at(rows: Sequence[RefillTransition], *events: str) -> datetime | None:
    """Return when one of these events happened last."""
    return next((row.at for row in reversed(rows) if row.event in events), None)
