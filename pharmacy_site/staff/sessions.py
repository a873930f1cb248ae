"""End the sessions of staff: 15 minutes after the last sign of somebody, 12 hours after signing in."""

import time
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest

from pharmacy_site.staff.factor import factor_begin

_SEEN: Final = "staff_seen_at"
_SINCE: Final = "staff_since"
# A session is written once in so many seconds, not at each request.
_PRECISION: Final = 60


def on_signed_in(sender: object, request: HttpRequest, user: User, **kwargs: Any) -> None:
    """Begin a session: its times, and whether its second factor is due."""
    now = time.time()
    request.session[_SEEN] = request.session[_SINCE] = now
    factor_begin(request, user)


def ended_why(request: HttpRequest) -> str:
    """Return why this session is over ("idle" or "age"), or "" while it is not; one without times is over."""
    now = time.time()
    if not 0 <= now - request.session.get(_SEEN, 0) < settings.STAFF_IDLE:
        return "idle"
    return "" if now - request.session.get(_SINCE, 0) < settings.STAFF_SESSION else "age"


def somebody_is_there(request: HttpRequest) -> None:
    """Let the time without activity begin anew."""
    now = time.time()
    if now - request.session.get(_SEEN, 0) >= _PRECISION:
        request.session[_SEEN] = now
