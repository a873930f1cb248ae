"""System checks of a deployment: `manage.py check --deploy` refuses what is only meant for development."""

from typing import Any

from django.conf import settings
from django.core.checks import Error, Tags, register


@register(Tags.security, deploy=True)
def development_defaults(**kwargs: Any) -> list[Error]:
    """Return an error for each development default that is still in force."""
    found = []
    if not settings.SECRET_KEY_IS_SET:
        found.append(
            Error("SECRET_KEY is not set.", hint="Set it to a long random text.", id="pharmacy.E001")
        )
    if settings.DEBUG:
        found.append(Error("DEBUG is on.", hint="Unset DEBUG.", id="pharmacy.E002"))
    if settings.DATABASE["ENGINE"].endswith("sqlite3"):
        found.append(
            Error("The database is SQLite.", hint="Set DATABASE_URL to PostgreSQL.", id="pharmacy.E003")
        )
    if not settings.REDIS_URL:
        found.append(Error("Several web processes need Redis.", hint="Set REDIS_URL.", id="pharmacy.E004"))
    if set(settings.ALLOWED_HOSTS) <= {"localhost", "127.0.0.1", "[::1]"}:
        found.append(
            Error("ALLOWED_HOSTS names no public host.", hint="Set ALLOWED_HOSTS.", id="pharmacy.E005")
        )
    if not (settings.STATIC_ROOT / "staticfiles.json").exists():
        found.append(
            Error("The static files are not collected.", hint="Run collectstatic.", id="pharmacy.E007")
        )
    if settings.EMAIL_BACKEND.endswith("console.EmailBackend"):
        found.append(Error("Codes go to the console.", hint="Set EMAIL_URL.", id="pharmacy.E006"))
    return found
