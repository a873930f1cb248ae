"""Take over the tables of evaluations from the app `agent`; rows that exist stay."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('agent', '0007_evaluation_moves'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name='Evaluation',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='when')),
                        ('model', models.CharField(max_length=80, verbose_name='model')),
                        ('options', models.JSONField(default=dict, verbose_name='options')),
                        ('totals', models.JSONField(default=dict, verbose_name='figures')),
                    ],
                    options={
                        'verbose_name': 'evaluation',
                        'verbose_name_plural': 'evaluations',
                        'ordering': ['-pk'],
                    },
                ),
                migrations.CreateModel(
                    name='EvaluationTrial',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('scenario', models.CharField(max_length=120, verbose_name='scenario')),
                        ('family', models.CharField(max_length=40, verbose_name='family')),
                        ('language', models.CharField(max_length=2, verbose_name='language')),
                        ('trial', models.PositiveSmallIntegerField(verbose_name='trial')),
                        ('score', models.PositiveSmallIntegerField(verbose_name='score')),
                        ('problems', models.JSONField(default=list, verbose_name='problems')),
                        ('vetoes', models.JSONField(default=list, verbose_name='vetoes')),
                        ('turns', models.PositiveSmallIntegerField(verbose_name='turns')),
                        ('tokens', models.PositiveIntegerField(default=0, verbose_name='tokens')),
                        ('cost', models.DecimalField(decimal_places=6, default=0, max_digits=12, verbose_name='cost')),
                        ('latency_ms', models.PositiveIntegerField(default=0, verbose_name='slowest answers (p95), ms')),
                        ('transcript', models.JSONField(default=list, verbose_name='transcript')),
                        ('evaluation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='trials', to='evaluation.evaluation', verbose_name='evaluation')),
                    ],
                    options={
                        'verbose_name': 'trial',
                        'verbose_name_plural': 'trials',
                        'ordering': ['pk'],
                        'constraints': [models.UniqueConstraint(fields=('evaluation', 'scenario', 'trial'), name='trial_once')],
                    },
                ),
            ],
        ),
    ]
