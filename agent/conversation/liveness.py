"""Detect which processes of this machine have ended, so that the runs of a killed one are taken up at once.

Each process holds a lock on a file of its own under `var/processes`; the kernel frees it however the process ends.
Another machine's process has no file here: its runs are waited for until their lease ends.
"""

import fcntl
import hashlib
import os
import secrets
from collections.abc import Iterable
from functools import cache
from typing import Final

from django.conf import settings

# Sites that share a checkout have databases of their own, and so do their processes.
_SITE: Final = hashlib.sha256(str(settings.DATABASE).encode()).hexdigest()[:16]
_FOLDER: Final = settings.VAR_DIR / "processes" / _SITE


@cache
def own_name() -> str:
    """Return the name under which this process takes runs; its lock is held from now on."""
    name = f"{os.getpid()}-{secrets.token_hex(8)}"
    _FOLDER.mkdir(parents=True, exist_ok=True)
    # A bare descriptor, open for as long as the process lives.
    fcntl.flock(os.open(_FOLDER / name, os.O_CREAT | os.O_RDWR, 0o600), fcntl.LOCK_EX)
    return name


def dead_names() -> list[str]:
    """Return the names of the processes of this machine that have ended."""
    return [path.name for path in _FOLDER.glob("*") if path.name != own_name() and _is_free(path.name)]


def dead_forget(names: Iterable[str]) -> None:
    """Remove the files of dead processes, once nothing waits for them any more."""
    for name in names:
        (_FOLDER / name).unlink(missing_ok=True)


def _is_free(name: str) -> bool:
    try:
        with (_FOLDER / name).open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        # A living process holds it, or another has just removed it.
        return False
    return True
