"""Stop Django from recording its queries while DEBUG is on."""

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper


def query_log_off() -> None:
    """Stop this process from recording its queries, whatever DEBUG is.

    While they are recorded, a query on SQLite takes half as long again, since a second one quotes its parameters. Django has
    no setting for it.
    """
    wrapper: Any = BaseDatabaseWrapper
    wrapper.queries_logged = False
