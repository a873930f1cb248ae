"""Senders that are killed: a program that is run on a served site's database; see tests/services/test_handoff_kills.py.

Again and again a child process sends what is due, until it is killed; the last one sends the rest. The argument says when:
"by chance" after a random time, "unanswered" when the mail server has a message and has not said so (the server kills),
or the name of a place in the outbox, which the child passes and dies at.
"""

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.db import connections  # noqa: E402

from prescriptions import outbox  # noqa: E402
from prescriptions.models import Notification  # noqa: E402

OPEN = ["pending", "sending"]
PLACES: dict[str, tuple[str, bool]] = {
    "before the receipt": ("receipt_write", False),
    "before the record": ("_finish", False),
    "after the record": ("_finish", True),
}


def dies_at(name: str, after: bool) -> None:
    """Let this process end at a function of the outbox, in its first or a later call."""
    original: Callable[..., Any] = getattr(outbox, name)
    left = random.randrange(4)

    def watched(*args: Any, **more: Any) -> None:
        nonlocal left
        if after:
            original(*args, **more)
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        if not after:
            original(*args, **more)

    setattr(outbox, name, watched)


def child(when: str) -> int:
    """Start a sender, and return its process."""
    connections.close_all()
    pid = os.fork()
    if pid:
        return pid
    random.seed()
    if when in PLACES:
        dies_at(*PLACES[when])
    while True:
        outbox.notifications_drain(senders=settings.NOTIFICATION_SENDERS)
        time.sleep(0.05)


def main() -> None:
    when, kills = sys.argv[1], int(sys.argv[2])
    for _ in range(kills):
        pid = child(when)
        if when == "by chance":
            time.sleep(0.05 + random.random() * 0.2)
            os.kill(pid, signal.SIGKILL)
        elif when == "unanswered":
            sys.stdout.write(f"{pid}\n")
            sys.stdout.flush()
        os.waitpid(pid, 0)
    sys.stdout.write("0\n")
    sys.stdout.flush()
    pid = child("never")
    while Notification.objects.filter(state__in=OPEN).exists():
        connections.close_all()
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
