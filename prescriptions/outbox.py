"""Send the rows of messages that are due: claim, send, and store the result; a failed one is retried later."""

import logging
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.core.mail import send_mail
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from prescriptions.models import Notification
from prescriptions.notices import notice

logger = logging.getLogger(__name__)

# Longer than a mail server's time-out.
_LEASE: Final = timedelta(seconds=60)
_ATTEMPTS: Final = 5
# Doubled after each failed attempt.
_BACK_OFF: Final = timedelta(seconds=15)
_State = Notification.State


def notifications_drain() -> int:
    """Send all that are due and return how many were sent; several senders may run at the same time."""
    sent = 0
    for pk in list(_due().order_by("id").values_list("pk", flat=True)):
        if notification_claim(pk):
            sent += _deliver(Notification.objects.get(pk=pk))
    return sent


def notification_claim(pk: int) -> bool:
    """Claim the row for the time of the lease and return whether this sender got it."""
    lease = timezone.now() + _LEASE
    return bool(_due().filter(pk=pk).update(state=_State.SENDING, due_at=lease, attempts=F("attempts") + 1))


def _due() -> QuerySet[Notification]:
    now = timezone.now()
    return Notification.objects.filter(Q(state=_State.PENDING) | Q(state=_State.SENDING), due_at__lte=now)


def _deliver(row: Notification) -> int:
    """Send one claimed row and return 1, or 0 if it was discarded or failed."""
    if not row.recipient or (row.expires_at and row.expires_at <= timezone.now()):
        _finish(row, _State.DISCARDED)
        return 0
    message = notice(row.kind, row.language, row.context, ttl=settings.IDENTITY_CODE_TTL)
    try:
        send_mail(message.subject, message.body, None, [row.recipient])
    except Exception as error:
        # Retried whatever the mail server or its library raises. Only the class is logged: the text of a mail error
        # quotes the recipient.
        logger.warning("notification %s was not sent: %s", row.pk, type(error).__name__)
        if row.attempts >= _ATTEMPTS:
            _finish(row, _State.FAILED)
        else:
            due_at = timezone.now() + _BACK_OFF * 2 ** (row.attempts - 1)
            Notification.objects.filter(pk=row.pk).update(state=_State.PENDING, due_at=due_at)
        return 0
    _finish(row, _State.SENT)
    return 1


def _finish(row: Notification, state: Notification.State) -> None:
    """Set the final state and delete the code, except for the demo inbox (in DEBUG)."""
    changes: dict[str, object] = {"state": state}
    if state == _State.SENT:
        changes["sent_at"] = timezone.now()
    if not (settings.DEBUG and row.recipient):
        changes["context"] = {}
    Notification.objects.filter(pk=row.pk).update(**changes)
