"""Define patients, prescriptions, identity challenges, notifications and the audit log.

Sources: S0 flow C, S1 `prescription_verify`, README sections 1, 3 and 5 of the specification.
"""

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from inventory.models import Ingredient, Medication
from pharmacy_site.lib.fields import LONGEST_NAME, CleanLine
from prescriptions.contacts import phone_parse

LANGUAGES = [("en", _("English")), ("he", _("Hebrew"))]


class Patient(models.Model):
    """A person with a medical record number; read only through `prescriptions.selectors`."""

    class AllergyStatus(models.TextChoices):
        UNKNOWN = "unknown", _("Unknown")
        NONE_KNOWN = "none_known", _("No known allergies")
        RECORDED = "recorded", _("Recorded")

    name_en: str
    name_he: str | None

    mrn = models.CharField(
        _("medical record number"), max_length=8, unique=True, validators=[RegexValidator(r"^[0-9]{6,8}$")]
    )
    name = CleanLine(_("name"), max_length=200, longest=LONGEST_NAME)
    email = models.EmailField(_("e-mail"), unique=True, help_text=_("Identification codes go here."))
    phone = models.CharField(
        _("phone"), max_length=16, unique=True, null=True, blank=True, help_text=_("Stored as +972…")
    )
    address = CleanLine(
        _("delivery address"), max_length=300, blank=True, help_text=_("Without one nothing is delivered.")
    )
    born = models.DateField(_("date of birth"))
    language = models.CharField(_("language"), max_length=2, choices=LANGUAGES, default="en")
    allergy_status = models.CharField(
        _("allergies"), max_length=12, choices=AllergyStatus.choices, default=AllergyStatus.UNKNOWN
    )
    allergies_recorded_on = models.DateField(_("allergies asked on"), null=True, blank=True)

    class Meta:
        verbose_name = _("patient")
        verbose_name_plural = _("patients")
        ordering = ["mrn"]
        constraints = [
            # Stored in lower case, so that the unique index ignores case.
            models.CheckConstraint(condition=Q(email=Lower("email")), name="patient_email_lower")
        ]

    def __str__(self) -> str:
        # Never the name: this text appears in logs and in the admin's history.
        return self.mrn

    def clean(self) -> None:
        """Normalise the contacts before their uniqueness is checked."""
        self.email = self.email.lower()
        if not self.phone:
            self.phone = None
            return
        phone = phone_parse(self.phone)
        if phone is None:
            raise ValidationError({"phone": _("This is no phone number.")})
        self.phone = phone

    def save(self, *args: object, **kwargs: object) -> None:
        """Store the e-mail in lower case."""
        self.email = self.email.lower()
        super().save(*args, **kwargs)  # type: ignore[arg-type]


class Allergy(models.Model):
    """An allergen of a patient: one ingredient or a class of ingredients ("penicillin")."""

    class Severity(models.TextChoices):
        MILD = "mild", _("Mild")
        MODERATE = "moderate", _("Moderate")
        SEVERE = "severe", _("Severe")

    patient = models.ForeignKey(Patient, models.CASCADE, related_name="allergies", verbose_name=_("patient"))
    ingredient = models.ForeignKey(
        Ingredient, models.PROTECT, null=True, blank=True, related_name="+", verbose_name=_("ingredient")
    )
    drug_class = CleanLine(_("class of ingredients"), max_length=60, blank=True)
    severity = models.CharField(_("severity"), max_length=10, choices=Severity.choices)

    class Meta:
        verbose_name = _("allergy")
        verbose_name_plural = _("allergies")
        constraints = [
            models.CheckConstraint(
                condition=Q(ingredient__isnull=True) ^ Q(drug_class=""), name="allergy_ingredient_or_class"
            )
        ]

    def __str__(self) -> str:
        return self.drug_class or str(self.ingredient)


