"""What the values of settings may be: each rule says what to write instead, and environs names the setting."""

from collections.abc import Callable, Iterable
from email.utils import parseaddr
from typing import Any, Final
from zoneinfo import ZoneInfo

import dj_database_url
import dj_email_url
from environs import ValidationError, validate

Validator = Callable[[Any], Any]

AT_LEAST_0: Final = validate.Range(min=0, error="Write 0 or more.")
AT_LEAST_1: Final = validate.Range(min=1, error="Write 1 or more.")
NOT_EMPTY: Final = validate.Length(min=1, error="Write at least one character.")
TELEPHONE: Final = validate.Regexp(r"[0-9+*][0-9 *#()-]*\Z", error="Write a telephone number.")
TELEPHONE_OR_EMPTY: Final = validate.Regexp(
    r"([0-9+*][0-9 *#()-]*)?\Z", error="Write a telephone number, or nothing."
)
RATE: Final = validate.Regexp(
    r"[1-9][0-9]*/(s|sec|second|m|min|minute|h|hour|d|day)\Z",
    error="Write calls per period, like 600/min; a period is s, min, h or d.",
)
WEB_ADDRESS_OR_EMPTY: Final = validate.Regexp(
    r"(https?://[^\s/?#]+[^\s?#]*)?\Z", error="Write an address like https://api.example.com/v1, or nothing."
)
QDRANT_OR_EMPTY: Final = validate.Regexp(
    r"(https?://[^\s/?#]+[^\s?#]*|:memory:)?\Z",
    error="Write an address like http://qdrant:6333, :memory:, or nothing.",
)
KNOWLEDGE_ROLE_OR_EMPTY: Final = validate.Regexp(
    r"([a-z][a-z0-9_]{0,39})?\Z", error="Write a role like patient_diabetes, or nothing."
)
REDIS_OR_EMPTY: Final = validate.Regexp(
    r"((redis|rediss|unix)://\S+)?\Z", error="Write an address like redis://host:6379/0, or nothing."
)
BROKER_OR_EMPTY: Final = validate.Regexp(
    r"((redis|rediss|sentinel|amqp|amqps)://\S*)?\Z",
    error="Write an address like redis://host:6379/1 or amqp://user:password@host, or nothing.",
)
ANCHOR_OR_EMPTY: Final = validate.Regexp(
    r"([^\s:]+|(file|s3|gs|az)://\S+)?\Z",
    error="Write the path of a file, or an address like s3://bucket/folder.",
)
KEY_OR_EMPTY: Final = validate.Regexp(
    r"([\w.~+/=-]{32,})?\Z", error="Write at least 32 letters, digits or signs of a key, or nothing."
)
LOG_LEVEL: Final = validate.OneOf(
    ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], error="Write one of: {choices}."
)
_ORIGIN: Final = validate.Regexp(
    r"https?://[^\s/?#@*]+/?\Z", error="Write origins like https://shop.example.com, separated by commas."
)
_HOST: Final = validate.Regexp(
    r"(\*|\.?[\w-]+(\.[\w-]+)*\.?|\[[0-9A-Fa-f:.]+\])\Z",
    error="Write host names like pharmacy.example.com, separated by commas.",
)


def one_of(*choices: str) -> Validator:
    """Return the rule of a setting that chooses."""
    return validate.OneOf(choices, error="Write one of: {choices}.")


def seconds_below(limit: int) -> Validator:
    """Return the rule of a time that is over before another limit is reached."""
    error = f"Write seconds: more than 0 and less than {limit}."
    return validate.Range(min=0, max=limit, min_inclusive=False, max_inclusive=False, error=error)


def hosts(values: Iterable[str]) -> None:
    """Refuse what is not a host name, such as an address with a scheme."""
    for value in values:
        _HOST(value)


def origins(values: Iterable[str]) -> None:
    """Refuse what is not an origin, such as an address with a path."""
    for value in values:
        _ORIGIN(value)


def sender(value: str) -> None:
    """Refuse what no message can come from."""
    name, at, domain = parseaddr(value)[1].partition("@")
    if not (name and at and domain):
        raise ValidationError("Write an e-mail address, like pharmacy@example.com.")


def time_zone(value: str) -> None:
    """Refuse the name of a time zone that this machine does not know."""
    try:
        ZoneInfo(value)
    except (LookupError, ValueError, OSError):
        raise ValidationError("Write the name of a time zone, like Asia/Jerusalem.") from None


def database_url(value: str) -> None:
    """Refuse a database that the site does not run on."""
    try:
        parsed = dj_database_url.parse(value)
    except ValueError:
        parsed = {}
    if not (parsed.get("NAME") and parsed.get("ENGINE", "").endswith((".sqlite3", ".postgresql"))):
        raise ValidationError("Write postgres://user:password@host:5432/name or sqlite:///path.")


def email_url(value: str) -> None:
    """Refuse a way of sending messages that does not exist."""
    try:
        parsed = dj_email_url.parse(value)
    except ValueError:
        parsed = {}
    if "EMAIL_BACKEND" not in parsed:
        raise ValidationError("Write an address like submission://user:password@host, or console://.")
