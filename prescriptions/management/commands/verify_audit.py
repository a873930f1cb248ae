"""Verify the audit log: its chain, its head and its anchors; exit with status 1 and name the first broken line."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from prescriptions.audit.anchors import anchors_read
from prescriptions.audit.watching import audit_check
from prescriptions.models import AuditEvent, AuditHead


class Command(BaseCommand):
    help = "Walk the audit log's chain and name the first line that is not as it was written."

    def handle(self, *args: Any, **options: Any) -> None:
        broken = audit_check()
        if broken is not None:
            row = "" if broken.event_id is None else f" (row {broken.event_id})"
            raise CommandError(
                f"The audit log is broken at line {broken.number}{row}: {broken.kind}.", returncode=1
            )
        head = AuditHead.objects.get(pk=1)
        self.stdout.write(
            f"The audit log is as it was written: {head.count} lines, last hash {head.hash or '-'}."
        )
        first = AuditEvent.objects.order_by("number").values_list("number", flat=True).first()
        if first and first > 1:
            self.stdout.write(
                f"It begins at line {first}: older lines were removed when their time was over."
            )
        anchors = anchors_read()
        if anchors:
            newest = anchors[-1]
            self.stdout.write(
                f"{len(anchors)} anchors verified; the newest, of {newest.at}, covers {newest.count} lines."
            )
        else:
            self.stdout.write("No anchor outside the database: set AUDIT_ANCHOR.")
