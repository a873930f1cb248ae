"""Count the codes that were requested and the guesses that were made, and say when there may be more."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db.models import Case, F, IntegerField, Q, Sum, Value, When
from django.db.models.functions import Coalesce

from prescriptions.models import Challenge

_DAY: Final = timedelta(days=1)
_HOUR: Final = timedelta(hours=1)
_WRONG_WITHIN: Final = timedelta(minutes=15)
_LOCK: Final = timedelta(seconds=3600 + 300)
"""How long a challenge without tries left is counted, from when it was made: until its code expires after five minutes, and an hour more."""


@dataclass(frozen=True)
class IdentityCounts:
    """Recent codes by contact, address and account, and guesses that were made or can still be made at the account's codes."""

    contact_hour: int
    contact_day: int
    address_hour: int
    account_day: int
    account_guesses: int
    account_wrong: int
    """Wrong guesses at codes of the last 15 minutes, and at codes of the last 65 minutes whose tries were used up."""

    @property
    def is_limited(self) -> bool:
        """Whether to refuse openly: depends on the typed contact and the address only, never on the account."""
        return (
            self.contact_hour >= settings.IDENTITY_CODES_PER_CONTACT_HOUR
            or self.contact_day >= settings.IDENTITY_CODES_PER_DAY
            or self.address_hour >= settings.IDENTITY_CODES_PER_ADDRESS_HOUR
        )

    @property
    def is_account_exhausted(self) -> bool:
        """Whether to send nothing, silently: a refusal would reveal that two contacts belong to one account."""
        return (
            self.account_day >= settings.IDENTITY_CODES_PER_DAY
            or self.account_guesses + settings.IDENTITY_CODE_TRIES > settings.IDENTITY_GUESSES_PER_DAY
            or self.account_wrong >= settings.IDENTITY_CODE_TRIES
        )


def identity_counts(subject_key: str, contact_key: str, address_key: str, now: datetime) -> IdentityCounts:
    """Count recent codes and guesses, with the same number of queries for every contact.

    A challenge that can still be answered counts with all its tries: conversations guess beside each other, and together
    they must not exceed the limit. What a challenge did not use counts no more once it is over.
    """
    day = Q(created_at__gt=now - _DAY)
    hour = Q(created_at__gt=now - _HOUR)
    contact = Challenge.objects.filter(day, contact_key=contact_key)
    account = Challenge.objects.filter(day, subject_key=subject_key)
    tries = Value(settings.IDENTITY_CODE_TRIES, output_field=IntegerField())
    can_be_answered = Q(state=Challenge.State.OPEN, expires_at__gt=now)
    of_challenge = Case(When(can_be_answered, then=tries), default=tries - F("tries_left"))
    guesses = Sum(of_challenge, output_field=IntegerField())
    # Of what nothing could answer nobody has guessed anything; whoever guesses there does not keep the owner out.
    real = Q(patient__isnull=False)
    locked = Q(state=Challenge.State.FAILED, created_at__gt=now - _LOCK)
    lately = Q(created_at__gt=now - _WRONG_WITHIN)
    right = Case(When(state=Challenge.State.USED, then=1), default=0, output_field=IntegerField())
    wrong = Sum(tries - F("tries_left") - right, filter=real & (locked | lately), output_field=IntegerField())
    return IdentityCounts(
        contact_hour=contact.filter(hour).count(),
        contact_day=contact.count(),
        address_hour=Challenge.objects.filter(hour, address_key=address_key).count(),
        account_day=account.count(),
        **account.aggregate(account_guesses=Coalesce(guesses, 0), account_wrong=Coalesce(wrong, 0)),
    )


def identity_wait(contact_key: str, address_key: str, now: datetime) -> int:
    """Return the seconds until a contact and an address are below their limits: like these, it tells nothing of the account."""
    limits = (
        (Q(contact_key=contact_key), settings.IDENTITY_CODES_PER_CONTACT_HOUR, _HOUR),
        (Q(contact_key=contact_key), settings.IDENTITY_CODES_PER_DAY, _DAY),
        (Q(address_key=address_key), settings.IDENTITY_CODES_PER_ADDRESS_HOUR, _HOUR),
    )
    waits = [timedelta(seconds=1)]
    for whose, most, period in limits:
        newest = Challenge.objects.filter(whose, created_at__gt=now - period).order_by("-created_at")
        # When this one is older than the period, one more is below the limit.
        waits += [at + period - now for at in newest.values_list("created_at", flat=True)[most - 1 : most]]
    return int(max(waits).total_seconds()) + 1
