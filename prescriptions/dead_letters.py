"""Deal with messages that were given up: count them, have them sent again, set them aside."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Least
from django.utils import timezone

from prescriptions.audit import Access, audit_record
from prescriptions.models import Notification
from prescriptions.outbox import notifications_due

_State = Notification.State
# A message that has been due for so long has no sender.
_STUCK: Final = timedelta(minutes=2)


def dead_letters() -> QuerySet[Notification]:
    """Return the messages that were given up and are still of use: a code that has expired is not."""
    unexpired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    return Notification.objects.filter(unexpired, state=_State.FAILED).exclude(
        kind=Notification.Kind.IDENTITY_CODE
    )


def notifications_stuck() -> QuerySet[Notification]:
    """Return the messages that nobody sends although it has long been their turn."""
    return notifications_due(_STUCK)


def notifications_retry(rows: Iterable[int], *, access: Access) -> int:
    """Have dead letters sent again, from the first attempt on, and return how many; each is a line of the audit log.

    The key stays: a webhook that had it already takes it for a repetition. So does the mark of an e-mail that may have
    arrived.
    """
    return _change(
        rows,
        access,
        "notification_retried",
        state=_State.PENDING,
        due_at=timezone.now(),
        attempts=0,
        unknown=Least("unknown", 1),
    )


def notifications_set_aside(rows: Iterable[int], *, access: Access) -> int:
    """End dead letters that nobody needs any more, and return how many; each is a line of the audit log."""
    return _change(rows, access, "notification_set_aside", state=_State.DISCARDED, context={})


def _change(rows: Iterable[int], access: Access, what: str, **changes: object) -> int:
    done = 0
    for pk in rows:
        with transaction.atomic():
            if dead_letters().filter(pk=pk).update(**changes):
                audit_record(who=access.who, what=what, where=access.where, detail={"row": pk})
                done += 1
    return done