class Prescription(models.Model):
    """A prescription on file; `status` is stored as received, even if this version does not know it."""

    class Status(models.TextChoices):
        ACTIVE = "active", _("Active")
        COMPLETED = "completed", _("Completed")
        EXPIRED = "expired", _("Expired")
        CANCELLED = "cancelled", _("Cancelled")
        REFILL_PENDING = "refill_pending", _("Refill requested")

    directions_en: str
    directions_he: str | None

    patient = models.ForeignKey(
        Patient, models.PROTECT, related_name="prescriptions", verbose_name=_("patient")
    )
    medication = models.ForeignKey(Medication, models.PROTECT, related_name="+", verbose_name=_("medication"))
    refills_left = models.PositiveIntegerField(_("refills left"), default=0)
    # No `choices`: the source system may have more statuses, and such a row must stay readable.
    status = CleanLine(_("status"), max_length=30, default=Status.ACTIVE)
    directions = CleanLine(_("directions"), max_length=500, blank=True)
    quantity = models.PositiveIntegerField(_("quantity per fill"), default=0)
    days_supply = models.PositiveIntegerField(_("days of supply per fill"), default=0)
    last_filled_on = models.DateField(_("last filled"), null=True, blank=True)
    prescriber = CleanLine(_("prescriber"), max_length=200, blank=True)
    issued_on = models.DateField(_("issued"))
    expires_on = models.DateField(_("valid until"))

    class Meta:
        verbose_name = _("prescription")
        verbose_name_plural = _("prescriptions")
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(refills_left__gte=0), name="prescription_refills_not_negative")
        ]

    def __str__(self) -> str:
        return str(self.pk)


class Challenge(models.Model):
    """A one-time code that was requested; for an unknown contact it is a decoy that no code answers."""

    class State(models.TextChoices):
        OPEN = "open", _("Open")
        USED = "used", _("Used")
        FAILED = "failed", _("Failed")
        SUPERSEDED = "superseded", _("Superseded")

    subject_key = models.CharField(max_length=64)
    contact_key = models.CharField(max_length=64)
    address_key = models.CharField(max_length=64)
    patient = models.ForeignKey(Patient, models.CASCADE, null=True, related_name="+")
    conversation_id = models.UUIDField()
    run_key = models.CharField(max_length=100, unique=True)
    code_hash = models.CharField(max_length=64)
    expires_at = models.DateTimeField()
    tries_left = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name = _("identification")
        verbose_name_plural = _("identifications")
        indexes = [
            models.Index(fields=["subject_key", "created_at"], name="challenge_subject"),
            models.Index(fields=["contact_key", "created_at"], name="challenge_contact"),
            models.Index(fields=["address_key", "created_at"], name="challenge_address"),
            models.Index(fields=["conversation_id", "created_at"], name="challenge_conversation"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["conversation_id"], condition=Q(state="open"), name="challenge_one_open"
            )
        ]

    def __str__(self) -> str:
        return str(self.pk)


class AuditEvent(models.Model):
    """One line of the audit log: triggers make it append-only, its hash covers the line before."""

    number = models.PositiveBigIntegerField(_("number"), unique=True)
    at = models.DateTimeField(_("when"), db_index=True)
    who = models.CharField(_("who"), max_length=100, db_index=True)
    what = models.CharField(_("what"), max_length=60, db_index=True)
    where = models.CharField(_("where"), max_length=100)
    why = models.CharField(_("why"), max_length=100, blank=True)
    how = models.CharField(_("how"), max_length=100, blank=True)
    # Without a constraint, so that a patient can be erased without a change to the log.
    patient = models.ForeignKey(
        Patient,
        models.DO_NOTHING,
        null=True,
        db_constraint=False,
        related_name="+",
        verbose_name=_("patient"),
    )
    detail = models.JSONField(_("detail"), default=dict)
    previous_hash = models.CharField(_("hash of the line before"), max_length=64)
    hash = models.CharField(_("hash"), max_length=64)
    # None: a plain hash, of a line that was written before there were keys.
    key_id = models.CharField(_("key"), max_length=16, null=True)

    class Meta:
        verbose_name = _("audit event")
        verbose_name_plural = _("audit events")
        ordering = ["-number"]

    def __str__(self) -> str:
        return f"{self.number} {self.what}"


