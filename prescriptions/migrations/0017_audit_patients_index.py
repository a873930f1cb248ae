"""Index whom a line of the audit log lists, so that "who saw this patient" does not read the whole log.

Indexes on what the hashed lines hold need no column of their own, which could differ from what the hashes cover. SQLite has no
index on the members of a list: there the log is read.
"""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

# Lines without a list are in neither index. No pending list: whoever had to merge it would hold up all who write lines.
_CREATE = [
    "CREATE INDEX prescriptions_auditevent_patients ON prescriptions_auditevent"
    " USING gin ((detail -> 'patients') jsonb_path_ops)"
    " WITH (fastupdate = off) WHERE (detail -> 'patients') IS NOT NULL",
    "CREATE INDEX prescriptions_auditevent_rows ON prescriptions_auditevent"
    " USING gin ((detail -> 'rows') jsonb_path_ops)"
    " WITH (fastupdate = off) WHERE what = 'patient_listed'",
]
_DROP = ["DROP INDEX prescriptions_auditevent_patients", "DROP INDEX prescriptions_auditevent_rows"]


def create(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    _run(editor, _CREATE)


def drop(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    _run(editor, _DROP)


def _run(editor: BaseDatabaseSchemaEditor, statements: list[str]) -> None:
    for statement in statements if editor.connection.vendor == "postgresql" else []:
        editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("prescriptions", "0016_handoff_contacts_left")]

    operations = [migrations.RunPython(create, drop)]
