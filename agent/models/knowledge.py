"""The knowledge base: questions with their reviewed answers, one collection for each role.

An entry holds the text that staff work on. What customers read is a version: the copy that was made when somebody
published it. So an edit changes no answer until it is published, and an older version can be published again.
"""

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from pharmacy_site.lib.fields import CleanLine, CleanText

ROLE_LENGTH = 40
LANGUAGE_LENGTH = 8
ENTRY_ID_LENGTH = 80
LABEL_LENGTH = 200
QUESTION_LENGTH = 500
SOURCE_LENGTH = 300
LONGEST_ANSWER = 40_000


class KnowledgeText(models.Model):
    """The text of an entry, with the specification's names: DEMUC is its topic, CHU_DE_CON its subtopic."""

    demuc = CleanLine[str, str](_("topic"), max_length=LABEL_LENGTH)
    chu_de_con = CleanLine[str, str](_("subtopic"), max_length=LABEL_LENGTH, blank=True)
    question = CleanLine[str, str](_("question"), max_length=QUESTION_LENGTH)
    asked_as = CleanText[str, str](
        _("also asked as"),
        longest=LONGEST_ANSWER,
        blank=True,
        help_text=_("Other wordings of the question, one a line, as people write it. Only for the search."),
    )
    answer = CleanText[str, str](_("answer"), longest=LONGEST_ANSWER)
    explanation = CleanText[str, str](_("explanation"), longest=LONGEST_ANSWER, blank=True)
    source = CleanLine[str, str](
        _("source"), max_length=SOURCE_LENGTH, help_text=_("Shown to the customer below the answer.")
    )

    class Meta:
        abstract = True


TEXT_FIELDS = ("demuc", "chu_de_con", "question", "asked_as", "answer", "explanation", "source")


class KnowledgeEntry(KnowledgeText):
    """One question with its answer, as staff edit it; `live` is the version that customers read, if any."""

    class State(models.TextChoices):
        DRAFT = "draft", _("draft")
        PUBLISHED = "published", _("published")

    role = CleanLine[str, str](
        _("role"), max_length=ROLE_LENGTH, help_text=_("Whom the answer is written for: their collection.")
    )
    language = CleanLine[str, str](_("language"), max_length=LANGUAGE_LENGTH)
    entry_id = CleanLine[str, str](_("id"), max_length=ENTRY_ID_LENGTH)
    # Draft: the text differs from what customers read, or they read nothing of it.
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.DRAFT)
    version = models.PositiveIntegerField(_("last version"), default=0)
    live = models.ForeignKey(
        "agent.KnowledgeVersion",
        models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("published version"),
    )
    # The collection's generation at which `live` last changed: what an index that is older must read again.
    generation = models.PositiveIntegerField(default=0, editable=False)
    changed_at = models.DateTimeField(_("changed"), auto_now=True)
    changed_by = models.CharField(_("changed by"), max_length=80, blank=True)

    class Meta:
        verbose_name = _("knowledge entry")
        verbose_name_plural = _("knowledge entries")
        permissions = [("publish_knowledgeentry", "Can publish knowledge entries")]
        constraints = [
            models.UniqueConstraint(
                fields=["role", "language", "entry_id"], name="knowledge_entry_once_per_collection"
            )
        ]
        indexes = [
            models.Index(fields=["role", "generation"], name="knowledge_changed"),
            models.Index(
                fields=["role", "language"], condition=Q(live__isnull=False), name="knowledge_published"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role} {self.entry_id} ({self.language})"


class KnowledgeQuestion(KnowledgeEntry):
    """The page on which staff ask: who may open it has the permission `view_knowledgequestion`. It has no rows of its own."""

    class Meta:
        proxy = True
        default_permissions = ("view",)
        verbose_name = _("question to the knowledge base")
        verbose_name_plural = _("ask the knowledge base")


class KnowledgeVersion(KnowledgeText):
    """The text of an entry as it was published once; never changed afterwards."""

    entry = models.ForeignKey(
        KnowledgeEntry, models.CASCADE, related_name="versions", verbose_name=_("entry")
    )
    number = models.PositiveIntegerField(_("version"))
    published_at = models.DateTimeField(_("published"), auto_now_add=True)
    published_by = models.CharField(_("published by"), max_length=80, blank=True)
    # Of the embeddings API: 32-bit floats, and the model that made them. Empty without a key.
    embedding = models.BinaryField(null=True, editable=False)
    embedding_model = models.CharField(max_length=120, blank=True, editable=False)

    class Meta:
        verbose_name = _("published version")
        verbose_name_plural = _("published versions")
        ordering = ["entry_id", "-number"]
        constraints = [models.UniqueConstraint(fields=["entry", "number"], name="knowledge_version_once")]

    def __str__(self) -> str:
        return str(self.number)


class KnowledgeCollection(models.Model):
    """The state of one role's collection: `generation` counts what was published, `rebuild` the rebuilds asked for.

    Each process compares both with those of its index, so that an index that is behind is noticed. What the index on a
    Qdrant server holds, which all processes share, stands in the `indexed_…` columns.
    """

    role = models.CharField(max_length=ROLE_LENGTH, primary_key=True)
    generation = models.PositiveIntegerField(default=0)
    # Another one with each generation: a database that was restored from a backup counts the same numbers again.
    token = models.UUIDField(default=uuid.uuid4)
    rebuild = models.PositiveIntegerField(default=0)
    indexed_generation = models.PositiveIntegerField(null=True)
    indexed_rebuild = models.PositiveIntegerField(null=True)

    def __str__(self) -> str:
        return self.role


class UnansweredQuestion(models.Model):
    """A question for which the knowledge base had nothing, without personal data, counted when it is asked again."""

    role = models.CharField(_("role"), max_length=ROLE_LENGTH)
    language = models.CharField(_("language"), max_length=LANGUAGE_LENGTH)
    question = CleanLine[str, str](_("question"), max_length=QUESTION_LENGTH)
    folded = models.CharField(max_length=64, editable=False)
    times = models.PositiveIntegerField(_("times"), default=1)
    first_at = models.DateTimeField(_("first asked"), auto_now_add=True)
    last_at = models.DateTimeField(_("last asked"), auto_now=True, db_index=True)
    done = models.BooleanField(
        _("done"), default=False, help_text=_("An entry was written, or none is wanted.")
    )

    class Meta:
        verbose_name = _("question without an answer")
        verbose_name_plural = _("questions without an answer")
        constraints = [
            models.UniqueConstraint(fields=["role", "language", "folded"], name="unanswered_question_once")
        ]

    def __str__(self) -> str:
        return self.question[:80]
