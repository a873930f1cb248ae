from django.db import migrations, models

from stores.edition import stamps_end


class Migration(migrations.Migration):

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
        # The triggers are made after each migration, and go before their table does.
        migrations.RunPython(migrations.RunPython.noop, stamps_end),
    ]
