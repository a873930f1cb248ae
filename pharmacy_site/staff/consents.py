"""Let an account join groups, or get a new password or second factor, only with the consent of a second administrator.

One alone could otherwise make an account, put it into a group that sees patients, and sign in as it. A new password is chosen
by its owner: the administrator who consents passes on a link, the one who asked a number, and neither is enough alone.
"""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.contrib.auth.hashers import check_password, make_password
from django.contrib.auth.models import Group, User
from django.contrib.auth.tokens import default_token_generator
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from pharmacy_site.lib.errors import PharmacyError
from pharmacy_site.staff.factor import factor_drop
from pharmacy_site.staff.models import AccountRequest
from prescriptions.audit import audit_record

State = AccountRequest.State
_OPEN_FOR: Final = timedelta(days=3)
_TRIES: Final = 5
_NUMBER: Final = 8


class ConsentRefused(PharmacyError):
    """A request that cannot be made or decided; `code` says why: "nothing", "open_already", "own", "subject", "over"."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class Asked:
    """A request that was made, and the number that its account needs beside the link; "" when there will be no link."""

    request: AccountRequest
    number: str


def consent_ask(
    subject: User,
    by: User,
    *,
    groups: Iterable[str] = (),
    gives_link: bool = False,
    drops_factor: bool = False,
) -> Asked:
    """Ask for what needs a second person; ConsentRefused when nothing is asked, or something waits already."""
    joined = sorted(groups)
    if not (joined or gives_link or drops_factor):
        raise ConsentRefused("nothing")
    number = "".join(secrets.choice("0123456789") for _digit in range(_NUMBER)) if gives_link else ""
    _expire()
    try:
        with transaction.atomic():
            request = AccountRequest.objects.create(
                subject=subject,
                groups=joined,
                gives_link=gives_link,
                drops_factor=drops_factor,
                requested_by=by,
                expires_at=timezone.now() + _OPEN_FOR,
                number_hash=make_password(number) if number else "",
            )
            _record(request, by, "access_requested")
    except IntegrityError:
        raise ConsentRefused("open_already") from None
    return Asked(request, number)


def consent_give(number: int, by: User) -> tuple[AccountRequest, str]:
    """Do what a request asks for and return it, with the token of the link for a new password ("" without one)."""
    _expire()
    with transaction.atomic():
        request = _decided(number, by, State.APPROVED)
        subject = request.subject
        subject.groups.add(*Group.objects.filter(name__in=request.groups))
        if request.drops_factor:
            factor_drop(subject)
        token = ""
        if request.gives_link:
            # The password of before, which somebody may know, ends at once, and with it all sessions.
            subject.set_unusable_password()
            subject.save(update_fields=["password"])
            token = default_token_generator.make_token(subject)
        _record(request, by, "access_approved")
    return request, token


def consent_refuse(number: int, by: User) -> AccountRequest:
    """Refuse a request; whoever asked withdraws it."""
    _expire()
    with transaction.atomic():
        own = AccountRequest.objects.filter(pk=number, requested_by=by).exists()
        request = _decided(number, by, State.WITHDRAWN if own else State.REFUSED)
        _record(request, by, "access_withdrawn" if own else "access_refused")
    return request


def link_request(number: int, token: str) -> AccountRequest | None:
    """Return the request whose link this is, or None when it is used, over or wrong."""
    request = AccountRequest.objects.filter(
        pk=number, state=State.APPROVED, gives_link=True, link_used_at=None, tries__lt=_TRIES
    ).first()
    if request is None or not request.subject.is_active:
        return None
    return request if default_token_generator.check_token(request.subject, token) else None


def link_use(request: AccountRequest, number: str, password: str) -> bool:
    """Set the password that was chosen; return False for a wrong number, of which five shut the link."""
    with transaction.atomic():
        left = AccountRequest.objects.filter(pk=request.pk, link_used_at=None, tries__lt=_TRIES)
        # Counted before it is looked at: tries at the same moment are no more than five.
        if not left.update(tries=F("tries") + 1):
            return False
        if not check_password(number, request.number_hash):
            _record(request, None, "access_number_failed")
            return False
        AccountRequest.objects.filter(pk=request.pk).update(link_used_at=timezone.now())
        request.subject.set_password(password)
        request.subject.save(update_fields=["password"])
        _record(request, request.subject, "password_chosen")
    return True


def _decided(number: int, by: User, state: str) -> AccountRequest:
    """Set an open request to a state by a conditional update, so that it is decided once; ConsentRefused."""
    request = AccountRequest.objects.select_related("subject").filter(pk=number).first()
    if request is None:
        raise ConsentRefused("over")
    if state == State.APPROVED and request.requested_by_id == by.pk:
        raise ConsentRefused("own")
    if request.subject_id == by.pk:
        raise ConsentRefused("subject")
    now = timezone.now()
    rows = AccountRequest.objects.filter(pk=number, state=State.OPEN, expires_at__gt=now)
    if not rows.update(state=state, decided_by=by, decided_at=now):
        raise ConsentRefused("over")
    request.refresh_from_db()
    return request


def _expire() -> None:
    AccountRequest.objects.filter(state=State.OPEN, expires_at__lte=timezone.now()).update(
        state=State.EXPIRED
    )


def _record(request: AccountRequest, by: User | None, what: str) -> None:
    audit_record(
        who=f"user:{by.pk}" if by else "unknown",
        what=what,
        where="admin",
        detail={
            "request": request.pk,
            "user": request.subject_id,
            "groups": list(request.groups),
            "new_password": request.gives_link,
            "new_factor": request.drops_factor,
        },
    )
