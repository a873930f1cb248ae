"""Protect a table by triggers: the database itself refuses to change or delete its rows.

`QuerySet.update`, bulk actions and raw SQL bypass `save()`; a trigger sees them all.
"""

from collections.abc import Callable

from django.db import migrations
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
