"""Run this app's background work; each task is one service call."""

from celery import shared_task
from django.conf import settings

from prescriptions.audit.watching import audit_anchor_watched
from prescriptions.outbox import notifications_drain


@shared_task  # type: ignore[untyped-decorator]
def notifications_deliver() -> None:
    """Send every notification that is due; safe to run at any time, several times at once."""
    notifications_drain(senders=settings.NOTIFICATION_SENDERS)


@shared_task  # type: ignore[untyped-decorator]
def audit_anchor_write() -> None:
    """Write the head of the audit log outside the database, if that is due; safe to run at any time."""
    audit_anchor_watched()
