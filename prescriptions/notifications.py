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
from datetime import datetime
from functools import cache
from uuid import UUID

from django.conf import settings
from django.db import close_old_connections, connections, transaction
from django.utils import timezone

from prescriptions.models import Notification
from prescriptions.notices import notice
from prescriptions.outbox import notifications_drain

logger = logging.getLogger(__name__)


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


def inbox(conversation_id: UUID) -> list[InboxMessage]:
    """Return the e-mails of this conversation, oldest first; none unless DEBUG is on."""
    if not settings.DEBUG:
        return []
    rows = Notification.objects.filter(conversation_id=conversation_id).exclude(recipient="").order_by("id")
    return [InboxMessage(row.recipient, _text(row), row.context.get("code")) for row in rows]


def _text(row: Notification) -> str:
    return notice(row.kind, row.language, row.context, ttl=settings.IDENTITY_CODE_TTL).body


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
    # Here, so that a site without a broker does not load Celery.
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
        Notification.objects.filter(state=Notification.State.PENDING)
        .order_by("due_at")
        .values_list("due_at", flat=True)
    )
    due_at = waiting.first()
    if due_at is not None:
        seconds = max(1.0, (due_at - timezone.now()).total_seconds())
        timer = threading.Timer(seconds, lambda: _pool().submit(_deliver_in_thread))
        timer.daemon = True
        timer.start()
