"""What the ORM cannot express: the trigram index over names, and stock movements that cannot be changed."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from pharmacy_site.lib.append_only import protect

_REMOVE = (
    "INSERT INTO inventory_searchterm_fts(inventory_searchterm_fts, rowid, folded) "
    "VALUES ('delete', old.id, old.folded);"
)
_ADD = "INSERT INTO inventory_searchterm_fts(rowid, folded) VALUES (new.id, new.folded);"

# An external-content table keeps only the trigrams; the triggers keep it true whoever writes the names.
_CREATE = {
    "sqlite": [
        "CREATE VIRTUAL TABLE inventory_searchterm_fts USING fts5("
        "folded, content='inventory_searchterm', content_rowid='id', tokenize='trigram case_sensitive 1')",
        "CREATE TRIGGER inventory_searchterm_fts_add AFTER INSERT ON inventory_searchterm "
        f"BEGIN {_ADD} END",
        "CREATE TRIGGER inventory_searchterm_fts_remove AFTER DELETE ON inventory_searchterm "
        f"BEGIN {_REMOVE} END",
        "CREATE TRIGGER inventory_searchterm_fts_change AFTER UPDATE ON inventory_searchterm "
        f"BEGIN {_REMOVE} {_ADD} END",
        # Names that were there before the index (none on a first migration).
        "INSERT INTO inventory_searchterm_fts(inventory_searchterm_fts) VALUES ('rebuild')",
    ],
    "postgresql": [
        "CREATE EXTENSION IF NOT EXISTS pg_trgm",
        "CREATE INDEX inventory_searchterm_folded_trgm ON inventory_searchterm USING gin (folded gin_trgm_ops)",
    ],
}
_DROP = {
    "sqlite": [
        "DROP TRIGGER IF EXISTS inventory_searchterm_fts_add",
        "DROP TRIGGER IF EXISTS inventory_searchterm_fts_remove",
        "DROP TRIGGER IF EXISTS inventory_searchterm_fts_change",
        "DROP TABLE IF EXISTS inventory_searchterm_fts",
    ],
    "postgresql": ["DROP INDEX IF EXISTS inventory_searchterm_folded_trgm"],
}


def create(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Make the trigram index of this database."""
    for statement in _CREATE[editor.connection.vendor]:
        editor.execute(statement)


def drop(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Take it away again."""
    for statement in _DROP[editor.connection.vendor]:
        editor.execute(statement)


class Migration(migrations.Migration):
    """The trigram index, and the protection of stock movements."""

    dependencies = [("inventory", "0001_initial")]

    operations = [migrations.RunPython(create, drop), protect("inventory_stockmove")]
