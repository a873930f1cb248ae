"""The evaluation's clock: every trial begins at the same noon and ticks on; waiting costs no time."""

from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import time_machine

NOON: Final = datetime(2026, 3, 15, 12, 0, tzinfo=ZoneInfo("Asia/Jerusalem"))  # a Sunday: branches are open


class Clock:
    """Holds the whole process's date and time; what measures durations is left alone."""

    def __init__(self) -> None:
        self._machine = time_machine.travel(NOON, tick=True).start()

    def begin(self) -> None:
        """Back to noon."""
        self._machine.move_to(NOON)

    def pass_minutes(self, minutes: float) -> None:
        """Moves on."""
        if minutes:
            self._machine.shift(timedelta(minutes=minutes))
