"""Who calls over HTTP: a system's key, its scopes, and how often it may call."""

from __future__ import annotations

import hashlib
import logging
import secrets
import time
from typing import TYPE_CHECKING, Final

from django.conf import settings
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.throttling import BaseThrottle

from agent.models import ApiKey
from pharmacy_site.lib.counters import counters

if TYPE_CHECKING:  # REST framework's views import this module
    from rest_framework.request import Request
    from rest_framework.views import APIView

SCOPES: Final = ("tools", "patients")
PREFIX: Final = "phk_"
_PERIODS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}

logger = logging.getLogger(__name__)


def key_issue(*, name: str, scopes: list[str]) -> str:
    """Make a key with these scopes and return it; this is the only time anybody sees it."""
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        raise ValueError(f"unknown scopes: {', '.join(unknown)}" if unknown else "a key needs a scope")
    key = PREFIX + secrets.token_urlsafe(32)
    ApiKey.objects.create(
        name=name, prefix=key[:12], key_hash=_hash(key), scopes=[scope for scope in SCOPES if scope in scopes]
    )
    return key


class Caller:
    """The `request.user` of a system: it has a key and no account."""

    is_authenticated = True
    is_staff = False

    def __init__(self, key: ApiKey) -> None:
        self.key = key

    def __str__(self) -> str:
        return f"key:{self.key.pk}"


class KeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer <key>`: one indexed query, so a revoked key is refused at once."""

    def authenticate(self, request: Request) -> tuple[Caller, ApiKey] | None:
        """Return who calls; None without the header, AuthenticationFailed for anything but a key in force."""
        words = get_authorization_header(request).split()
        if not words:
            return None
        if len(words) != 2 or words[0].lower() != b"bearer":
            raise AuthenticationFailed("The header must be: Authorization: Bearer <key>")
        row = ApiKey.objects.filter(key_hash=hashlib.sha256(words[1]).hexdigest(), is_active=True).first()
        if row is None:
            raise AuthenticationFailed("This key is not in force.")
        return Caller(row), row

    def authenticate_header(self, request: Request) -> str:
        """Name the scheme, which makes a missing key 401 and not 403."""
        return "Bearer"


class HasScope(BasePermission):
    """The key has the scope that the view names (`scope`, "tools" unless it says otherwise)."""

    message = "The key lacks the scope for this."

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Return whether it has."""
        return isinstance(request.auth, ApiKey) and getattr(view, "scope", "tools") in request.auth.scopes


class KeyThrottle(BaseThrottle):
    """So many calls per key and window of the clock (setting `key`), counted in the cache for all processes.

    When the cache is down calls go through and that is logged: the tools must not stop with Redis.
    """

    left = 0

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Count the call and return whether it is still within the rate."""
        if not isinstance(request.auth, ApiKey):
            return True
        most, seconds = _rate(settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"]["key"])
        now = time.time()
        window = int(now // seconds)
        self.left = int((window + 1) * seconds - now) + 1
        name = f"throttle:{request.auth.pk}:{window}"
        try:
            counters().add(name, 0, timeout=seconds + 5)
            return bool(counters().incr(name) <= most)
        except Exception as error:
            logger.warning("throttle not counted, the cache failed: %s", type(error).__name__)
            return True

    def wait(self) -> float | None:
        """Return the seconds until the next window, for `Retry-After`."""
        return self.left


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def _rate(text: str) -> tuple[int, int]:
    count, _, period = text.partition("/")
    return int(count), _PERIODS[period[0]]
