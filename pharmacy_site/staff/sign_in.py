"""Sign staff in by name and password, within the limits, and record each try."""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.forms import AuthenticationForm

from pharmacy_site.lib.network import request_address
from pharmacy_site.staff.limits import Counted, Kind, key_of, try_admitted, try_failed, try_succeeded
from prescriptions.audit import audit_record

_MOST_NAME = 150


class StaffBackend(ModelBackend):
    """Checks name and password of staff; also when somebody who is signed in enters the password again."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> User | None:
        """Return the account, or None; PermissionDenied while the account or the address is locked out.

        A request that was refused for that has in `locked_told` what to say, with the minutes that are left.
        """
        if not username or password is None:
            return None
        known = User.objects.filter(username=username).only("pk").first()
        number = known.pk if known else None
        counted = [Counted(Kind.ACCOUNT, key_of(username[:_MOST_NAME]), number)]
        if request is not None:
            counted.append(Counted(Kind.ADDRESS, key_of(request_address(request))))
        # Without the database this raises, and nobody signs in.
        left = try_admitted(counted, where="admin")
        if left:
            if request is not None:
                request.locked_told = locked_text(left)  # type: ignore[attr-defined]
            raise PermissionDenied
        user = super().authenticate(request, username=username, password=password)
        if user is None:
            record_try("sign_in_failed", number, counted)
            try_failed(counted, where="admin")
            return None
        try_succeeded(counted)
        return User.objects.get(pk=user.pk)

    def user_can_authenticate(self, user: Any) -> bool:
        """Return whether this is an active account of staff: there are no others to sign in as."""
        return bool(super().user_can_authenticate(user) and user.is_staff)


class SignInForm(AuthenticationForm):
    """The form of the sign-in page; it says the same whether or not an account exists."""

    error_messages = {
        "invalid_login": _("Name and password do not fit together. Both are case-sensitive."),
        "inactive": _("Name and password do not fit together. Both are case-sensitive."),
    }

    def clean(self) -> dict[str, Any]:
        """Check both fields and record a right password."""
        cleaned: dict[str, Any] = super().clean()
        user = self.get_user()
        if user is not None:
            record_try("sign_in", user.pk, [])
        return cleaned

    def get_invalid_login_error(self) -> ValidationError:
        """Return the error of a wrong try, or of a lock-out with the minutes that are left."""
        told: str = getattr(self.request, "locked_told", "")
        if not told:
            return ValidationError(self.error_messages["invalid_login"], code="invalid_login")
        return ValidationError(told, code="locked")


def locked_text(minutes: int) -> str:
    """Return what somebody reads who is locked out."""
    return ngettext(
        "Too many tries. Try again in %(count)d minute, or ask an administrator to unlock the account.",
        "Too many tries. Try again in %(count)d minutes, or ask an administrator to unlock the account.",
        minutes,
    ) % {"count": minutes}


def record_try(what: str, user: int | None, counted: list[Counted]) -> None:
    """Write one line of the audit log about a try: the account's number if there is one, and hashes of what was typed."""
    keys = {one.kind: one.key[:16] for one in counted if one.kind != Kind.ACCOUNT or user is None}
    audit_record(
        who=f"user:{user}" if user else "unknown",
        what=what,
        where="admin",
        detail={str(k): v for k, v in keys.items()},
    )
