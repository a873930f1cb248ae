"""Run a statement that may fail without losing the transaction around it."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def savepoint() -> Iterator[None]:
    """Keep the caller's transaction usable when a query fails; do nothing outside of a transaction."""
    if connection.in_atomic_block:
        with transaction.atomic():
            yield
    else:
        yield
