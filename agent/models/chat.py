"""Conversations, their events and runs, the tool calls of each answer, and the tickets that move a conversation."""

import uuid
from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from agent.models.access import ApiKey, ChatSite
from prescriptions.models import Patient
from stores.geo import Point, point_of


class Conversation(models.Model):
    """One customer's chat. The customer has the secret that opens it; only its hash is stored."""

    class Mode(models.TextChoices):
        BOT = "bot", _("assistant")
        QUEUED = "queued", _("waiting for a person")
        HUMAN = "human", _("with a person")
        DEGRADED = "degraded", _("basic mode")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    secret_hash = models.CharField(_("secret (hash)"), max_length=64, unique=True, editable=False)
    language = models.CharField(_("language"), max_length=2, default="en")
    mode = models.CharField(_("mode"), max_length=10, choices=Mode.choices, default=Mode.BOT)
    # Raised when a person takes the conversation over and when the assistant gets it back: an answer that was begun
    # before is not written after it.
    ownership = models.PositiveIntegerField(default=0)
    seq_head = models.PositiveIntegerField(_("last event"), default=0)
    # `agent.state.ConversationState`: what the conversation has been about. Ids and codes only.
    state = models.JSONField(_("state"), default=dict, blank=True)
    # The embedding site on which it began; none on our own pages.
    site = models.ForeignKey(
        ChatSite,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="conversations",
        verbose_name=_("embedding site"),
    )
    patient = models.ForeignKey(
        "prescriptions.Patient",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("patient"),
    )
    verified_at = models.DateTimeField(_("identity verified"), null=True, blank=True)
    latitude = models.FloatField(_("latitude"), null=True, blank=True)
    longitude = models.FloatField(_("longitude"), null=True, blank=True)
    # Kinds of the last emergency, comma-separated. They stay when it is over: staff see that there was one.
    emergency = models.CharField(_("emergency"), max_length=80, blank=True, default="")
    emergency_open = models.BooleanField(_("emergency is open"), default=False, db_index=True)
    created_at = models.DateTimeField(_("started"), auto_now_add=True)
    active_at = models.DateTimeField(_("last active"), auto_now_add=True, db_index=True)

    class Meta:
        verbose_name = _("conversation")
        verbose_name_plural = _("conversations")

    def __str__(self) -> str:
        return str(self.id)[:8]

    @property
    def location(self) -> Point | None:
        """Where the customer is, if that was shared."""
        return point_of(self.latitude, self.longitude)

    @property
    def is_proven(self) -> bool:
        """Whether the identity of `patient` still holds: for 15 idle minutes, 60 at most."""
        if self.patient_id is None or self.verified_at is None:
            return False
        idle = self.active_at + timedelta(seconds=settings.IDENTITY_IDLE)
        most = self.verified_at + timedelta(seconds=settings.IDENTITY_MAX)
        return timezone.now() <= min(idle, most)

    @property
    def identity_elsewhere(self) -> bool:
        """Whether nobody can be identified here, because the chat is in a frame on a site that is not ours."""
        return self.site is not None and not self.site.first_party

    @property
    def knowledge_role(self) -> str:
        """The role whose collection of the knowledge base answers here; empty: none. No text of the customer changes it."""
        return (self.site.knowledge_role if self.site else "") or str(settings.KNOWLEDGE_ROLE)

    @property
    def proven_patient(self) -> Patient | None:
        """The patient whose identity is proven now; nobody on a site that is not ours."""
        return self.patient if self.is_proven and not self.identity_elsewhere else None


