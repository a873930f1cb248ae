"""Send e-mails to people: write a row in the transaction of the cause, send it after the commit, outside the request.

Without a broker, one thread of this process sends. With a broker, that thread only publishes a task, so that a hanging
broker delays no answer. A sender claims a row by a conditional update with a lease, so that no two senders send it; a
sender that dies between sending and storing the result may cause a second e-mail, never a missing one.
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

# Longer than a mail server's time-out.
_LEASE: Final = timedelta(seconds=60)
_ATTEMPTS: Final = 5
# Doubled after each failed attempt.
_BACK_OFF: Final = timedelta(seconds=15)
_State = Notification.State


@dataclass(frozen=True)
class InboxMessage:
    """An e-mail as the demo inbox shows it."""

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
    """Write the row, once per key, and send it after the commit; without a recipient it is discarded at sending."""
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


def inbox(conversation_id: UUID) -> list[InboxMessage]:
    """Return the e-mails of this conversation, oldest first; none unless DEBUG is on."""
    if not settings.DEBUG:
        return []
    rows = Notification.objects.filter(conversation_id=conversation_id).exclude(recipient="").order_by("id")
    return [InboxMessage(row.recipient, _text(row), row.context.get("code")) for row in rows]


def _text(row: Notification) -> str:
    return notice(row.kind, row.language, row.context, ttl=settings.IDENTITY_CODE_TTL).body


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


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="notifications")


def _deliver_soon() -> None:
    """Send what is due, in a thread of this process unless the settings say otherwise."""
    if settings.NOTIFICATIONS_INLINE:
        notifications_drain()
    else:
        _pool().submit(_deliver_in_thread)


def _deliver_in_thread() -> None:
    """Publish a task for the workers, or send from this thread if there is no broker or it does not answer."""
    close_old_connections()
    try:
        if not (settings.CELERY_BROKER_URL and _publish()):
            notifications_drain()
            _schedule_retry()
    except Exception as error:
        logger.error("notifications were not drained: %s", type(error).__name__)
    finally:
        # This thread may be idle for hours.
        connections.close_all()


def _publish() -> bool:
    """Publish the task and return whether the broker took it."""
    from prescriptions.tasks import notifications_deliver

    try:
        notifications_deliver.apply_async(retry=False)
    except Exception as error:
        logger.warning("no broker, notifications are sent from here: %s", type(error).__name__)
        return False
    return True


def _schedule_retry() -> None:
    """Send again when the next failed row is due: without a broker there is no periodic task for that."""
    waiting = (
        Notification.objects.filter(state=_State.PENDING).order_by("due_at").values_list("due_at", flat=True)
    )
    due_at = waiting.first()
    if due_at is not None:
        seconds = max(1.0, (due_at - timezone.now()).total_seconds())
        timer = threading.Timer(seconds, lambda: _pool().submit(_deliver_in_thread))
        timer.daemon = True
        timer.start()
