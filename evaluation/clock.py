"""Set the evaluation's clock: every trial begins at the same noon and ticks on; waiting takes no time."""

from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import time_machine

# A Sunday, when the branches are open.
NOON: Final = datetime(2026, 3, 15, 12, 0, tzinfo=ZoneInfo("Asia/Jerusalem"))


class Clock:
    """The date and time of the whole process; clocks that measure durations are not changed."""

    def __init__(self) -> None:
        self._machine = time_machine.travel(NOON, tick=True).start()

    def begin(self) -> None:
        """Go back to noon."""
        self._machine.move_to(NOON)

    def pass_minutes(self, minutes: float) -> None:
        """Move the clock forward."""
        if minutes:
            self._machine.shift(timedelta(minutes=minutes))
