"""The site's settings, with a sleep() in SQLite, which has none: for triggers that make a commit take long."""

import time
from typing import Any

from django.db.backends.signals import connection_created
from served_settings import *  # noqa: F403


def _sleep(connection: Any, **_: Any) -> None:
    if connection.vendor == "sqlite":
        connection.connection.create_function("sleep", 1, time.sleep)


connection_created.connect(_sleep)
