"""Limit tries to sign in, per account, per network address and per second factor, and lock out for a while.

Rows of the database count, not the cache: all processes count together, and when the database cannot be asked nobody signs in.
A try is counted before the password is looked at, so that tries at the same moment are no more than the limit; a right one
is taken back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import salted_hmac

from pharmacy_site.staff.models import SignInCount
from prescriptions.audit import audit_record

Kind = SignInCount.Kind
LIMITS: Final = {Kind.ACCOUNT: 5, Kind.ADDRESS: 20, Kind.FACTOR: 5}
"""Tries within the window; behind one address are all people of a branch."""
WINDOW: Final = timedelta(minutes=15)
_LOCK: Final = timedelta(minutes=15)
# 15 minutes, doubled with each lock-out in a row up to 4 hours: at most 45 tries at one account in a day.
_MOST_DOUBLINGS: Final = 4
_KEPT: Final = timedelta(days=1)


@dataclass(frozen=True)
class Counted:
    """What is counted for one try: a kind, the key of its row, and the account's number if there is such an account."""

    kind: str
    key: str
    user: int | None = None


def key_of(text: str) -> str:
    """Return the keyed hash (64 hexadecimal digits) under which a typed name or a network address is counted."""
    return salted_hmac("pharmacy_site.staff.limits", text.casefold(), algorithm="sha256").hexdigest()


def try_admitted(counted: Sequence[Counted], *, where: str) -> int:
    """Count one try under each of these and return 0, or the minutes that are left when one of them is locked.

    Rows are locked in the order of `counted`: give the account before the address.
    """
    now = timezone.now()
    with transaction.atomic():
        rows = [_row(one) for one in counted]
        locked = [row for row in rows if row.locked_until and row.locked_until > now]
        for row in locked:
            row.refused += 1
            row.save(update_fields=["refused"])
        for row in [] if locked else rows:
            if row.locked_until or now - row.since > WINDOW:
                row.tries, row.refused, row.since, row.locked_until = 0, 0, now, None
            row.tries += 1
            if row.tries >= LIMITS[Kind(row.kind)]:
                # This try is still looked at; when it is right the lock-out is taken back.
                row.locked_until = now + _LOCK * 2 ** min(row.locks, _MOST_DOUBLINGS)
                row.locks += 1
            row.save()
        for row in locked:
            # Not a line for each: a flood would fill the log. The 1st, 2nd, 4th, 8th, … name how many there were.
            if row.refused & (row.refused - 1) == 0:
                _record(row, "sign_in_refused", where, refused=row.refused)
    return max((_minutes(row, now) for row in locked), default=0)


def try_failed(counted: Sequence[Counted], *, where: str) -> None:
    """Record the lock-outs that a wrong try began."""
    for row in map(_row_now, counted):
        if row and row.locked_until:
            _record(row, "sign_in_locked", where, minutes=_minutes(row, timezone.now()), locks=row.locks)


def try_succeeded(counted: Sequence[Counted]) -> None:
    """Take back a try that was right: an account begins anew, an address has one try less."""
    old = timezone.now() - _KEPT
    with transaction.atomic():
        for one in counted:
            row = _row(one)
            if one.kind == Kind.ADDRESS:
                was_last = row.tries >= LIMITS[Kind.ADDRESS]
                row.tries = max(row.tries - 1, 0)
                if was_last and row.locked_until:
                    row.locked_until, row.locks = None, max(row.locks - 1, 0)
                row.save()
            else:
                row.delete()
        SignInCount.objects.filter(Q(locked_until=None) | Q(locked_until__lt=old), since__lt=old).delete()


def unlock(row: SignInCount, *, who: str, where: str) -> None:
    """End a lock-out before its time."""
    SignInCount.objects.filter(pk=row.pk).delete()
    _record(row, "sign_in_unlocked", where, who=who)


def _row(one: Counted) -> SignInCount:
    """Return the row of what is counted, locked until the transaction ends."""
    given = {"since": timezone.now(), "user_id": one.user}
    SignInCount.objects.get_or_create(kind=one.kind, key=one.key, defaults=given)
    return SignInCount.objects.select_for_update().get(kind=one.kind, key=one.key)


def _row_now(one: Counted) -> SignInCount | None:
    return SignInCount.objects.filter(kind=one.kind, key=one.key).first()


def _minutes(row: SignInCount, now: datetime) -> int:
    """Return the minutes until a lock-out ends, rounded up."""
    assert row.locked_until
    return -int((now - row.locked_until).total_seconds() // 60)


def _record(row: SignInCount, what: str, where: str, who: str = "", **detail: int) -> None:
    named: dict[str, int | str] = {"user": row.user_id} if row.user_id else {"key": row.key[:16]}
    audit_record(who=who or "system", what=what, where=where, why=str(row.kind), detail={**named, **detail})