class Run(models.Model):
    """The work of answering one accepted message; a row, so that no crash can lose it."""

    class Kind(models.TextChoices):
        MESSAGE = "message", _("message")
        RESUME = "resume", _("waiting question taken up")
        HANDOFF = "handoff", _("a person asked for")
        CONFIRM = "confirm", _("confirmation answered")

    class State(models.TextChoices):
        PENDING = "pending", _("waiting")
        RUNNING = "running", _("running")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")
        CANCELLED = "cancelled", _("cancelled")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(
        Conversation, models.CASCADE, related_name="runs", verbose_name=_("conversation")
    )
    client_msg_id = models.UUIDField(_("client's message id"), null=True, blank=True)
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices, default=Kind.MESSAGE)
    input_seq = models.PositiveIntegerField(_("answers event"))
    # `RunInput` of agent/conversation/records.py: the outcome of a code, never the code.
    input = models.JSONField(_("input"), default=dict, blank=True)
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.PENDING)
    lease_owner = models.CharField(max_length=64, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)
    # `Progress` of the same: what a client that reconnects in the middle is shown; empty when the run is over.
    progress = models.JSONField(default=dict, blank=True)
    model = models.CharField(_("model"), max_length=80, blank=True)
    # Of language models: the version of their rules, tokens in and out, US dollars, why the offline model took over.
    prompt = models.CharField(_("version of the rules"), max_length=12, blank=True)
    tokens_in = models.PositiveIntegerField(_("tokens in"), default=0)
    tokens_out = models.PositiveIntegerField(_("tokens out"), default=0)
    cost = models.DecimalField(_("cost"), max_digits=12, decimal_places=6, default=0)
    fallback = models.CharField(_("fell back because of"), max_length=20, blank=True)
    error_code = models.CharField(_("error"), max_length=40, blank=True)
    answer_seq = models.PositiveIntegerField(_("answered by event"), null=True, blank=True)
    created_at = models.DateTimeField(_("accepted"), auto_now_add=True)
    finished_at = models.DateTimeField(_("finished"), null=True, blank=True)

    class Meta:
        verbose_name = _("run")
        verbose_name_plural = _("runs")
        constraints = [
            models.UniqueConstraint(fields=["conversation", "client_msg_id"], name="run_once_per_message"),
            models.UniqueConstraint(
                fields=["conversation"], condition=Q(state="running"), name="one_run_at_a_time"
            ),
        ]
        indexes = [
            models.Index(fields=["conversation", "state", "input_seq"], name="run_next"),
            models.Index(fields=["conversation", "created_at"], name="run_rate"),
            models.Index(
                fields=["created_at"], condition=Q(state__in=["pending", "running"]), name="run_open"
            ),
            models.Index(fields=["created_at"], condition=Q(tokens_in__gt=0), name="run_with_tokens"),
        ]

    def __str__(self) -> str:
        return str(self.id)[:8]


class Event(models.Model):
    """One numbered event of a conversation: what was said and what happened, in the order clients see it."""

    conversation = models.ForeignKey(
        Conversation, models.CASCADE, related_name="events", verbose_name=_("conversation")
    )
    seq = models.PositiveIntegerField(_("number"))
    type = models.CharField(_("type"), max_length=30)
    payload = models.JSONField(_("content"), default=dict)
    run = models.ForeignKey(
        Run, models.SET_NULL, null=True, blank=True, related_name="events", verbose_name=_("run")
    )
    # Who was identified then: nobody else is shown the event again, and no model that talks with somebody else reads
    # it. It stays when the patient is deleted, or the event would become everybody's.
    patient = models.ForeignKey(
        "prescriptions.Patient",
        models.DO_NOTHING,
        null=True,
        blank=True,
        db_index=False,
        db_constraint=False,
        related_name="+",
        verbose_name=_("patient"),
    )
    created_at = models.DateTimeField(_("time"), auto_now_add=True)

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        ordering = ["conversation_id", "seq"]
        constraints = [models.UniqueConstraint(fields=["conversation", "seq"], name="event_number_once")]

    def __str__(self) -> str:
        return f"{self.seq} {self.type}"


