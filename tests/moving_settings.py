"""The site's settings with a clock that a test moves, refills that are swept twice a second, and breakers that stay closed.

The file that CLOCK names holds the seconds by which the process is ahead.
"""

import os
from datetime import datetime, timedelta
from pathlib import Path

from django.utils import timezone
from served_settings import *  # noqa: F403

_FILE = Path(os.environ["CLOCK"])
_now = timezone.now


def _moved() -> datetime:
    return _now() + timedelta(seconds=float(_FILE.read_text() or 0))


timezone.now = _moved
REFILL_SWEEP = 0.5
# Several tests let a system fail; what its breaker does then is another test's matter.
CONNECTOR_FAILURES = 10_000
