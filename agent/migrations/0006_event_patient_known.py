from django.db import migrations
from django.db.models import F, OuterRef, Q, Subquery

NOBODY = 0  # no patient has this key: what is theirs is hidden from everybody


def owners_fill(apps, schema_editor):
    """What was said since the last proof is that patient's; whose the rest is, where somebody was proven, nobody knows.

    What such a talk was about does not tell whose it was either, so it begins anew.
    """
    conversations = apps.get_model("agent", "Conversation").objects.using(schema_editor.connection.alias)
    events = apps.get_model("agent", "Event").objects.using(schema_editor.connection.alias)
    said = events.filter(type__in=["message.completed", "confirm.requested"])
    proven = said.filter(conversation__patient__isnull=False, created_at__gte=F("conversation__verified_at"))
    owner = Subquery(conversations.filter(pk=OuterRef("conversation_id")).values("patient_id")[:1])
    proven.update(patient_id=owner)
    personal = events.filter(Q(type="identity.verified") | Q(payload__personal=True)).values("conversation_id")
    touched = conversations.filter(Q(patient__isnull=False) | Q(pk__in=personal))
    said.filter(conversation__in=touched.values("pk"), patient__isnull=True).update(patient_id=NOBODY)
    touched.update(state={})


class Migration(migrations.Migration):
    dependencies = [
        ("agent", "0005_event_patient"),
    ]

    operations = [
        # Apart from the column: PostgreSQL alters no table whose rows the same transaction has changed.
        migrations.RunPython(owners_fill, migrations.RunPython.noop),
    ]
