"""`manage.py verify_audit`: walk the audit chain; exit status 1 and the first bad line on tampering."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from prescriptions.audit import audit_verify
from prescriptions.models import AuditHead


class Command(BaseCommand):
    help = "Walk the audit log's chain and name the first line that is not as it was written."

    def handle(self, *args: Any, **options: Any) -> None:
        found = audit_verify()
        if found is not None:
            row = "" if found.event_id is None else f" (row {found.event_id})"
            raise CommandError(
                f"The audit log is broken at line {found.number}{row}: {found.kind}.", returncode=1
            )
        head = AuditHead.objects.filter(pk=1).first()
        count, last_hash = (head.count, head.hash) if head else (0, "")
        self.stdout.write(f"The audit log is as it was written: {count} lines, last hash {last_hash or '-'}.")
