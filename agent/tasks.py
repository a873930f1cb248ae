"""Run this app's background work; each task is one service call."""

from celery import shared_task

from agent.retention import retention_apply


@shared_task(time_limit=3_600, soft_time_limit=3_540)  # type: ignore[untyped-decorator]
def retention_run() -> None:
    """Delete everything that is past its time; safe to run at any time."""
    retention_apply(where="beat")
