"""Remove the lines of the audit log that are older than they have to be kept, so that the rest still proves itself.

The log is append-only, for the site's role above all: only the role that owns the table can do this. Before lines go, a new
line names the last of them and its hash (`audit_cut`). The chain then begins behind that line, and the check accepts a beginning
only where such a line, under the key, says so. The numbers of lines go on.
"""

from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import ProgrammingError, connection, transaction
from django.utils import timezone

from pharmacy_site.lib.append_only import changeable
from prescriptions.audit.anchors import audit_anchor
from prescriptions.audit.log import audit_lock, audit_record
from prescriptions.audit.verifying import CUT, audit_verify
from prescriptions.errors import AuditNotOurs, AuditNotWhole
from prescriptions.models import AuditEvent

AT_ONCE: Final = 20_000


def audit_lines_past(now: datetime) -> int:
    """Return how many lines are older than `RETENTION_AUDIT_DAYS`."""
    first, last = _past(now)
    return last - first + 1


def audit_cut() -> int:
    """Remove the lines that are older than `RETENTION_AUDIT_DAYS`, write an anchor, and return how many they were.

    Raises AuditNotWhole for a log that is not as it was written, AuditNotOurs for a role that may not remove lines, and
    AnchorsUnreadable when the lines are gone but the anchor could not be written.
    """
    if not audit_lines_past(timezone.now()):
        return 0
    if audit_verify() is not None:
        raise AuditNotWhole
    removed = 0
    try:
        while batch := _cut_once():
            removed += batch
    except ProgrammingError as error:
        raise AuditNotOurs from error
    # The head, whose chain now begins later, is known outside of the database at once.
    audit_anchor(always=True)
    return removed


def _cut_once() -> int:
    with transaction.atomic():
        audit_lock()
        first, last = _past(timezone.now())
        if last < first:
            return 0
        last = min(last, first + AT_ONCE - 1)
        through = AuditEvent.objects.get(number=last)
        audit_record(who="system", what=CUT, where="command", detail={"through": last, "hash": through.hash})
        table = AuditEvent._meta.db_table
        with changeable(connection, table), connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {table} WHERE number <= %s", [last])
    return last - first + 1


def _past(now: datetime) -> tuple[int, int]:
    """Return the numbers of the first line and of the last one that is past its time; the newest line always stays."""
    first = AuditEvent.objects.order_by("number").values_list("number", flat=True).first()
    newest = AuditEvent.objects.order_by("-number").values_list("number", flat=True).first()
    if first is None or newest is None:
        return 1, 0
    kept = AuditEvent.objects.filter(at__gte=now - timedelta(days=settings.RETENTION_AUDIT_DAYS))
    oldest_kept = kept.order_by("number").values_list("number", flat=True).first()
    return first, min(newest if oldest_kept is None else oldest_kept, newest) - 1
