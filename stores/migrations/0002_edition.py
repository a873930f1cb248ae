from django.db import migrations, models


class Migration(migrations.Migration):
    # The table of a cache that 0003 removes again.

    dependencies = [
        ("stores", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Edition",
            fields=[
                ("stamp", models.UUIDField(primary_key=True, serialize=False)),
            ],
        ),
    ]
