from django.db import migrations
from django.db.models import F, OuterRef, Q, Subquery


def owners_fill(apps, schema_editor):
    """What was said since the last proof is that patient's. What was shown before is nobody's, and stays hidden.

    What a talk was about does not tell whose it was, so it begins anew.
    """
    conversations = apps.get_model("agent", "Conversation").objects.using(schema_editor.connection.alias)
    events = apps.get_model("agent", "Event").objects.using(schema_editor.connection.alias)
    owner = Subquery(conversations.filter(pk=OuterRef("conversation_id")).values("patient_id")[:1])
    proven = events.filter(conversation__patient__isnull=False, created_at__gte=F("conversation__verified_at"))
    proven.filter(type__in=["message.completed", "confirm.requested"]).update(patient_id=owner)
    personal = events.filter(payload__personal=True).values("conversation_id")
    conversations.filter(Q(patient__isnull=False) | Q(pk__in=personal)).update(state={})


class Migration(migrations.Migration):
    dependencies = [
        ("agent", "0005_event_patient"),
    ]

    operations = [
        # Apart from the column: PostgreSQL alters no table whose rows the same transaction has changed.
        migrations.RunPython(owners_fill, migrations.RunPython.noop),
    ]
