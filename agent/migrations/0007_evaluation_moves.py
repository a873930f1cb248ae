"""Give the tables of evaluations to the app `evaluation`; rows that exist stay."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('agent', '0006_event_patient_known'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.AlterModelTable('Evaluation', 'evaluation_evaluation'),
                migrations.AlterModelTable('EvaluationTrial', 'evaluation_evaluationtrial'),
            ],
            state_operations=[
                migrations.DeleteModel('EvaluationTrial'),
                migrations.DeleteModel('Evaluation'),
            ],
        ),
    ]
