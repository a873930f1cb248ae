"""Protect a table by triggers: the database itself refuses to change or delete its rows.

`QuerySet.update`, bulk actions and raw SQL bypass `save()`; a trigger sees them all.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import migrations
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

_FUNCTION = """
CREATE OR REPLACE FUNCTION pharmacy_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'rows of % are append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation'; END $$
"""


def create_sql(vendor: str, table: str) -> list[str]:
    """Return the statements that protect `table` on a database of this vendor ("sqlite" or "postgresql")."""
    if vendor == "postgresql":
        return [
            _FUNCTION,
            f"CREATE TRIGGER {table}_no_change BEFORE UPDATE OR DELETE ON {table} "
            "FOR EACH ROW EXECUTE FUNCTION pharmacy_refuse_change()",
            f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION pharmacy_refuse_change()",
        ]
    return [
        f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, 'rows of {table} are append-only'); END"
        for verb in ("UPDATE", "DELETE")
    ]


def drop_sql(vendor: str, table: str) -> list[str]:
    """Return the statements that remove the protection of `table`."""
    if vendor == "postgresql":
        return [f"DROP TRIGGER IF EXISTS {table}_no_{what} ON {table}" for what in ("change", "truncate")]
    return [f"DROP TRIGGER IF EXISTS {table}_no_{what}" for what in ("update", "delete")]


def protect(table: str) -> migrations.RunPython:
    """Return a migration operation that makes `table` append-only."""

    def run(
        statements: Callable[[str, str], list[str]],
    ) -> Callable[[StateApps, BaseDatabaseSchemaEditor], None]:
        def apply(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
            for statement in statements(editor.connection.vendor, table):
                # None: a "%" of the statement is no placeholder.
                editor.execute(statement, params=None)

        return apply

    return migrations.RunPython(run(create_sql), run(drop_sql))


@contextmanager
def changeable(connection: BaseDatabaseWrapper, table: str) -> Iterator[None]:
    """Lift the protection of `table` for the caller's transaction, which must be open: a rollback puts it back as well.

    Raises ProgrammingError on PostgreSQL for a role that does not own the table.
    """
    vendor = connection.vendor
    # On PostgreSQL a trigger is switched off instead: that waits for writers only, not for readers.
    lift = (
        [f"ALTER TABLE {table} DISABLE TRIGGER {table}_no_change"]
        if vendor == "postgresql"
        else drop_sql(vendor, table)
    )
    back = (
        [f"ALTER TABLE {table} ENABLE TRIGGER {table}_no_change"]
        if vendor == "postgresql"
        else create_sql(vendor, table)
    )
    with connection.cursor() as cursor:
        for statement in lift:
            cursor.execute(statement)
        yield
        for statement in back:
            cursor.execute(statement)
