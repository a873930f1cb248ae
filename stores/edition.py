"""The edition of the catalogue and the stores: a stamp that the database itself renews with every change of their rows.

It lets a process keep rows that hardly ever change (`kept`) without ever showing an old one: admin, import, another
process and plain SQL all pass the triggers. The stamp is random, so that one which was rolled back never comes again.
Stock, prescriptions and names as people type them are not of it: they are read each time.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, TypeVar
from uuid import uuid4

from django.apps import AppConfig
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.backends.utils import CursorWrapper
from django.db.migrations.state import StateApps

from pharmacy_site.lib.remembered import Kept

K = TypeVar("K")
V = TypeVar("V")

MOST_KEPT: Final = 5_000
"""Rows of one kind that a process keeps."""
_TABLE: Final = "stores_edition"

# On PostgreSQL nobody waits here for another transaction's stamp: each leaves its own, and takes away what it can.
# The edition is then all the stamps there are.
# It works for whoever changes a row, with the owner's rights on this table alone, and with whatever search path.
_FUNCTION: Final = """
CREATE OR REPLACE FUNCTION pharmacy_renew_edition() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM {table} WHERE stamp IN (SELECT stamp FROM {table} FOR UPDATE SKIP LOCKED);
    INSERT INTO {table} (stamp) VALUES (gen_random_uuid());
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
            there = _names(cursor, database.vendor)
            wanted = [sender.get_model(model)._meta.db_table for model in models]
            missing = [table for table in wanted if not there.issuperset(_statements(database, table))]
            tables = set(database.introspection.table_names(cursor)) if missing else set()
            made = [table for table in missing if {table, _TABLE} <= tables]  # else migrated backwards
            if made and database.vendor == "postgresql":
                cursor.execute("SELECT quote_ident(current_schema())")
                cursor.execute(_FUNCTION.format(table=f"{cursor.fetchone()[0]}.{_TABLE}"))
            for statement in (line for table in made for line in _statements(database, table).values()):
                cursor.execute(statement)
            if made:  # rows may have changed while nothing told of it
                cursor.execute(f"DELETE FROM {_TABLE}")
                cursor.execute(f"INSERT INTO {_TABLE} (stamp) VALUES (%s)", [uuid4().hex])

    return receive


def stamps_end(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Takes all triggers away, for a migration that takes the table away."""
    if editor.connection.vendor == "postgresql":
        editor.execute("DROP FUNCTION IF EXISTS pharmacy_renew_edition() CASCADE")
        return
    with editor.connection.cursor() as cursor:
        for name in _names(cursor, "sqlite"):
            cursor.execute(f"DROP TRIGGER {name}")


_NAMES: Final = {
    "postgresql": "SELECT tgname FROM pg_trigger WHERE tgname LIKE '%%_edition%%' AND tgenabled IN ('O', 'A')"
    " AND pg_table_is_visible(tgrelid)",
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger' AND sql LIKE '%%INSERT INTO stores_edition%%'",
}


def _names(cursor: CursorWrapper, vendor: str) -> set[str]:
    """The names of the triggers that are there, and at work."""
    cursor.execute(_NAMES[vendor], [])
    return {name for (name,) in cursor.fetchall()}


def _statements(database: BaseDatabaseWrapper, table: str) -> dict[str, str]:
    """The triggers of a table by name, as statements that make them, or make them again."""
    name = f"{table}_edition"
    if database.vendor == "postgresql":
        return {
            name: f"DROP TRIGGER IF EXISTS {name} ON {table}; "
            f"CREATE TRIGGER {name} AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION pharmacy_renew_edition()"
        }
    return {
        f"{name}_{verb.lower()}": f"CREATE TRIGGER IF NOT EXISTS {name}_{verb.lower()} AFTER {verb} ON {table} "
        f"BEGIN DELETE FROM {_TABLE}; INSERT INTO {_TABLE} (stamp) VALUES (lower(hex(randomblob(16)))); END"
        for verb in ("INSERT", "UPDATE", "DELETE")
    }
