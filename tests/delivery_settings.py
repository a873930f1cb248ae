"""The site's settings with a Celery queue of its own, and with pauses and leases as long as a test says."""

import os

from kombu import Queue
from served_settings import *  # noqa: F403

# Other workers on this machine must not take these tasks.
CELERY_TASK_DEFAULT_QUEUE = os.environ["TEST_QUEUE"]
CELERY_TASK_QUEUES = [Queue(CELERY_TASK_DEFAULT_QUEUE, auto_delete=True)]
NOTIFICATION_BACK_OFF = float(os.environ.get("TEST_BACK_OFF", "15"))
_LEASE = float(os.environ.get("TEST_LEASE", "0"))
NOTIFICATION_LEASES = {"email": _LEASE or 45, "webhook": _LEASE or 12}
SWEEP_BESIDE_BEAT = float(os.environ.get("TEST_BESIDE_BEAT", "30"))
