"""Define refill requests, their transitions, what they reserve, and the rules that refills are checked by (S3)."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from inventory.models import Ingredient, Medication
from pharmacy_site.lib.fields import CleanLine
from prescriptions.models.handoffs import Handoff
from prescriptions.models.records import LANGUAGES, Patient, Prescription
from stores.models import Store


class RefillRequest(models.Model):
    """One request to refill a prescription; its row is the record, and only `prescriptions.refill` changes it.

    `version` grows with every change, so that each change is a conditional update. `path` is in RefillTransition.
    """

    # Stored values, for the database's own check; `prescriptions.refill.states` has the table, and a test compares them.
    STATES = (
        "Collect_Refill_Request",
        "Rx_Safety_Check",
        "Backend_Check",
        "PA_Approval_Needed",
        "Escalate_Handoff",
        "Refill_Dispensed",
        "Escalation_Complete",
    )

    class Outcome(models.TextChoices):
        DISPENSED = "dispensed"
        DENIED = "denied"
        CANCELLED = "cancelled"
        CLOSED = "closed"

    class Order(models.TextChoices):
        """What is known about the order at the dispenser; SENT and UNKNOWN hold the refill and the packs."""

        NONE = ""
        SENT = "sent"
        UNKNOWN = "unknown"
        ACCEPTED = "accepted"
        REFUSED = "refused"
        CANCELLED = "cancelled"

    class Fulfilment(models.TextChoices):
        NONE = ""
        PREPARING = "preparing"
        READY = "ready"
        COLLECTED = "collected"
        RETURNED = "returned"

    number = models.CharField(max_length=40, unique=True)
    patient = models.ForeignKey(Patient, models.PROTECT, related_name="+")
    prescription = models.ForeignKey(Prescription, models.PROTECT, related_name="refill_requests")
    state = models.CharField(max_length=30, default=STATES[0])
    version = models.PositiveIntegerField(default=0)
    walk = models.PositiveSmallIntegerField(default=1)
    outcome = models.CharField(max_length=10, choices=Outcome.choices, null=True, blank=True)
    reason = models.CharField(max_length=40, blank=True)
    quantity = models.PositiveIntegerField()
    days_supply = models.PositiveIntegerField()
    # While a customer's request is collected in the chat it is not confirmed; nothing is reserved and nobody waits.
    is_confirmed = models.BooleanField(default=True)
    # Until when the collection is live; it pauses then, and can be resumed.
    expires_at = models.DateTimeField(null=True, blank=True)
    is_paused = models.BooleanField(default=False)
    # None: delivery to the address on file, once `pickup_known`.
    pickup_known = models.BooleanField(default=True)
    store = models.ForeignKey(Store, models.PROTECT, null=True, blank=True, related_name="+")
    # The results of the last safety check, and the findings that a person's decision covers.
    findings = models.JSONField(default=list)
    covered = models.JSONField(default=list)
    order_key = models.CharField(max_length=40, unique=True)
    order_state = models.CharField(max_length=10, choices=Order.choices, default=Order.NONE, blank=True)
    order_at = models.DateTimeField(null=True, blank=True)
    refill_taken = models.BooleanField(default=False)
    filled_before = models.DateField(null=True, blank=True)
    fulfilment = models.CharField(
        max_length=10, choices=Fulfilment.choices, default=Fulfilment.NONE, blank=True
    )
    # Who decides: a role, the person who was on call, and how both were found (`prescriptions.refill.central`).
    contact = models.CharField(max_length=30, blank=True)
    contact_person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    routing = models.JSONField(default=list, blank=True)
    handoff = models.ForeignKey(Handoff, models.SET_NULL, null=True, blank=True, related_name="+")
    requested_by = models.CharField(max_length=100)
    # Whoever repeats a request under the same key gets this one.
    submit_key = models.CharField(max_length=300, unique=True, null=True, blank=True)
    conversation_id = models.UUIDField(null=True, blank=True, db_index=True)
    language = models.CharField(max_length=2, choices=LANGUAGES, default="en")
    requested_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("refill request")
        verbose_name_plural = _("refill requests")
        ordering = ["-id"]
        permissions = [
            ("decide_refillrequest", "Can decide refill requests"),
            ("fulfil_refillrequest", "Can mark refills as ready, collected or returned"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["prescription"],
                condition=Q(outcome__isnull=True, is_confirmed=True),
                name="refill_one_open",
            ),
            models.UniqueConstraint(
                fields=["prescription"],
                condition=Q(outcome__isnull=True, is_confirmed=False),
                name="refill_one_collected",
            ),
            models.CheckConstraint(
                condition=Q(is_confirmed=True) | Q(state="Collect_Refill_Request"),
                name="refill_collected_state",
            ),
            models.CheckConstraint(
                condition=Q(
                    state__in=(
                        "Collect_Refill_Request",
                        "Rx_Safety_Check",
                        "Backend_Check",
                        "PA_Approval_Needed",
                        "Escalate_Handoff",
                        "Refill_Dispensed",
                        "Escalation_Complete",
                    )
                ),
                name="refill_state_known",
            ),
            models.CheckConstraint(
                condition=~Q(outcome="dispensed") | Q(state="Refill_Dispensed"), name="refill_dispensed_state"
            ),
        ]

    def __str__(self) -> str:
        return self.number

    @property
    def pickup(self) -> int | str | None:
        """Where it is picked up: a store's id, "delivery", or None while nobody has said it."""
        if not self.pickup_known:
            return None
        return self.store_id or "delivery"


