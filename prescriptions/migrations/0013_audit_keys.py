"""Seal the audit log with a key: its head, and with one line all that was written before there were keys."""

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from django.utils import timezone


def seal(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    from prescriptions.audit import seals

    alias = editor.connection.alias
    head = apps.get_model("prescriptions", "AuditHead").objects.using(alias).filter(pk=1).first()
    events = apps.get_model("prescriptions", "AuditEvent").objects.using(alias)
    if head is None:
        return  # its log is broken, which the check reports
    key_id = seals.current_key()
    if head.count:
        line = events.model(
            number=head.count + 1,
            at=timezone.now(),
            who="system",
            what="audit_keyed",
            where="migration",
            previous_hash=head.hash,
            key_id=key_id,
        )
        line.hash = seals.line_hash({name: getattr(line, name) for name in seals.HASHED_FIELDS}, head.hash, key_id)
        line.save(using=alias, force_insert=True)
        head.count, head.hash = line.number, line.hash
    head.key_id, head.seal = key_id, seals.head_seal(head.count, head.hash, key_id)
    head.save(using=alias)


class Migration(migrations.Migration):
    dependencies = [("prescriptions", "0012_answers_of_customers")]

    operations = [
        migrations.AddField(
            "auditevent", "key_id", models.CharField(max_length=16, null=True, verbose_name="key")
        ),
        migrations.AddField("audithead", "key_id", models.CharField(default="", max_length=16)),
        migrations.AddField("audithead", "seal", models.CharField(default="", max_length=64)),
        migrations.RunPython(seal, migrations.RunPython.noop),
    ]
