"""Keys of the HTTP API: who calls, with which scopes, and how often."""

from __future__ import annotations

import hashlib
import secrets
import time
from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.db import transaction
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.throttling import SimpleRateThrottle

from agent.knowledge.roles import is_role
from agent.models import ApiKey
from pharmacy_site.lib.counters import use_admitted
from prescriptions.audit import audit_record
from prescriptions.handoffs.selectors import sees_handoffs

# REST framework's views import this module.
if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.contrib.auth.models import User
    from rest_framework.request import Request
    from rest_framework.views import APIView

SCOPES: Final = ("tools", "patients", "handoffs")
PREFIX: Final = "phk_"


def key_issue(*, name: str, scopes: list[str], user: User | None = None, roles: Sequence[str] = ()) -> str:
    """Make a key with these scopes and return it. Only its hash is stored, so nobody sees it again.

    A key for hand-offs acts on behalf of a member of staff, `user`. `roles` are those whose collections of the knowledge
    base it may ask besides the customers'; they need the scope `tools`. Raises ValueError.
    """
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        raise ValueError(f"unknown scopes: {', '.join(unknown)}" if unknown else "a key needs a scope")
    if ("handoffs" in scopes) != (user is not None):
        raise ValueError("a key for hand-offs, and no other, needs a member of staff")
    if user is not None and not is_of_staff(user):
        raise ValueError("this account is not of the staff that sees hand-offs")
    if roles and "tools" not in scopes:
        raise ValueError("a knowledge role needs the scope tools")
    for role in roles:
        if not is_role(role):
            raise ValueError(f"no role: {role}")
    key = PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        row = ApiKey.objects.create(
            name=name,
            prefix=key[:12],
            key_hash=_hash(key),
            scopes=[scope for scope in SCOPES if scope in scopes],
            user=user,
            roles=sorted(set(roles)),
        )
        audit_record(
            who="system",
            what="apikey_added",
            where="command",
            detail={
                "row": row.pk,
                "scopes": row.scopes,
                "roles": row.roles,
                "user": user.pk if user else None,
            },
        )
    return key


def is_of_staff(user: User) -> bool:
    """Return whether somebody works at hand-offs now: an account in force whose group sees them."""
    return user.is_active and user.is_staff and not user.is_superuser and sees_handoffs(user)


class Caller:
    """The `request.user` of a system, which has a key and no account."""

    is_authenticated = True
    is_staff = False

    def __init__(self, key: ApiKey) -> None:
        self.key = key

    def __str__(self) -> str:
        return f"key:{self.key.pk}"


class KeyAuthentication(BaseAuthentication):
    """Reads `Authorization: Bearer <key>`: one indexed query, so a revoked key is refused at once."""

    def authenticate(self, request: Request) -> tuple[Caller, ApiKey] | None:
        """Return who calls, None without the header. Raises AuthenticationFailed for anything but an active key."""
        words = get_authorization_header(request).split()
        if not words:
            return None
        if len(words) != 2 or words[0].lower() != b"bearer":
            raise AuthenticationFailed("The header must be: Authorization: Bearer <key>")
        rows = ApiKey.objects.filter(key_hash=hashlib.sha256(words[1]).hexdigest(), is_active=True)
        row = rows.select_related("user").first()
        if row is None:
            raise AuthenticationFailed("This key is not in force.")
        return Caller(row), row

    def authenticate_header(self, request: Request) -> str:
        """Name the scheme, which makes a missing key 401 and not 403."""
        return "Bearer"


class HasScope(BasePermission):
    """Allows keys with the scope that the view names (`scope`, "tools" by default)."""

    message = "The key lacks the scope for this."

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Return whether the key has the scope."""
        return isinstance(request.auth, ApiKey) and getattr(view, "scope", "tools") in request.auth.scopes


class KeyThrottle(SimpleRateThrottle):
    """Limits the calls per key and window of the clock, counted in the cache for all processes.

    REST framework counts by a list of times in the cache, which processes overwrite for one another.
    """

    num_requests: int
    duration: int
    _seconds_left = 0

    def get_rate(self) -> str:
        """Return the limit, like "600/min"."""
        return str(settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"]["key"])

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Count the call and return whether it is still within the rate."""
        if not isinstance(request.auth, ApiKey):
            return True
        limit, seconds = self.num_requests, self.duration
        now = time.time()
        window = int(now // seconds)
        self._seconds_left = int((window + 1) * seconds - now) + 1
        return use_admitted(f"throttle:{request.auth.pk}:{window}", limit=limit, seconds=seconds + 5)

    def wait(self) -> float | None:
        """Return the seconds until the next window, for `Retry-After`."""
        return self._seconds_left


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
