"""Whether this process is shutting down: then it accepts nothing new, and readiness says so."""

from threading import Event
from typing import Final

shutting_down: Final = Event()
"""Set once, when the process begins to end."""
