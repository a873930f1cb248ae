"""Patients, prescriptions, identity, hand-offs, notifications and the audit log."""

import django.core.validators
import django.db.models.deletion
import django.db.models.functions.text
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("inventory", "0002_search_and_protection"),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditHead",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("count", models.PositiveBigIntegerField(default=0)),
                ("hash", models.CharField(default="", max_length=64)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("id", 1)), name="audit_head_single")
                ],
            },
        ),
        migrations.CreateModel(
            name="Notification",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=150, unique=True, verbose_name="key")),
                ("channel", models.CharField(default="email", max_length=10, verbose_name="channel")),
                ("recipient", models.EmailField(blank=True, max_length=254, verbose_name="recipient")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("identity_code", "Identification code"),
                            ("identity_warning", "Failed identification"),
                        ],
                        max_length=30,
                        verbose_name="kind",
                    ),
                ),
                (
                    "language",
                    models.CharField(
                        choices=[("en", "English"), ("he", "Hebrew")],
                        default="en",
                        max_length=2,
                        verbose_name="language",
                    ),
                ),
                ("context", models.JSONField(default=dict)),
                (
                    "conversation_id",
                    models.UUIDField(blank=True, db_index=True, null=True, verbose_name="conversation"),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("sending", "Sending"),
                            ("sent", "Sent"),
                            ("failed", "Failed"),
                            ("discarded", "Discarded"),
                        ],
                        default="pending",
                        max_length=10,
                        verbose_name="state",
                    ),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0, verbose_name="attempts")),
                ("due_at", models.DateTimeField(verbose_name="due")),
                ("expires_at", models.DateTimeField(blank=True, null=True, verbose_name="of no use after")),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="created")),
                ("sent_at", models.DateTimeField(blank=True, null=True, verbose_name="sent")),
            ],
            options={
                "verbose_name": "notification",
                "verbose_name_plural": "notifications",
                "ordering": ["-id"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("state__in", ["pending", "sending"])),
                        fields=["due_at"],
                        name="notification_due",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Patient",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "mrn",
                    models.CharField(
                        max_length=8,
                        unique=True,
                        validators=[django.core.validators.RegexValidator("^[0-9]{6,8}$")],
                        verbose_name="medical record number",
                    ),
                ),
                ("name", models.CharField(max_length=200, verbose_name="name")),
                ("name_en", models.CharField(max_length=200, null=True, verbose_name="name")),
                ("name_he", models.CharField(max_length=200, null=True, verbose_name="name")),
                (
                    "email",
                    models.EmailField(
                        help_text="Identification codes go here.",
                        max_length=254,
                        unique=True,
                        verbose_name="e-mail",
                    ),
                ),
                (
                    "phone",
                    models.CharField(
                        blank=True,
                        help_text="Stored as +972…",
                        max_length=16,
                        null=True,
                        unique=True,
                        verbose_name="phone",
                    ),
                ),
                ("born", models.DateField(verbose_name="date of birth")),
                (
                    "language",
                    models.CharField(
                        choices=[("en", "English"), ("he", "Hebrew")],
                        default="en",
                        max_length=2,
                        verbose_name="language",
                    ),
                ),
                (
                    "allergy_status",
                    models.CharField(
                        choices=[
                            ("unknown", "Unknown"),
                            ("none_known", "No known allergies"),
                            ("recorded", "Recorded"),
                        ],
                        default="unknown",
                        max_length=12,
                        verbose_name="allergies",
                    ),
                ),
                (
                    "allergies_recorded_on",
                    models.DateField(blank=True, null=True, verbose_name="allergies asked on"),
                ),
            ],
            options={
                "verbose_name": "patient",
                "verbose_name_plural": "patients",
                "ordering": ["mrn"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("email", django.db.models.functions.text.Lower("email"))),
                        name="patient_email_lower",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Handoff",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.CharField(max_length=40, unique=True, verbose_name="number")),
                ("reason", models.CharField(db_index=True, max_length=60, verbose_name="reason")),
                (
                    "conversation_id",
                    models.UUIDField(blank=True, db_index=True, null=True, verbose_name="conversation"),
                ),
                ("run_key", models.CharField(blank=True, max_length=100, null=True, unique=True)),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "Open"), ("closed", "Closed")],
                        db_index=True,
                        default="open",
                        max_length=10,
                        verbose_name="state",
                    ),
                ),
                (
                    "language",
                    models.CharField(
                        choices=[("en", "English"), ("he", "Hebrew")],
                        default="en",
                        max_length=2,
                        verbose_name="language",
                    ),
                ),
                ("summary", models.TextField(blank=True, verbose_name="summary")),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="opened")),
                ("closed_at", models.DateTimeField(blank=True, null=True, verbose_name="closed")),
                ("closed_by", models.CharField(blank=True, max_length=100, verbose_name="closed by")),
                (
                    "patient",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="prescriptions.patient",
                        verbose_name="patient",
                    ),
                ),
            ],
            options={
                "verbose_name": "hand-off",
                "verbose_name_plural": "hand-offs",
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="AuditEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveBigIntegerField(unique=True, verbose_name="number")),
                ("at", models.DateTimeField(db_index=True, verbose_name="when")),
                ("who", models.CharField(db_index=True, max_length=100, verbose_name="who")),
                ("what", models.CharField(db_index=True, max_length=60, verbose_name="what")),
                ("where", models.CharField(max_length=100, verbose_name="where")),
                ("why", models.CharField(blank=True, max_length=100, verbose_name="why")),
                ("how", models.CharField(blank=True, max_length=100, verbose_name="how")),
                ("detail", models.JSONField(default=dict, verbose_name="detail")),
                ("previous_hash", models.CharField(max_length=64, verbose_name="hash of the line before")),
                ("hash", models.CharField(max_length=64, verbose_name="hash")),
                (
                    "patient",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="prescriptions.patient",
                        verbose_name="patient",
                    ),
                ),
            ],
            options={
                "verbose_name": "audit event",
                "verbose_name_plural": "audit events",
                "ordering": ["-number"],
            },
        ),
        migrations.CreateModel(
            name="Challenge",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("subject_key", models.CharField(max_length=64)),
                ("contact_key", models.CharField(max_length=64)),
                ("address_key", models.CharField(max_length=64)),
                ("conversation_id", models.UUIDField()),
                ("run_key", models.CharField(max_length=100, unique=True)),
                ("code_hash", models.CharField(max_length=64)),
                ("expires_at", models.DateTimeField()),
                ("tries_left", models.PositiveSmallIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("used", "Used"),
                            ("failed", "Failed"),
                            ("superseded", "Superseded"),
                        ],
                        default="open",
                        max_length=10,
                    ),
                ),
                ("created_at", models.DateTimeField()),
                (
                    "patient",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="prescriptions.patient",
                    ),
                ),
            ],
            options={
                "verbose_name": "identification",
                "verbose_name_plural": "identifications",
                "indexes": [
                    models.Index(fields=["subject_key", "created_at"], name="challenge_subject"),
                    models.Index(fields=["contact_key", "created_at"], name="challenge_contact"),
                    models.Index(fields=["address_key", "created_at"], name="challenge_address"),
                    models.Index(fields=["conversation_id", "created_at"], name="challenge_conversation"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "open")),
                        fields=("conversation_id",),
                        name="challenge_one_open",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Allergy",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "drug_class",
                    models.CharField(blank=True, max_length=60, verbose_name="class of ingredients"),
                ),
                (
                    "severity",
                    models.CharField(
                        choices=[("mild", "Mild"), ("moderate", "Moderate"), ("severe", "Severe")],
                        max_length=10,
                        verbose_name="severity",
                    ),
                ),
                (
                    "ingredient",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="inventory.ingredient",
                        verbose_name="ingredient",
                    ),
                ),
                (
                    "patient",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="allergies",
                        to="prescriptions.patient",
                        verbose_name="patient",
                    ),
                ),
            ],
            options={
                "verbose_name": "allergy",
                "verbose_name_plural": "allergies",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("ingredient__isnull", True), ("drug_class", ""), _connector="XOR"
                        ),
                        name="allergy_ingredient_or_class",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Prescription",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("refills_left", models.PositiveIntegerField(default=0, verbose_name="refills left")),
                ("status", models.CharField(default="active", max_length=30, verbose_name="status")),
                ("directions", models.CharField(blank=True, max_length=500, verbose_name="directions")),
                (
                    "directions_en",
                    models.CharField(blank=True, max_length=500, null=True, verbose_name="directions"),
                ),
                (
                    "directions_he",
                    models.CharField(blank=True, max_length=500, null=True, verbose_name="directions"),
                ),
                ("quantity", models.PositiveIntegerField(default=0, verbose_name="quantity per fill")),
                (
                    "days_supply",
                    models.PositiveIntegerField(default=0, verbose_name="days of supply per fill"),
                ),
                ("last_filled_on", models.DateField(blank=True, null=True, verbose_name="last filled")),
                ("prescriber", models.CharField(blank=True, max_length=200, verbose_name="prescriber")),
                ("issued_on", models.DateField(verbose_name="issued")),
                ("expires_on", models.DateField(verbose_name="valid until")),
                (
                    "medication",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="inventory.medication",
                        verbose_name="medication",
                    ),
                ),
                (
                    "patient",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="prescriptions",
                        to="prescriptions.patient",
                        verbose_name="patient",
                    ),
                ),
            ],
            options={
                "verbose_name": "prescription",
                "verbose_name_plural": "prescriptions",
                "ordering": ["id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("refills_left__gte", 0)), name="prescription_refills_not_negative"
                    )
                ],
            },
        ),
    ]
