"""Messages to people: a row in the transaction of its cause, sent after the commit, away from the request.

Without a broker one thread of this process sends; with one, that thread only publishes a task, so that a
broker which hangs delays no answer. Senders claim a row by a conditional update with a lease, so two never
send the same one; a sender that dies between sending and noting it may send twice, never not at all.
"""

import logging
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Final
from uuid import UUID

from django.conf import settings
from django.core.mail import send_mail
from django.db import close_old_connections, connections, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from prescriptions.models import Notification
from prescriptions.notices import notice

logger = logging.getLogger(__name__)

_LEASE: Final = timedelta(seconds=60)  # longer than a mail server's time-out
_ATTEMPTS: Final = 5
_BACK_OFF: Final = timedelta(seconds=15)  # doubled after each failed attempt
_State = Notification.State


@dataclass(frozen=True)
class InboxMessage:
    """A message as the demo inbox shows it."""

    to: str
    text: str
    code: str | None


def notification_enqueue(
    *,
    key: str,
    kind: str,
    recipient: str,
    language: str,
    context: Mapping[str, str],
    conversation_id: UUID | None = None,
    expires_at: datetime | None = None,
) -> Notification:
    """Write the row, once per key, and have it sent after the commit; without a recipient it is discarded."""
    row, created = Notification.objects.get_or_create(
        key=key,
        defaults={
            "kind": kind,
            "recipient": recipient,
            "language": language,
            "context": dict(context),
            "conversation_id": conversation_id,
            "expires_at": expires_at,
            "due_at": timezone.now(),
        },
    )
    if created:
        transaction.on_commit(_deliver_soon, robust=True)
    return row


def notifications_drain() -> int:
    """Send all that is due and return how many were sent; several may drain at the same time."""
    sent = 0
    for pk in list(_due().order_by("id").values_list("pk", flat=True)):
        if _claimed(pk):
            sent += _deliver(Notification.objects.get(pk=pk))
    return sent


def inbox(conversation_id: UUID) -> list[InboxMessage]:
    """Return what was sent for this conversation, oldest first; nothing at all unless DEBUG is on."""
    if not settings.DEBUG:
        return []
    rows = Notification.objects.filter(conversation_id=conversation_id).exclude(recipient="").order_by("id")
    return [InboxMessage(row.recipient, _text(row), row.context.get("code")) for row in rows]


def _text(row: Notification) -> str:
    return notice(row.kind, row.language, row.context, ttl=settings.IDENTITY_CODE_TTL).body


def _due() -> QuerySet[Notification]:
    now = timezone.now()
    return Notification.objects.filter(Q(state=_State.PENDING) | Q(state=_State.SENDING), due_at__lte=now)


def _claimed(pk: int) -> bool:
    """Take the row for the time of the lease; of several senders one succeeds."""
    lease = timezone.now() + _LEASE
    return bool(_due().filter(pk=pk).update(state=_State.SENDING, due_at=lease, attempts=F("attempts") + 1))


def _deliver(row: Notification) -> int:
    if not row.recipient or (row.expires_at and row.expires_at <= timezone.now()):
        _finish(row, _State.DISCARDED)
        return 0
    message = notice(row.kind, row.language, row.context, ttl=settings.IDENTITY_CODE_TTL)
    try:
        send_mail(message.subject, message.body, None, [row.recipient])
    except Exception as error:  # whatever a mail server or its library does, the row is tried again
        # The class only: the text of a mail error quotes the recipient.
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
    """Close the row and forget its code, which only the demo inbox (in DEBUG) still shows."""
    changes: dict[str, object] = {"state": state}
    if state == _State.SENT:
        changes["sent_at"] = timezone.now()
    if not (settings.DEBUG and row.recipient):
        changes["context"] = {}
    Notification.objects.filter(pk=row.pk).update(**changes)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="notifications")


def _deliver_soon() -> None:
    if settings.NOTIFICATIONS_INLINE:
        notifications_drain()
    else:
        _pool().submit(_work)


def _work() -> None:
    """Publish to the workers, or send from here when there is no broker or it does not answer."""
    close_old_connections()
    try:
        if not (settings.CELERY_BROKER_URL and _published()):
            notifications_drain()
            _wake_for_retries()
    except Exception as error:
        logger.error("notifications were not drained: %s", type(error).__name__)
    finally:
        connections.close_all()  # this thread may sleep for hours


def _published() -> bool:
    from prescriptions.tasks import notifications_deliver

    try:
        notifications_deliver.apply_async(retry=False)
    except Exception as error:
        logger.warning("no broker, notifications are sent from here: %s", type(error).__name__)
        return False
    return True


def _wake_for_retries() -> None:
    """Without a broker nobody sweeps: come back when the next failed row is due."""
    waiting = (
        Notification.objects.filter(state=_State.PENDING).order_by("due_at").values_list("due_at", flat=True)
    )
    due_at = waiting.first()
    if due_at is not None:
        seconds = max(1.0, (due_at - timezone.now()).total_seconds())
        timer = threading.Timer(seconds, lambda: _pool().submit(_work))
        timer.daemon = True
        timer.start()
