"""The second factor of staff: codes of an authenticator app (TOTP), and recovery codes for when the phone is lost.

django-otp keeps the devices and checks the codes; tries are limited as those of passwords are. Recovery codes are stored as
keyed hashes.
"""

from base64 import b32encode, b64encode
from typing import Any, Final

import django_otp
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from pharmacy_site.lib.admin import actor_of
from pharmacy_site.staff.limits import Counted, Kind, key_of, try_admitted, try_failed, try_succeeded
from pharmacy_site.staff.sign_in import locked_text
from prescriptions.audit import audit_record

RECOVERY_CODES: Final = 10
_STATE: Final = "staff_factor"
_DIGITS: Final = 6


def factor_begin(request: HttpRequest, user: User) -> None:
    """Note in a new session whether a second factor is due: where it is required, and for whoever has one."""
    is_due = settings.SECOND_FACTOR_REQUIRED or device_of(user) is not None
    request.session[_STATE] = "due" if is_due else "none"


def factor_is_due(request: HttpRequest) -> bool:
    """Return whether this session may do nothing yet but give, or set up, its second factor."""
    user: Any = request.user
    if user.is_verified():
        return False
    return settings.SECOND_FACTOR_REQUIRED or request.session.get(_STATE) != "none"


def device_of(user: User) -> TOTPDevice | None:
    """Return somebody's confirmed authenticator app, or None."""
    return TOTPDevice.objects.filter(user=user, confirmed=True).first()


def device_in_setup(user: User) -> TOTPDevice:
    """Return the app that is being set up; its key stays the same until it is confirmed."""
    device = TOTPDevice.objects.filter(user=user, confirmed=False).first()
    return device or TOTPDevice.objects.create(user=user, name="app", confirmed=False)


def key_text(device: TOTPDevice) -> str:
    """Return a device's key for typing it into an app, in groups of four."""
    text = b32encode(device.bin_key).decode().rstrip("=")
    return " ".join(text[at : at + 4] for at in range(0, len(text), 4))


def key_image(device: TOTPDevice) -> str:
    """Return a device's key as a data address of an SVG picture, for the camera of an app."""
    # Its import takes a moment, and few pages need it.
    import qrcode
    from qrcode.image.svg import SvgPathImage

    drawn: bytes = qrcode.make(device.config_url, image_factory=SvgPathImage, border=2).to_string()
    return "data:image/svg+xml;base64," + b64encode(drawn).decode()


def factor_confirm(request: HttpRequest, code: str) -> tuple[list[str], str]:
    """Confirm the app that is being set up by its first code; return the recovery codes and no error, or the reverse.

    It takes the place of an app that was there, and its recovery codes of those that were.
    """
    user = _user(request)
    with transaction.atomic():
        device = device_in_setup(user)
        error = _checked(request, device.persistent_id, code)
        if error:
            return [], error
        TOTPDevice.objects.filter(user=user).exclude(pk=device.pk).delete()
        TOTPDevice.objects.filter(pk=device.pk).update(confirmed=True)
        codes = _codes_made(user)
        _record(request, "second_factor_set")
    _passed(request, device)
    return codes, ""


def factor_give(request: HttpRequest, code: str) -> str:
    """Check a code of the app, or a recovery code, and let the session in; return the error, or ""."""
    user = _user(request)
    plain = code.replace(" ", "").replace("-", "")
    is_recovery = not (plain.isdigit() and len(plain) == _DIGITS)
    if is_recovery:
        device: Any = StaticDevice.objects.filter(user=user, confirmed=True).first()
        plain = _stored(user, plain)
    else:
        device = device_of(user)
    error = _checked(request, device.persistent_id if device else "", plain)
    if error:
        return error
    detail = {"left": codes_left(user)} if is_recovery else {}
    _record(request, "recovery_code_used" if is_recovery else "second_factor", **detail)
    _passed(request, device)
    return ""


def codes_left(user: User) -> int:
    """Return how many recovery codes somebody has."""
    left: int = StaticToken.objects.filter(device__user=user).count()
    return left


def codes_renew(request: HttpRequest) -> list[str]:
    """Make new recovery codes instead of the old ones and return them; they are shown once."""
    with transaction.atomic():
        codes = _codes_made(_user(request))
        _record(request, "recovery_codes_made")
    return codes


def factor_drop(user: User) -> None:
    """Take somebody's second factor and recovery codes away; a session that they let in is shut at once."""
    TOTPDevice.objects.filter(user=user).delete()
    StaticDevice.objects.filter(user=user).delete()


def _checked(request: HttpRequest, device_id: str, code: str) -> str:
    user = _user(request)
    counted = [Counted(Kind.FACTOR, key_of(f"factor:{user.pk}"), user.pk)]
    left = try_admitted(counted, where="admin")
    if left:
        return locked_text(left)
    if not device_id or django_otp.verify_token(user, device_id, code) is None:
        _record(request, "second_factor_failed")
        try_failed(counted, where="admin")
        return _("This code does not fit. Codes of the app change every half a minute, and each counts once.")
    try_succeeded(counted)
    return ""


def _passed(request: HttpRequest, device: Any) -> None:
    # The session that knew the password only ends here.
    request.session.cycle_key()
    django_otp.login(request, device)


def _codes_made(user: User) -> list[str]:
    StaticDevice.objects.filter(user=user).delete()
    device = StaticDevice.objects.create(user=user, name="recovery")
    codes = [StaticToken.random_token() for _number in range(RECOVERY_CODES)]
    StaticToken.objects.bulk_create(StaticToken(device=device, token=_stored(user, code)) for code in codes)
    return [f"{code[:4]}-{code[4:]}" for code in codes]


def _stored(user: User, code: str) -> str:
    """Return a recovery code as it is stored: 64 bits of a keyed hash."""
    return salted_hmac("staff.recovery", f"{user.pk}:{code.lower()}", algorithm="sha256").hexdigest()[:16]


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _record(request: HttpRequest, what: str, **detail: int) -> None:
    audit_record(who=actor_of(request), what=what, where="admin", detail=detail)
