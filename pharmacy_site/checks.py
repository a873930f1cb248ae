"""System checks of a deployment: `manage.py check --deploy` refuses what is only meant for development, or open to others."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.checks import Error, Tags, register

from pharmacy_site.lib.private_files import open_to_others

# What Django's own warning asks for, too.
_KEY_LENGTH: Final = 50
_KEY_GUESSES: Final = 30
"""Decimal digits of the number of guesses that a key takes (zxcvbn): random text of that length has about 50, repeated words fewer than 10."""
_MOST_NAMED: Final = 5


def _is_weak(key: str) -> bool:
    """Return whether a key is short, or long but put together from words and repetitions."""
    # Its lists of words take a while to load, and only a deployment needs them.
    from zxcvbn import zxcvbn

    return len(key) < _KEY_LENGTH or zxcvbn(key[:_KEY_LENGTH])["guesses_log10"] < _KEY_GUESSES


@register(Tags.security, deploy=True)
def development_defaults(**kwargs: Any) -> list[Error]:
    """Return an error for each development default that is still in force."""
    found = []
    if not settings.SECRET_KEY_IS_SET:
        found.append(
            Error("SECRET_KEY is not set.", hint="Set it to a long random text.", id="pharmacy.E001")
        )
    elif _is_weak(settings.SECRET_KEY):
        found.append(
            Error(
                "SECRET_KEY is weak.",
                hint=f"Set it to at least {_KEY_LENGTH} random characters.",
                id="pharmacy.E008",
            )
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
    if any("*" in host or host.startswith(".") for host in settings.ALLOWED_HOSTS):
        found.append(
            Error(
                "ALLOWED_HOSTS has a wildcard.", hint="Name each host in ALLOWED_HOSTS.", id="pharmacy.E009"
            )
        )
    if not settings.HTTPS:
        found.append(
            Error(
                "Pages are served without HTTPS.", hint="Serve TLS in front; set HTTPS.", id="pharmacy.E010"
            )
        )
    if settings.CHAT_IDENTITY == "identifier" and not settings.CHAT_TERMINAL:
        found.append(
            Error(
                "CHAT_IDENTITY=identifier shows prescriptions to whoever types an e-mail or phone.",
                hint="Unset CHAT_IDENTITY; set CHAT_TERMINAL only where nothing but a terminal inside the pharmacy reaches the site.",
                id="pharmacy.E011",
            )
        )
    if not (settings.STATIC_ROOT / "staticfiles.json").exists():
        found.append(
            Error("The static files are not collected.", hint="Run collectstatic.", id="pharmacy.E007")
        )
    if settings.EMAIL_BACKEND.endswith("console.EmailBackend"):
        found.append(Error("Codes go to the console.", hint="Set EMAIL_URL.", id="pharmacy.E006"))
    return found


@register(Tags.security, deploy=True)
def files_private(**kwargs: Any) -> list[Error]:
    """Return an error when others than their owner may use the files of the site: patients' data, keys, locks, anchors."""
    found = list(open_to_others(_private(), besides=settings.STATIC_ROOT))
    if not found:
        return []
    named = ", ".join(str(path) for path in found[:_MOST_NAMED])
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    return [
        Error(
            f"Others than their owner may use these files: {named}{more}.",
            hint="Give them to the user that the site runs as, and run: chmod -R go-rwx FILE",
            id="pharmacy.E012",
        )
    ]


def _private() -> Iterator[Path]:
    yield settings.VAR_DIR
    if settings.DATABASE["ENGINE"].endswith("sqlite3"):
        name = str(settings.DATABASE["NAME"])
        yield from (Path(f"{name}{ending}") for ending in ("", "-wal", "-shm"))
    if settings.AUDIT_ANCHOR and "://" not in settings.AUDIT_ANCHOR:
        yield Path(settings.AUDIT_ANCHOR)
