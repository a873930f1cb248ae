"""Run the hand-offs' background work; each task is one service call."""

from celery import shared_task

from prescriptions.handoffs import sweep


@shared_task  # type: ignore[untyped-decorator]
def handoffs_sweep() -> None:
    """Remind of hand-offs, raise overdue ones, release forgotten claims; safe to run several times at once."""
    sweep.handoffs_sweep()
