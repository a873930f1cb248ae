from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agent", "0004_evaluation"),
        ("prescriptions", "0003_handoff_reasons"),
    ]

    operations = [
        migrations.AddField(
            model_name="event",
            name="patient",
            field=models.ForeignKey(
                blank=True,
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=models.DO_NOTHING,
                related_name="+",
                to="prescriptions.patient",
                verbose_name="patient",
            ),
        ),
    ]