class RefillTransition(models.Model):
    """One step of a request; triggers in the database refuse to change or delete it.

    `from_state` is empty in the first one. Rows with equal states record a decision or a later event of an end state.
    """

    request = models.ForeignKey(RefillRequest, models.PROTECT, related_name="transitions")
    # The request's version after the step, which makes a repeated step impossible.
    version = models.PositiveIntegerField()
    walk = models.PositiveSmallIntegerField()
    from_state = models.CharField(max_length=30, blank=True)
    to_state = models.CharField(max_length=30)
    event = models.CharField(max_length=30)
    actor = models.CharField(max_length=100)
    detail = models.JSONField(default=dict)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["request", "version"], name="refill_step_once")]

    def __str__(self) -> str:
        return f"{self.request_id} {self.event}"


class StockReservation(models.Model):
    """Packs that are off the shelf for one walk of a request; held for 15 minutes, then released or used."""

    class State(models.TextChoices):
        HELD = "held"
        USED = "used"
        RELEASED = "released"

    request = models.ForeignKey(RefillRequest, models.PROTECT, related_name="reservations")
    store = models.ForeignKey(Store, models.PROTECT, related_name="+")
    medication = models.ForeignKey(Medication, models.PROTECT, related_name="+")
    packs = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.HELD)
    expires_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["request"], condition=Q(state__in=["held", "used"]), name="reservation_one_live"
            )
        ]
        indexes = [models.Index(fields=["expires_at"], condition=Q(state="held"), name="reservation_due")]

    def __str__(self) -> str:
        return f"{self.request_id}: {self.packs}"


class SupplyLimit(models.Model):
    """The most of a product that one refill may be, and for which ages it is; an empty value is no limit."""

    medication = models.OneToOneField(Medication, models.CASCADE, related_name="+")
    most_units = models.PositiveIntegerField(null=True, blank=True)
    most_days = models.PositiveIntegerField(null=True, blank=True)
    minimum_age = models.PositiveSmallIntegerField(null=True, blank=True)
    maximum_age = models.PositiveSmallIntegerField(null=True, blank=True)

    def __str__(self) -> str:
        return str(self.medication_id)


class LabRule(models.Model):
    """A laboratory value without which an ingredient is not refilled automatically."""

    ingredient = models.ForeignKey(Ingredient, models.CASCADE, related_name="+")
    code = CleanLine(max_length=30)
    at_least = models.DecimalField(max_digits=9, decimal_places=2, null=True, blank=True)
    at_most = models.DecimalField(max_digits=9, decimal_places=2, null=True, blank=True)
    not_older_than_days = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["ingredient", "code"], name="lab_rule_once")]

    def __str__(self) -> str:
        return self.code


class CoverageRule(models.Model):
    """What an insurer asks for before it pays for a product."""

    medication = models.OneToOneField(Medication, models.CASCADE, related_name="+")
    needs_authorisation = models.BooleanField(default=False)
    most_units = models.PositiveIntegerField(null=True, blank=True)

    def __str__(self) -> str:
        return str(self.medication_id)


class ScheduleRule(models.Model):
    """How controlled medicines of one schedule are refilled: never, or when this role agrees."""

    schedule = models.CharField(max_length=3, unique=True, choices=Medication.Schedule.choices)
    is_refillable = models.BooleanField(default=False)
    decided_by = CleanLine(max_length=30, blank=True)
    most_days_since_issue = models.PositiveIntegerField(null=True, blank=True)

    def __str__(self) -> str:
        return self.schedule
