"""Write the deadlines of a hand-off: rows, of which the sweep takes those that are due."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import F
from django.db.models.functions import Least

from prescriptions.handoffs.sla import Due
from prescriptions.models import Handoff, HandoffDeadline

Phase, _Action = HandoffDeadline.Phase, HandoffDeadline.Action
Dues = Iterable[tuple[HandoffDeadline.Phase, Due]]


def deadlines_write(handoff: Handoff, dues: Dues) -> None:
    """Let the time of these phases begin anew; nothing that was done in them before counts."""
    for phase, due in dues:
        _due_set(handoff, phase, due.end)
        for action, at in _moments(due):
            HandoffDeadline.objects.update_or_create(
                handoff=handoff,
                phase=phase,
                action=action,
                defaults={"due_at": at, "done_at": None, "is_needed": None},
            )


def deadlines_shorten(handoff: Handoff, dues: Dues) -> None:
    """Bring the deadlines of these phases forward to these times; none is put off."""
    for phase, due in dues:
        before = handoff.claim_due_at if phase == Phase.CLAIM else handoff.decide_due_at
        _due_set(handoff, phase, min(before, due.end) if before else due.end)
        for action, at in _moments(due):
            rows = HandoffDeadline.objects.filter(handoff=handoff, phase=phase, action=action, done_at=None)
            rows.update(due_at=Least(F("due_at"), at))


def _moments(due: Due) -> list[tuple[HandoffDeadline.Action, datetime]]:
    return [(_Action.REMIND, due.half), (_Action.RAISE, due.end)]


def _due_set(handoff: Handoff, phase: HandoffDeadline.Phase, at: datetime) -> None:
    name = "claim_due_at" if phase == Phase.CLAIM else "decide_due_at"
    setattr(handoff, name, at)
    handoff.save(update_fields=[name])