class AuditHead(models.Model):
    """The single row with the number of audit lines and the last hash, by which a truncated log is detected.

    Its seal is made with the key: without that nobody can rewind it.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    count = models.PositiveBigIntegerField(default=0)
    hash = models.CharField(max_length=64, default="")
    key_id = models.CharField(max_length=16, default="")
    seal = models.CharField(max_length=64, default="")

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="audit_head_single")]

    def __str__(self) -> str:
        return f"{self.count} {self.hash}"


class Notification(models.Model):
    """A message to be sent: written in the transaction of its cause, sent after the commit.

    One that FAILED is a dead letter: it waits for a person who has it sent again or sets it aside.
    """

    class Channel(models.TextChoices):
        EMAIL = "email", _("E-mail")
        WEBHOOK = "webhook", _("Webhook")

    class State(models.TextChoices):
        PENDING = "pending", _("Pending")
        SENDING = "sending", _("Sending")
        SENT = "sent", _("Sent")
        FAILED = "failed", _("Failed")
        DISCARDED = "discarded", _("Discarded")

    class Kind(models.TextChoices):
        IDENTITY_CODE = "identity_code", _("Identification code")
        IDENTITY_WARNING = "identity_warning", _("Failed identification")
        REFILL_DISPENSED = "refill_dispensed", _("Refill approved")
        REFILL_DENIED = "refill_denied", _("Refill not approved")
        REFILL_QUESTION = "refill_question", _("Question about a refill")
        REFILL_READY = "refill_ready", _("Refill ready")
        HANDOFF_OPENED = "handoff_opened", _("Hand-off opened")
        HANDOFF_REMINDER = "handoff_reminder", _("Hand-off waits")
        HANDOFF_RAISED = "handoff_raised", _("Hand-off overdue")
        HANDOFF_ANSWERED = "handoff_answered", _("Customer answered staff")
        STAFF_REPLIED = "staff_replied", _("Staff wrote to the customer")
        HANDOFF_SETTLED = "handoff_settled", _("Hand-off settled")

    key = models.CharField(_("key"), max_length=150, unique=True)
    channel = models.CharField(_("channel"), max_length=10, choices=Channel.choices, default=Channel.EMAIL)
    # Messages with the same lane are sent in the order in which they were written; an empty one has no order.
    lane = models.CharField(max_length=80, blank=True)
    # Empty for a decoy: an unknown contact takes the same path as a known one, up to the sending.
    recipient = models.EmailField(_("recipient"), blank=True)
    kind = models.CharField(_("kind"), max_length=30, choices=Kind.choices)
    language = models.CharField(_("language"), max_length=2, choices=LANGUAGES, default="en")
    context = models.JSONField(default=dict)
    conversation_id = models.UUIDField(_("conversation"), null=True, blank=True, db_index=True)
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.PENDING)
    # Each claim counts, so that a sender can tell that its row was claimed by another.
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)
    # The class of the last error, or a code; never its text, which quotes recipients.
    last_error = models.CharField(_("last error"), max_length=60, blank=True)
    # Set when the text begins to go out, until its outcome is stored: a sender that dies in between leaves it here.
    begun_at = models.DateTimeField(null=True, blank=True)
    # How often nobody knows whether it arrived: what is sent then is marked as a repetition.
    unknown = models.PositiveSmallIntegerField(_("outcome unknown"), default=0)
    # When it may be sent (again); while it is being sent, when its sender counts as lost.
    due_at = models.DateTimeField(_("due"))
    expires_at = models.DateTimeField(_("of no use after"), null=True, blank=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    sent_at = models.DateTimeField(_("sent"), null=True, blank=True)

    class Meta:
        verbose_name = _("notification")
        verbose_name_plural = _("notifications")
        ordering = ["-id"]
        indexes = [
            models.Index(
                fields=["due_at"], condition=Q(state__in=["pending", "sending"]), name="notification_due"
            ),
            models.Index(
                fields=["lane", "id"],
                condition=Q(state__in=["pending", "sending"]) & ~Q(lane=""),
                name="notification_lane",
            ),
            models.Index(fields=["id"], condition=Q(state="failed"), name="notification_failed"),
        ]
        permissions = [("retry_notification", "Can have a notification sent again")]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"
