"""The audit log refuses changes by itself from its first line on, and its head is there."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from pharmacy_site.lib.append_only import protect


def make_head(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    apps.get_model("prescriptions", "AuditHead").objects.using(editor.connection.alias).get_or_create(pk=1)


class Migration(migrations.Migration):
    dependencies = [("prescriptions", "0001_initial")]

    operations = [
        migrations.RunPython(make_head, migrations.RunPython.noop),
        protect("prescriptions_auditevent"),
    ]
