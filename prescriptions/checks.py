"""System checks of the identity policy, of the webhook, and of the audit log's role, key and anchor."""

from typing import Any, Final

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import DatabaseError, connection

SHORTEST_KEY: Final = 32


@register(Tags.security)
def identity_policy(**kwargs: Any) -> list[CheckMessage]:
    """Warn at every start about a policy that proves little."""
    if settings.CHAT_IDENTITY == "dob":
        return [
            Warning(
                "CHAT_IDENTITY=dob proves little: relatives and employers know a date of birth, and it can be guessed.",
                hint="Prefer a one-time code: unset CHAT_IDENTITY.",
                id="prescriptions.W002",
            )
        ]
    if settings.CHAT_IDENTITY != "identifier":
        return []
    return [
        Warning(
            "CHAT_IDENTITY=identifier shows prescriptions to whoever types an e-mail or phone.",
            hint="Only for a terminal inside the pharmacy; unset it on a public site.",
            id="prescriptions.W001",
        )
    ]


@register(Tags.security)
def webhook_signed(**kwargs: Any) -> list[CheckMessage]:
    """Refuse a webhook without a key: whoever receives its calls could not tell them from anybody else's."""
    if not settings.HANDOFF_WEBHOOK or settings.HANDOFF_WEBHOOK_KEY:
        return []
    return [
        Error(
            "HANDOFF_WEBHOOK is set without HANDOFF_WEBHOOK_KEY.",
            hint="Set HANDOFF_WEBHOOK_KEY to a long random text that the receiver knows too.",
            id="prescriptions.E001",
        )
    ]


@register(Tags.security, deploy=True)
def audit_role(**kwargs: Any) -> list[CheckMessage]:
    """Warn when the site's database role may change the audit log: it owns the table, or is a superuser."""
    if connection.vendor != "postgresql":
        return []
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_has_role(relowner, 'MEMBER') FROM pg_class WHERE oid = to_regclass('prescriptions_auditevent')"
            )
            row = cursor.fetchone()
    except DatabaseError as error:
        return [
            Warning(
                f"Who owns the audit log cannot be asked: {type(error).__name__}.",
                hint="Run the check where the database is reachable.",
                id="prescriptions.W005",
            )
        ]
    if row is not None and not row[0]:
        return []
    return [
        Warning(
            "The site's database role owns the audit log, or the log is not there.",
            hint="Run manage.py migrate as the owner, then docs/site_role.sql, and give the site that role.",
            id="prescriptions.W004",
        )
    ]


@register(Tags.security, deploy=True)
def audit_sealed(**kwargs: Any) -> list[CheckMessage]:
    """Refuse a weak key of the audit log, and warn when nobody outside the database knows its head."""
    found: list[CheckMessage] = []
    if not settings.AUDIT_KEY_IS_SET or len(settings.AUDIT_KEY) < SHORTEST_KEY:
        found.append(
            Error(
                f"AUDIT_KEY is not set, or has less than {SHORTEST_KEY} characters.",
                hint="Set it to a long random text, the same in all processes, and keep it with the backups.",
                id="prescriptions.E002",
            )
        )
    if not settings.AUDIT_ANCHOR:
        found.append(
            Warning(
                "AUDIT_ANCHOR is not set: who can replay older rows of the database can rewind the audit log.",
                hint="Set it to a file on another machine, or to an object store.",
                id="prescriptions.W003",
            )
        )
    return found
