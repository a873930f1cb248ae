"""Note on this machine's disk that a mail server took a message, until the database knows it.

A process that is killed between the two leaves its note. Whoever claims the row next, on this machine, finds it and need
not send the message again. It is an empty file: a commit takes a thousand times as long as to create one.
"""

from contextlib import suppress
from pathlib import Path

from django.conf import settings

from prescriptions.models import Notification


def receipt_write(row: Notification) -> None:
    """Note that the message of this attempt was taken; a disk that cannot be written costs a repetition at most."""
    with suppress(OSError):
        path = _path(row)
        path.parent.mkdir(exist_ok=True)
        path.touch()


def receipt_exists(row: Notification) -> bool:
    """Return whether the message of the attempt that the row tells of was taken."""
    return _path(row).exists()


def receipt_remove(row: Notification) -> None:
    """Remove the note of this attempt: the database knows."""
    with suppress(OSError):
        _path(row).unlink(missing_ok=True)


def _path(row: Notification) -> Path:
    """Return the file of one attempt; the moment makes it unique among attempts and databases."""
    moment = row.begun_at.strftime("%Y%m%d%H%M%S%f") if row.begun_at else "never"
    return Path(settings.VAR_DIR) / "sent" / f"{row.pk}-{moment}"
