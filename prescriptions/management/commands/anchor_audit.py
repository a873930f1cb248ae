"""Write the head of the audit log to `AUDIT_ANCHOR` now; with --restored, accept that a backup put the log back."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from prescriptions.audit import audit_record
from prescriptions.audit.anchors import AnchorsUnreadable, audit_anchor
from prescriptions.errors import AuditHeadForged, AuditHeadMissing


class Command(BaseCommand):
    help = "Write the head of the audit log to AUDIT_ANCHOR now."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--restored",
            action="store_true",
            help="the database was restored from a backup: anchors of later states do not count any more",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.AUDIT_ANCHOR:
            raise CommandError("AUDIT_ANCHOR is not set.")
        try:
            if options["restored"]:
                audit_record(who="system", what="audit_restored", where="command")
            anchor = audit_anchor(restored=options["restored"], always=True)
        except AnchorsUnreadable as error:
            raise CommandError(f"The anchor was not written: {type(error.__cause__).__name__}.") from error
        except (AuditHeadForged, AuditHeadMissing):
            anchor = None
        if anchor is None:
            raise CommandError("The head of the audit log is not as it was written. Run verify_audit.")
        self.stdout.write(f"{anchor.count} lines anchored, last hash {anchor.hash or '-'}.")
