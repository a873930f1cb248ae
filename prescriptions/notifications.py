"""Send messages to people: write a row in the transaction of the cause, send it after the commit, outside the request.

Without a broker, one thread of this process sends. With a broker, that thread only publishes a task, so that a hanging
broker delays no answer; if it cannot, it sends. What is left over is found by a sweep: Celery's beat, and each web process.
How a row is claimed and sent: `prescriptions.outbox`.
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
from django.db import close_old_connections, connections, transaction
from django.utils import timezone

from prescriptions.models import Notification
from prescriptions.notices import notice
from prescriptions.outbox import notifications_drain

logger = logging.getLogger(__name__)
# Set while a thread that sends was asked for and has not begun.
_woken: Final = threading.Event()
_PUBLISH_SECONDS: Final = 1
_PUBLISH_OPTIONS: Final = {
    # Redis; RabbitMQ.
    "socket_timeout": _PUBLISH_SECONDS,
    "socket_connect_timeout": _PUBLISH_SECONDS,
    "read_timeout": _PUBLISH_SECONDS,
    "write_timeout": _PUBLISH_SECONDS,
}
# Seconds after which a task that no worker took is dropped: the periodic one finds the same rows.
_TASK_EXPIRES: Final = 60


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
    channel: str = Notification.Channel.EMAIL,
    lane: str = "",
    delay: float = 0,
) -> Notification:
    """Write the row, once per key, and send it so many seconds after the commit.

    An e-mail without a recipient is discarded at sending. Rows of one `lane` are sent in the order in which they were
    written, so nobody reads of an end before the beginning.
    """
    row, created = Notification.objects.get_or_create(
        key=key,
        defaults={
            "channel": channel,
            "lane": lane,
            "kind": kind,
            "recipient": recipient,
            "language": language,
            "context": dict(context),
            "conversation_id": conversation_id,
            "expires_at": expires_at,
            "due_at": timezone.now() + timedelta(seconds=delay),
        },
    )
    if created:
        transaction.on_commit(_deliver_soon, robust=True)
    return row


def notifications_discard(conversation_id: UUID, kind: str) -> None:
    """Send no e-mail of this kind any more that still waits for a conversation: its cause is gone."""
    waiting = Notification.objects.filter(
        conversation_id=conversation_id, kind=kind, state=Notification.State.PENDING
    )
    waiting.update(state=Notification.State.DISCARDED, context={})


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
    elif not _woken.is_set():
        # A thread that has not begun yet will find this row as well.
        _woken.set()
        _pool().submit(_deliver_in_thread)


def _deliver_in_thread() -> None:
    """Publish a task for the workers, or send from this thread if there is no broker or it does not answer."""
    _woken.clear()
    close_old_connections()
    try:
        if not (settings.CELERY_BROKER_URL and _publish()):
            notifications_drain(senders=settings.NOTIFICATION_SENDERS)
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
        # On a connection of its own: a worker's has to wait longer, and one that was kept may be dead.
        with notifications_deliver.app.connection_for_write(
            connect_timeout=_PUBLISH_SECONDS, transport_options=_PUBLISH_OPTIONS
        ) as broker:
            notifications_deliver.apply_async(connection=broker, retry=False, expires=_TASK_EXPIRES)
    except Exception as error:
        logger.warning("no broker, notifications are sent from here: %s", type(error).__name__)
        return False
    return True


def notifications_sweep() -> None:
    """Send what waits: without a broker all that is due, else what no worker has sent for a while."""
    wait = settings.SWEEP_BESIDE_BEAT if settings.CELERY_BROKER_URL else 0
    notifications_drain(senders=settings.NOTIFICATION_SENDERS, overdue=timedelta(seconds=wait))
