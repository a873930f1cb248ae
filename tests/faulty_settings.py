"""The site's settings with a dispenser whose answers get lost, a Celery queue of its own, and a sweep every second."""

import os

from kombu import Queue
from served_settings import *  # noqa: F403
from served_settings import INSTALLED_APPS as _APPS

INSTALLED_APPS = [*_APPS, "faulty_dispenser.FaultyDispenser"]
# Other workers on this machine must not take these tasks.
CELERY_TASK_DEFAULT_QUEUE = os.environ["TEST_QUEUE"]
CELERY_TASK_QUEUES = [Queue(CELERY_TASK_DEFAULT_QUEUE, auto_delete=True)]
CELERY_BEAT_SCHEDULE = {
    "refills": {"task": "prescriptions.refill.tasks.refills_sweep", "schedule": 1.0},
}
# Its breaker would open after five of these faults; what that does is another test's matter.
CONNECTOR_FAILURES = 10_000
