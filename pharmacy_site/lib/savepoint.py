"""A statement that may break."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def savepoint() -> Iterator[None]:
    """Keep a caller's transaction usable when a query breaks; without one there is nothing to keep."""
    if connection.in_atomic_block:
        with transaction.atomic():
            yield
    else:
        yield
