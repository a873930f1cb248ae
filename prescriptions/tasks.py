"""Run this app's background work; each task is one service call."""

from celery import shared_task

from prescriptions.outbox import notifications_drain


@shared_task  # type: ignore[untyped-decorator]
def notifications_deliver() -> None:
    """Send every notification that is due; safe to run at any time, several times at once."""
    notifications_drain()
