"""The edition of the catalogue and the stores: a stamp that the database itself renews with every change of their rows.

It lets a process keep rows that hardly ever change (`kept`) without ever showing an old one: admin, import, another
process and plain SQL all pass the triggers. The stamp is random, so that one which was rolled back never comes again.
Stock, prescriptions and names as people type them are not of it: they are read each time.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, TypeVar

from django.apps import AppConfig
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from pharmacy_site.lib.remembered import Kept

K = TypeVar("K")
V = TypeVar("V")

MOST_KEPT: Final = 5_000
"""Rows of one kind that a process keeps."""
_TABLE: Final = "stores_edition"

# On PostgreSQL nobody waits here for another transaction's stamp: each leaves its own, and takes away what it can.
# The edition is then all the stamps there are.
_FUNCTION: Final = f"""
CREATE OR REPLACE FUNCTION pharmacy_renew_edition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM {_TABLE} WHERE stamp IN (SELECT stamp FROM {_TABLE} FOR UPDATE SKIP LOCKED);
    INSERT INTO {_TABLE} (stamp) VALUES (gen_random_uuid());
    RETURN NULL;
END $$
"""


def _edition() -> tuple[object, ...] | None:
    """The stamps there are; None in a database that was never stamped."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT stamp FROM {_TABLE} ORDER BY stamp")
        return tuple(stamp for (stamp,) in cursor.fetchall()) or None


_kept = Kept(_edition, most=MOST_KEPT)


def kept(kind: str, ids: Collection[K], read: Callable[[set[K]], Mapping[K, V]]) -> dict[K, V]:
    """Return what `read` finds for these ids, from memory while the edition stands; shared, so nobody may change it.

    Only for rows of tables whose app calls `stamped`, and only within `remembering`; outside of it `read` is asked.
    """
    return _kept.get(kind, ids, read)


def stamped(*models: str) -> Callable[..., None]:
    """A receiver of `post_migrate` that sees to it that every change of these models' tables renews the edition.

    After each migration and not in one: SQLite makes a table anew to alter it, and loses its triggers.
    """

    def receive(sender: AppConfig, using: str, **_others: Any) -> None:
        database = connections[using]
        with database.cursor() as cursor:
            cursor.execute(_TRIGGERS[database.vendor])
            there = {name for (name,) in cursor.fetchall()}
            missing = [
                (table, statement)
                for table in (sender.get_model(model)._meta.db_table for model in models)
                for name, statement in _triggers(database, table)
                if name not in there
            ]
            tables = set(database.introspection.table_names(cursor)) if missing else set()
            for table, statement in missing:
                if {table, _TABLE} <= tables:  # else migrated backwards
                    cursor.execute(statement)

    return receive


_TRIGGERS: Final = {
    "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
}


def _triggers(database: BaseDatabaseWrapper, table: str) -> Iterator[tuple[str, str]]:
    """The triggers of a table by name, with the statements that make them."""
    if database.vendor == "postgresql":
        name = f"{table}_edition"
        yield (
            name,
            (
                f"{_FUNCTION}; CREATE TRIGGER {name} AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON {table} "
                "FOR EACH STATEMENT EXECUTE FUNCTION pharmacy_renew_edition()"
            ),
        )
        return
    for verb in ("INSERT", "UPDATE", "DELETE"):
        name = f"{table}_edition_{verb.lower()}"
        yield (
            name,
            (
                f"CREATE TRIGGER {name} AFTER {verb} ON {table} BEGIN DELETE FROM {_TABLE}; "
                f"INSERT INTO {_TABLE} (stamp) VALUES (lower(hex(randomblob(16)))); END"
            ),
        )