class Confirmation(models.Model):
    """An effect that waits for the customer's yes: what would be done, and until when that can be answered."""

    class State(models.TextChoices):
        OPEN = "open", _("waiting")
        YES = "yes", _("confirmed")
        NO = "no", _("declined")
        CALLED_OFF = "called_off", _("called off")
        SUPERSEDED = "superseded", _("replaced by a newer one")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(
        Conversation, models.CASCADE, related_name="confirmations", verbose_name=_("conversation")
    )
    run = models.ForeignKey(Run, models.CASCADE, related_name="confirmations", verbose_name=_("asked by run"))
    action = models.CharField(_("action"), max_length=40)
    payload = models.JSONField(_("content"), default=dict)
    # Binds action, payload, patient and conversation together.
    digest = models.CharField(max_length=64)
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.OPEN)
    expires_at = models.DateTimeField(_("valid until"))
    answered_at = models.DateTimeField(_("answered"), null=True, blank=True)

    class Meta:
        verbose_name = _("confirmation")
        verbose_name_plural = _("confirmations")

    def __str__(self) -> str:
        return f"{self.action} {str(self.id)[:8]}"


class Feedback(models.Model):
    """A customer's rating of one answer."""

    conversation = models.ForeignKey(
        Conversation, models.CASCADE, related_name="feedback", verbose_name=_("conversation")
    )
    seq = models.PositiveIntegerField(_("answer"))
    rating = models.SmallIntegerField(_("rating"), choices=[(1, _("good")), (-1, _("bad"))])
    comment = models.TextField(_("comment"), blank=True)
    created_at = models.DateTimeField(_("time"), auto_now_add=True)

    class Meta:
        verbose_name = _("feedback")
        verbose_name_plural = _("feedback")
        constraints = [
            models.UniqueConstraint(fields=["conversation", "seq"], name="feedback_once_per_answer")
        ]

    def __str__(self) -> str:
        return f"{self.conversation} {self.seq}"


class Ticket(models.Model):
    """A one-time ticket of 30 seconds: into a frame's chat, or out of a frame into a window of our own."""

    ticket_hash = models.CharField(max_length=64, primary_key=True)
    site = models.ForeignKey(ChatSite, models.CASCADE, null=True, blank=True, related_name="+")
    # Only for the way out: the conversation that the holder may continue.
    conversation = models.ForeignKey(Conversation, models.CASCADE, null=True, blank=True, related_name="+")
    address_key = models.CharField(max_length=32)
    expires_at = models.DateTimeField(db_index=True)


class ModelUse(models.Model):
    """Tokens that a language model used outside of conversations, as in finding who decides a refill; the day's limit counts them."""

    purpose = models.CharField(max_length=20)
    tokens_in = models.PositiveIntegerField()
    tokens_out = models.PositiveIntegerField()
    cost = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    def __str__(self) -> str:
        return f"{self.purpose} {self.pk}"


class ToolCall(models.Model):
    """One call of a tool, by the chat or by a system: who, arguments (redacted), outcome and evidence."""

    run = models.ForeignKey(
        Run, models.CASCADE, null=True, blank=True, related_name="tool_calls", verbose_name=_("run")
    )
    api_key = models.ForeignKey(ApiKey, models.SET_NULL, null=True, blank=True, verbose_name=_("API key"))
    actor = models.CharField(_("who"), max_length=80)
    name = models.CharField(_("tool"), max_length=60)
    arguments = models.JSONField(_("arguments"), default=dict)
    ok = models.BooleanField(_("succeeded"))
    code = models.CharField(_("code"), max_length=40, blank=True)
    # Numbers and facts beside the contract's fields that the answer may use; no personal data.
    evidence = models.JSONField(_("evidence"), default=dict)
    duration_ms = models.PositiveIntegerField(_("milliseconds"))
    created_at = models.DateTimeField(_("time"), auto_now_add=True, db_index=True)

    class Meta:
        verbose_name = _("tool call")
        verbose_name_plural = _("tool calls")
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name
