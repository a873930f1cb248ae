"""Run the refills' background work; each task is one service call."""

from celery import shared_task

from prescriptions.refill import sweep


@shared_task  # type: ignore[untyped-decorator]
def refills_sweep() -> None:
    """Release expired reservations, take up what was left in the middle, compare with the dispenser."""
    sweep.refills_sweep()
