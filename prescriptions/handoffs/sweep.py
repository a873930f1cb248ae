"""Remind of hand-offs at half of their time, raise them to a supervisor at its end, and release forgotten claims.

Deadlines are rows; this looks for those that are due, every few seconds, in one process at a time for each of them.
"""

import logging
from datetime import timedelta
from typing import Final
from uuid import uuid4

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from pharmacy_site.lib.errors import trace_of
from prescriptions.audit import Access
from prescriptions.handoffs.services import claims_expire, handoff_raise
from prescriptions.handoffs.staff_notices import staff_notify
from prescriptions.models import Handoff, HandoffDeadline, Notification

logger = logging.getLogger(__name__)
_LATE: Final = timedelta(minutes=2)


def handoffs_sweep() -> None:
    """Do all that is due; safe to run at any time, in several processes."""
    deadlines_take()
    claims_expire()


def deadlines_take() -> int:
    """Take the deadlines that are due, and return how many needed something to be done.

    One that fails stays due, and keeps no other from being taken.
    """
    due = HandoffDeadline.objects.filter(done_at=None, due_at__lte=timezone.now()).order_by("due_at", "pk")
    taken = 0
    for pk in list(due.values_list("pk", flat=True)):
        try:
            taken += _take(pk)
        except Exception as error:
            logger.error("deadline %s was not taken: %s at %s", pk, type(error).__name__, trace_of(error))
    return taken


def deadlines_late() -> QuerySet[HandoffDeadline]:
    """Return the deadlines that no sweep takes although they have long been due: none runs, or it fails at them."""
    return HandoffDeadline.objects.filter(done_at=None, due_at__lte=timezone.now() - _LATE)


def _take(pk: int) -> bool:
    with transaction.atomic():
        handoff_id = HandoffDeadline.objects.values_list("handoff", flat=True).get(pk=pk)
        handoff = Handoff.objects.select_for_update(of=("self",)).get(pk=handoff_id)
        now = timezone.now()
        needed = not handoff.is_over
        deadline = HandoffDeadline.objects.get(pk=pk)
        if deadline.phase == HandoffDeadline.Phase.CLAIM and handoff.claimed_by_id is not None:
            needed = False
        taken = HandoffDeadline.objects.filter(pk=pk, done_at=None).update(done_at=now, is_needed=needed)
        if not (taken and needed):
            return False
        # A phase may begin anew, and is announced anew then.
        again = f"{deadline.phase}-{uuid4().hex[:8]}"
        if deadline.action == HandoffDeadline.Action.RAISE:
            handoff_raise(handoff, access=Access("system", "sweep"), phase=deadline.phase, again=again)
        else:
            staff_notify(handoff, Notification.Kind.HANDOFF_REMINDER, again=again)
    return True
