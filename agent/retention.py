"""Delete everything that is past its time, and say what was deleted: the one place that knows all kinds.

The audit log is not among them, because the site may only add to it: `manage.py apply_retention --audit` shortens it.
"""

from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.utils import timezone

from agent.conversation.retention import KINDS as CHAT_KINDS
from agent.conversation.retention import conversations_expire, conversations_past
from agent.knowledge.services import UNANSWERED
from pharmacy_site.lib.retention import Kind, Removed, kind_apply
from prescriptions.audit import audit_record
from prescriptions.retention import KINDS as PHARMACY_KINDS


def _sessions(until: datetime) -> QuerySet[Any]:
    """Return sign-ins that ended by themselves; those that were ended are gone at once."""
    return Session.objects.filter(expire_date__lt=until)


KINDS: Final = (
    *PHARMACY_KINDS,
    *CHAT_KINDS,
    UNANSWERED,
    Kind("sessions", "RETENTION_SESSIONS_DAYS", _sessions),
)


def retention_apply(*, where: str, dry_run: bool = False) -> list[Removed]:
    """Delete what is past its time, or only count it (`dry_run`); return the count of every kind.

    Safe to call at any time, several times at once. What was deleted is in the audit log, with `where` as its place.
    """
    now = timezone.now()
    found = [_conversations(dry_run=dry_run), *(kind_apply(kind, now, dry_run=dry_run) for kind in KINDS)]
    counts = {one.name: one.count for one in found if one.count}
    if counts and not dry_run:
        audit_record(who="system", what="retention_applied", where=where, detail=counts)
    return found


def _conversations(*, dry_run: bool) -> Removed:
    """Conversations go one by one: each is a line of the audit log."""
    if dry_run:
        count = conversations_past().count()
    else:
        count = 0
        while ended := conversations_expire():
            count += ended
    return Removed("conversations", settings.CHAT_RETENTION_DAYS, count)
