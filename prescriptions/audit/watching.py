"""Check the audit log again and again, and keep what was found for the alerts.

The head is looked at every few minutes and the whole log once a day, by one process. Whoever can change the database can
change what is kept here as well: the line in the logs, and `manage.py verify_audit`, do not depend on it.
"""

import logging
from datetime import timedelta
from typing import Final

from django.db import DatabaseError
from django.db.models import Q
from django.utils import timezone

from prescriptions.audit.anchors import audit_anchor
from prescriptions.audit.log import head_check
from prescriptions.audit.verifying import AuditBreak, audit_verify
from prescriptions.errors import AuditHeadForged
from prescriptions.models import AuditCheck, AuditHead

log = logging.getLogger(__name__)
EVERY: Final = timedelta(days=1)


def audit_check() -> AuditBreak | None:
    """Verify the whole log, keep and log what was found, and return it."""
    broken = audit_verify()
    _keep(broken)
    return broken


def audit_watch() -> None:
    """Write an anchor if one is due, look at the head, and verify the whole log if nobody has for a day."""
    audit_anchor_watched()
    head = AuditHead.objects.filter(pk=1).first()
    if head is None or _is_forged(head):
        _keep(AuditBreak(head.count if head else 0, None, "head"))
        return
    now = timezone.now()
    AuditCheck.objects.get_or_create(pk=1)
    due = AuditCheck.objects.filter(Q(checked_at=None) | Q(checked_at__lte=now - EVERY), pk=1)
    # The first of several processes takes it.
    if due.update(checked_at=now):
        audit_check()


def audit_anchor_watched() -> None:
    """Write an anchor if one is due, and keep since when that fails."""
    try:
        audit_anchor()
    except Exception as error:
        log.error("audit_anchor failed: %s", type(error).__name__)
        AuditCheck.objects.get_or_create(pk=1)
        AuditCheck.objects.filter(pk=1, unanchored_since=None).update(unanchored_since=timezone.now())
    else:
        AuditCheck.objects.filter(pk=1).exclude(unanchored_since=None).update(unanchored_since=None)


def _is_forged(head: AuditHead) -> bool:
    try:
        head_check(head)
    except AuditHeadForged:
        return True
    return False


def _keep(broken: AuditBreak | None) -> None:
    if broken:
        log.error("the audit log is broken at line %s: %s", broken.number, broken.kind)
    found: dict[str, str | int] = (
        {"broken": broken.kind, "line": broken.number} if broken else {"broken": "", "line": 0}
    )
    try:
        AuditCheck.objects.update_or_create(pk=1, defaults={**found, "checked_at": timezone.now()})
    except DatabaseError as error:
        # What was found is told in any case.
        log.error("the check of the audit log was not kept: %s", type(error).__name__)
