from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


def triggers_drop(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Drop the triggers on the tables of stores and inventory that wrote to the table of editions.

    They were made after each `migrate`, so a database has all of them, or none when it is new.
    """
    if editor.connection.vendor == "postgresql":
        editor.execute("DROP FUNCTION IF EXISTS pharmacy_renew_edition() CASCADE")
        return
    with editor.connection.cursor() as cursor:
        cursor.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger' AND sql LIKE '%INSERT INTO stores_edition%'"
        )
        for (name,) in cursor.fetchall():
            cursor.execute(f"DROP TRIGGER {name}")


class Migration(migrations.Migration):
    dependencies = [
        ("stores", "0002_edition"),
    ]

    operations = [
        migrations.RunPython(triggers_drop, migrations.RunPython.noop),
        migrations.DeleteModel(name="Edition"),
    ]
