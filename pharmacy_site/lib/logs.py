"""Write log entries as single lines: their time with its offset, and of an exception its type and place only.

The text of an exception may quote what somebody sent; its type and the lines of code that it passed do not.
"""

import copy
import logging
from datetime import datetime
from typing import Any

from pharmacy_site.lib.errors import trace_of


class Line(logging.Formatter):
    """Formats an entry; with `tracebacks` (for development) exceptions are written in full."""

    def __init__(self, *args: Any, tracebacks: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._tracebacks = tracebacks

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802
        """Return the local time in ISO format, with milliseconds and its offset from UTC."""
        return datetime.fromtimestamp(record.created).astimezone().isoformat(timespec="milliseconds")

    def format(self, record: logging.LogRecord) -> str:
        """Return the entry."""
        if self._tracebacks:
            return super().format(record)
        # Another handler may have left the traceback in the record.
        plain = copy.copy(record)
        plain.exc_info = plain.exc_text = plain.stack_info = None
        line = super().format(plain).replace("\r", "\\r").replace("\n", "\\n")
        error = record.exc_info[1] if record.exc_info else None
        return f"{line} [{type(error).__name__} at {trace_of(error)}]" if error else line
