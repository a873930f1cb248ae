"""Ask for the password again before a controlled medicine is approved: it counts for five minutes, in this session.

Tries count as tries to sign in (`pharmacy_site.staff`): whoever sits at an open session has no more of them.
"""

import time
from typing import Any, Final

from django.contrib.auth import authenticate
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from pharmacy_site.lib.admin import actor_of
from prescriptions.audit import audit_record

FRESH_SECONDS: Final = 5 * 60
_KEY: Final = "password_again_at"


def is_fresh(request: HttpRequest) -> bool:
    """Return whether the password was entered again within five minutes."""
    age: float = time.time() - request.session.get(_KEY, 0)
    return 0 <= age < FRESH_SECONDS


def password_again(request: HttpRequest, password: str) -> Any:
    """Check the password of whoever is signed in; return None, or a sentence that says why it does not count."""
    user = authenticate(request, username=request.user.get_username(), password=password)
    # The site's backend says so; it records the lock-out, and how often it was met.
    if told := getattr(request, "locked_told", ""):
        return told
    is_right = user is not None and user.pk == request.user.pk
    audit_record(
        who=actor_of(request), what="password_again" if is_right else "password_again_failed", where="admin"
    )
    if not is_right:
        return _("The password is wrong.")
    request.session[_KEY] = time.time()
    return None
