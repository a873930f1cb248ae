"""Delete what is past its time and report how much of each kind; with --audit also the oldest lines of the audit log."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from agent.retention import retention_apply
from pharmacy_site.lib.retention import Removed
from prescriptions.audit.anchors import AnchorsUnreadable
from prescriptions.audit.cutting import audit_cut, audit_lines_past
from prescriptions.errors import AuditHeadForged, AuditHeadMissing, AuditNotOurs, AuditNotWhole


class Command(BaseCommand):
    help = "Delete what is past its time (CHAT_RETENTION_DAYS, RETENTION_*_DAYS) and report how much of each kind."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only count what would be deleted")
        parser.add_argument(
            "--audit",
            action="store_true",
            help="remove audit lines older than RETENTION_AUDIT_DAYS as well; needs the role that owns the tables",
        )

    def handle(self, *args: Any, dry_run: bool, audit: bool, **options: Any) -> None:
        self._report(retention_apply(where="command", dry_run=dry_run), dry_run=dry_run)
        days = settings.RETENTION_AUDIT_DAYS
        if dry_run or not audit:
            past = Removed("audit_lines", days, audit_lines_past(timezone.now()))
            # Without the option nothing of the log is removed, so that is what is told.
            self._report([past], dry_run=True)
            return
        try:
            count = audit_cut()
        except (AuditNotWhole, AuditHeadForged, AuditHeadMissing) as error:
            raise CommandError(
                "The audit log is not as it was written: nothing of it was removed. Run verify_audit."
            ) from error
        except AuditNotOurs as error:
            raise CommandError(
                "This role may not remove audit lines: run the command with the DATABASE_URL of the tables' owner."
            ) from error
        except AnchorsUnreadable as error:
            raise CommandError(
                "The lines were removed, but no anchor was written: run anchor_audit."
            ) from error
        self._report([Removed("audit_lines", days, count)], dry_run=False)

    def _report(self, found: list[Removed], *, dry_run: bool) -> None:
        verb = "to be removed" if dry_run else "removed"
        for one in found:
            self.stdout.write(f"{one.name}: {one.count} {verb}, older than {one.days} days")
