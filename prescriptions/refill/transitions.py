"""Change a refill request: each step is one transaction with a compare-and-set, its record, and an audit line.

`select_for_update` does nothing on SQLite, so nobody reads the row and relies on it: the UPDATE carries the state and
the version that were read, and whoever loses gets RefillChangedMeanwhile and has changed nothing.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from prescriptions.audit import Access, audit_record
from prescriptions.errors import RefillChangedMeanwhile
from prescriptions.models import RefillRequest, RefillTransition
from prescriptions.refill.states import Event, State, next_state
from prescriptions.signals import refill_changed

Effect = Callable[[RefillRequest], None]
# Added to the id, so that the first customer does not read "R-1".
_NUMBER_OFFSET: Final = 1000


def request_number(request: RefillRequest, event: str, access: Access) -> None:
    """Number a new request and record its first state; in the transaction of its creation."""
    request.number = f"R-{_NUMBER_OFFSET + request.pk}"
    RefillRequest.objects.filter(pk=request.pk).update(number=request.number)
    RefillTransition.objects.create(
        request=request, version=0, walk=1, to_state=str(State.COLLECT), event=event, actor=access.who
    )


def request_move(
    request: RefillRequest,
    event: Event,
    *,
    actor: str,
    where: str,
    detail: Mapping[str, Any] | None = None,
    fields: Mapping[str, Any] | None = None,
    effect: Effect | None = None,
) -> None:
    """Move the request by an event of the table; `effect` runs in the same transaction and may refuse by raising.

    Raises IllegalTransition, RefillChangedMeanwhile. Afterwards `request` is as it is stored.
    """
    target = next_state(State(request.state), event)
    _apply(request, str(event), target, actor, where, detail, fields, effect)


def request_note(
    request: RefillRequest,
    event: str,
    *,
    actor: str,
    where: str,
    detail: Mapping[str, Any] | None = None,
    fields: Mapping[str, Any] | None = None,
    effect: Effect | None = None,
) -> None:
    """Record an event that leaves the state as it is (an order sent, a decision, "ready"), in the same way."""
    _apply(request, event, State(request.state), actor, where, detail, fields, effect)


def _apply(
    request: RefillRequest,
    event: str,
    target: State,
    actor: str,
    where: str,
    detail: Mapping[str, Any] | None,
    fields: Mapping[str, Any] | None,
    effect: Effect | None,
) -> None:
    before, version = request.state, request.version
    changes = dict(fields or {})
    with transaction.atomic():
        changed = RefillRequest.objects.filter(pk=request.pk, state=before, version=version).update(
            state=str(target), version=F("version") + 1, updated_at=timezone.now(), **changes
        )
        if not changed:
            raise RefillChangedMeanwhile
        RefillTransition.objects.create(
            request_id=request.pk,
            version=version + 1,
            walk=changes.get("walk", request.walk),
            from_state=before,
            to_state=str(target),
            event=event,
            actor=actor,
            detail=dict(detail or {}),
        )
        current = RefillRequest.objects.select_related("patient", "prescription__medication", "store").get(
            pk=request.pk
        )
        if effect:
            effect(current)
        # First the signal, whose receivers may lock a conversation.
        refill_changed.send(sender=RefillRequest, request=current, event=event)
        # Last, because all other audit lines wait for it.
        audit_record(
            who=actor,
            what="refill_moved" if before != target else f"refill_{event}",
            where=where,
            why=current.reason,
            patient=current.patient,
            detail={"refill": request.number, "from": before, "to": str(target), "walk": current.walk},
        )
    request.refresh_from_db()
