"""Switch off the list of queries that Django keeps while DEBUG is on."""

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper


def query_log_off() -> None:
    """Keep no list of queries in this process, whatever DEBUG is.

    With the list a query on SQLite takes half as long again, since its parameters are quoted by a second query. Django has
    no setting for it.
    """
    wrapper: Any = BaseDatabaseWrapper
    wrapper.queries_logged = False
