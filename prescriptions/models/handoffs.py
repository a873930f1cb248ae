"""Define hand-offs, their deadlines, and the texts that staff reply with (S3's human circuit breaker)."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from inventory.models import Medication
from pharmacy_site.lib.fields import CleanLine, CleanText
from prescriptions.models.records import LANGUAGES, Patient
from stores.models import Store


class HandoffQuerySet(models.QuerySet["Handoff"]):
    """Hand-offs, with the questions that all who read them ask."""

    def waiting(self) -> "HandoffQuerySet":
        """Keep those that are neither decided nor closed."""
        return self.filter(closed_at=None)


class Handoff(models.Model):
    """A case that a person takes over; the customer is given its number.

    Only `prescriptions.handoffs` changes it. It is over when it was decided or closed: `closed_at` is set then.
    """

    class State(models.TextChoices):
        OPEN = "open", _("Open")
        CLAIMED = "claimed", _("Claimed")
        DECIDED = "decided", _("Decided")
        CLOSED = "closed", _("Closed")

    class Reason(models.TextChoices):
        CUSTOMER_ASKED = "customer_asked", _("the customer asked for a person")
        NOT_UNDERSTOOD = "not_understood", _("the assistant did not understand")
        IDENTITY_FAILED = "identity_failed", _("identity not confirmed")
        REFILL = "refill", _("a refill")
        EXTRA_DOSE = "extra_dose", _("an extra dose was taken")
        ADVERSE_REACTION = "adverse_reaction", _("a reaction to a medicine")
        UNVERIFIABLE = "unverifiable", _("no checked answer")
        STOCK = "stock", _("stock")
        PICKUP = "pickup", _("pick-up or delivery")
        COMPLAINT = "complaint", _("a complaint")

    class Outcome(models.TextChoices):
        """How it ended; the customer reads a sentence for each."""

        APPROVED = "approved", _("approved")
        CHANGED = "changed", _("approved with another quantity")
        DENIED = "denied", _("not approved")
        ANSWERED = "answered", _("answered in the chat")
        BY_PHONE = "by_phone", _("settled by phone")
        IN_BRANCH = "in_branch", _("settled in the branch")
        NO_REPLY = "no_reply", _("the customer did not reply")
        CANCELLED = "cancelled", _("no longer needed")
        DUPLICATE = "duplicate", _("the same as another hand-off")
        UNANSWERED = "unanswered", _("closed without an answer")

    number = models.CharField(_("number"), max_length=40, unique=True)
    reason = models.CharField(_("reason"), max_length=60, choices=Reason.choices, db_index=True)
    conversation_id = models.UUIDField(_("conversation"), null=True, blank=True, db_index=True)
    run_key = models.CharField(max_length=100, unique=True, null=True, blank=True)
    patient = models.ForeignKey(
        Patient, models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("patient")
    )
    state = models.CharField(
        _("state"), max_length=10, choices=State.choices, default=State.OPEN, db_index=True
    )
    language = models.CharField(_("language"), max_length=2, choices=LANGUAGES, default="en")
    summary = models.TextField(_("summary"), blank=True)
    is_urgent = models.BooleanField(
        _("urgent"),
        default=False,
        db_index=True,
        help_text=_("An emergency, an extra dose, a reaction, or medicines that must not be taken together."),
    )
    created_at = models.DateTimeField(_("opened"), auto_now_add=True)
    closed_at = models.DateTimeField(_("closed"), null=True, blank=True)
    closed_by = models.CharField(_("closed by"), max_length=100, blank=True)
    outcome = models.CharField(_("outcome"), max_length=12, choices=Outcome.choices, blank=True)
    # The role that takes it, why that role (a code), who of it was on call, and all that they need to know.
    contact = models.CharField(_("for"), max_length=30, default="pharmacist")
    contact_why = models.CharField(max_length=40, blank=True)
    contact_person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    package = models.JSONField(default=dict, blank=True)
    medication = models.ForeignKey(
        Medication, models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("medicine")
    )
    branch = models.ForeignKey(
        Store, models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("branch")
    )
    claimed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("claimed by"),
    )
    claimed_at = models.DateTimeField(_("claimed"), null=True, blank=True)
    # When the claim is released unless its holder does something.
    claim_until = models.DateTimeField(null=True, blank=True)
    claim_due_at = models.DateTimeField(_("to be claimed until"), null=True, blank=True)
    decide_due_at = models.DateTimeField(_("to be decided until"), null=True, blank=True)
    # When it was nobody's in time and went to a supervisor, too.
    raised_at = models.DateTimeField(null=True, blank=True)
    first_reply_at = models.DateTimeField(_("first reply"), null=True, blank=True)
    # Where somebody who is not identified wants to hear of a reply.
    contact_email = models.EmailField(blank=True)
    # Addresses and phones that the customer wrote in the chat for whoever answers: messages are stored without them.
    contacts_left = models.JSONField(default=list, blank=True)
    # Of the client's address, hashed, for the limit.
    address_key = models.CharField(max_length=64, blank=True)

    objects = HandoffQuerySet.as_manager()

    class Meta:
        verbose_name = _("hand-off")
        verbose_name_plural = _("hand-offs")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["-is_urgent", "id"], condition=Q(closed_at=None), name="handoff_queue"),
            models.Index(fields=["address_key", "created_at"], name="handoff_address"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["open", "claimed"], closed_at=None)
                | Q(state__in=["decided", "closed"], closed_at__isnull=False),
                name="handoff_over",
            ),
            models.CheckConstraint(
                condition=~Q(state="claimed") | Q(claimed_at__isnull=False), name="handoff_claimed"
            ),
        ]

    def __str__(self) -> str:
        return self.number

    @property
    def is_over(self) -> bool:
        """Whether it was decided or closed."""
        return self.closed_at is not None


class HandoffDeadline(models.Model):
    """A moment at which a hand-off that still waits is reminded of, or raised; the sweep takes what is due."""

    class Phase(models.TextChoices):
        CLAIM = "claim"
        DECIDE = "decide"

    class Action(models.TextChoices):
        REMIND = "remind"
        RAISE = "raise"

    handoff = models.ForeignKey(Handoff, models.CASCADE, related_name="deadlines")
    phase = models.CharField(max_length=10, choices=Phase.choices)
    action = models.CharField(max_length=10, choices=Action.choices)
    due_at = models.DateTimeField()
    # When the sweep took it; `is_needed` says whether the hand-off was still waiting for that phase.
    done_at = models.DateTimeField(null=True, blank=True)
    is_needed = models.BooleanField(null=True, blank=True)

    class Meta:
        ordering = ["due_at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["handoff", "phase", "action"], name="handoff_deadline_once")
        ]
        indexes = [models.Index(fields=["due_at"], condition=Q(done_at=None), name="handoff_deadline_due")]

    def __str__(self) -> str:
        return f"{self.handoff_id} {self.phase} {self.action}"


class ReplyTemplate(models.Model):
    """A text that staff begin a reply to a customer with, in both languages."""

    title_en: str
    title_he: str | None
    text_en: str
    text_he: str | None

    # Of the standard ones: a template that staff changed or switched off is not made again.
    code = models.SlugField(_("code"), max_length=40, unique=True, null=True, blank=True, editable=False)
    title = CleanLine(_("title"), max_length=80)
    text = CleanText(_("text"), max_length=1_000)
    is_active = models.BooleanField(_("offered"), default=True)

    class Meta:
        verbose_name = _("reply template")
        verbose_name_plural = _("reply templates")
        ordering = ["id"]

    def __str__(self) -> str:
        return str(self.title)
