"""Verify the audit log's hash chain; exit with status 1 and name the first broken line if it was tampered with."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from prescriptions.audit import audit_verify
from prescriptions.models import AuditHead


class Command(BaseCommand):
    help = "Walk the audit log's chain and name the first line that is not as it was written."

    def handle(self, *args: Any, **options: Any) -> None:
        broken = audit_verify()
        if broken is not None:
            row = "" if broken.event_id is None else f" (row {broken.event_id})"
            raise CommandError(
                f"The audit log is broken at line {broken.number}{row}: {broken.kind}.", returncode=1
            )
        head = AuditHead.objects.filter(pk=1).first()
        count, last_hash = (head.count, head.hash) if head else (0, "")
        self.stdout.write(f"The audit log is as it was written: {count} lines, last hash {last_hash or '-'}.")
