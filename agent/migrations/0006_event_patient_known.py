from django.db import migrations
from django.db.models import F, OuterRef, Subquery


def owners_fill(apps, schema_editor):
    """What was shown since the last proof is that patient's; what was shown before stays nobody's, and veiled."""
    conversations = apps.get_model("agent", "Conversation").objects.using(schema_editor.connection.alias)
    events = apps.get_model("agent", "Event").objects.using(schema_editor.connection.alias)
    proven = events.filter(conversation__patient__isnull=False, created_at__gte=F("conversation__verified_at"))
    owner = Subquery(conversations.filter(pk=OuterRef("conversation_id")).values("patient_id")[:1])
    proven.filter(payload__personal=True).update(patient_id=owner)
    proven.filter(type="confirm.requested").update(patient_id=owner)


class Migration(migrations.Migration):
    dependencies = [
        ("agent", "0005_event_patient"),
    ]

    operations = [
        # Apart from the column: PostgreSQL alters no table whose rows the same transaction has changed.
        migrations.RunPython(owners_fill, migrations.RunPython.noop),
    ]
