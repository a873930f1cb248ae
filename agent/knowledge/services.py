"""Write entries: publish, withdraw, roll back, and note questions that found nothing."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

from django.db import transaction
from django.db.models import F, OuterRef, QuerySet, Subquery
from django.utils import timezone

from agent.knowledge.features import text_folded
from agent.models import KnowledgeCollection, KnowledgeEntry, KnowledgeVersion, UnansweredQuestion
from agent.models.knowledge import QUESTION_LENGTH, TEXT_FIELDS
from agent.safety.privacy.placeholders import Placeholders
from pharmacy_site.lib.errors import PharmacyError
from pharmacy_site.lib.retention import Kind
from pharmacy_site.lib.text import clean
from prescriptions.audit import AuditDetail, audit_record

REQUIRED: Final = ("demuc", "question", "answer", "source")
_BATCH: Final = 500


class EntryIncomplete(PharmacyError):
    """An entry lacks what customers must be shown, its source for example; `fields` names what is missing."""

    def __init__(self, fields: Sequence[str]) -> None:
        super().__init__(f"empty: {', '.join(fields)}")
        self.fields = list(fields)


def entry_publish(*, entry: KnowledgeEntry, actor: str) -> KnowledgeVersion:
    """Make the entry's text, as it is stored, the one that customers read. Raises EntryIncomplete."""
    with transaction.atomic():
        version = entries_publish(entries=[_locked(entry)], actor=actor)[0]
        _record(version.entry, "knowledge_published", actor)
    entry.refresh_from_db()
    return version


def entry_withdraw(*, entry: KnowledgeEntry, actor: str) -> None:
    """Show customers nothing of the entry any more; its text and versions stay."""
    with transaction.atomic():
        locked = _locked(entry)
        locked.live, locked.state, locked.changed_by = None, KnowledgeEntry.State.DRAFT, actor
        locked.generation = _next_generation(locked.role)
        locked.save()
        _record(locked, "knowledge_withdrawn", actor)
    entry.refresh_from_db()


def entry_roll_back(*, entry: KnowledgeEntry, number: int, actor: str) -> KnowledgeVersion:
    """Publish the text of an older version again, as a new version. Raises KnowledgeVersion.DoesNotExist."""
    with transaction.atomic():
        locked = _locked(entry)
        old = locked.versions.get(number=number)
        for name in TEXT_FIELDS:
            setattr(locked, name, getattr(old, name))
        locked.save(update_fields=TEXT_FIELDS)
        version = entries_publish(entries=[locked], actor=actor)[0]
        _record(locked, "knowledge_rolled_back", actor)
    entry.refresh_from_db()
    return version


def entries_publish(*, entries: Sequence[KnowledgeEntry], actor: str) -> list[KnowledgeVersion]:
    """Publish stored entries of one role in the caller's transaction, without an audit line. Raises EntryIncomplete."""
    for entry in entries:
        if missing := [name for name in REQUIRED if not getattr(entry, name)]:
            raise EntryIncomplete(missing)
    if not entries:
        return []
    same = {
        "state": KnowledgeEntry.State.PUBLISHED,
        "generation": _next_generation(entries[0].role),
        "changed_by": actor,
        "changed_at": timezone.now(),
    }
    versions = []
    for entry in entries:
        entry.version += 1
        for name, value in same.items():
            setattr(entry, name, value)
        text = {name: getattr(entry, name) for name in TEXT_FIELDS}
        versions.append(KnowledgeVersion(entry=entry, number=entry.version, published_by=actor, **text))
    KnowledgeVersion.objects.bulk_create(versions, batch_size=_BATCH)
    newest = KnowledgeVersion.objects.filter(entry=OuterRef("pk")).order_by("-number").values("pk")[:1]
    for start in range(0, len(entries), _BATCH):
        rows = KnowledgeEntry.objects.filter(pk__in=[entry.pk for entry in entries[start : start + _BATCH]])
        rows.update(version=F("version") + 1, live=Subquery(newest), **same)
    for entry, version in zip(entries, versions, strict=True):
        entry.live = version
    return versions


def unanswered_note(
    *, question: str, role: str, language: str, personal: Mapping[str, Sequence[str]] = {}
) -> None:
    """Count a question for which nothing was found; what looks personal is replaced, and the customer's known values."""
    text = Placeholders(personal).hide(clean(question)).replace("\n", " ")[:QUESTION_LENGTH]
    folded = text_folded(text)
    if not folded:
        return
    row, is_new = UnansweredQuestion.objects.get_or_create(
        role=role,
        language=language,
        folded=sha256(folded.encode()).hexdigest(),
        defaults={"question": text},
    )
    if not is_new:
        UnansweredQuestion.objects.filter(pk=row.pk).update(times=F("times") + 1, last_at=timezone.now())


def _unanswered(until: datetime) -> QuerySet[Any]:
    """Return the questions that nobody has asked since."""
    return UnansweredQuestion.objects.filter(last_at__lt=until)


UNANSWERED: Final = Kind("unanswered_questions", "CHAT_RETENTION_DAYS", _unanswered)


def _locked(entry: KnowledgeEntry) -> KnowledgeEntry:
    return KnowledgeEntry.objects.select_for_update().get(pk=entry.pk)


def _next_generation(role: str) -> int:
    """Return the collection's next number; the row stays locked, so that numbers become visible in their order."""
    KnowledgeCollection.objects.get_or_create(role=role)
    KnowledgeCollection.objects.filter(role=role).update(generation=F("generation") + 1, token=uuid.uuid4())
    return KnowledgeCollection.objects.values_list("generation", flat=True).get(role=role)


def _record(entry: KnowledgeEntry, what: str, actor: str) -> None:
    detail: AuditDetail = {"entry": entry.pk, "role": entry.role, "version": entry.version}
    audit_record(who=actor, what=what, where="admin", detail=detail)
