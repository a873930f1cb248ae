"""One-time codes: asked for with a contact, sent to the contact on file, answered within a few tries.

A known, an unknown and a malformed contact cost the same queries and the same work and get the same answer:
for the unknown a challenge is made that nothing can answer and a notification that is thrown away at
delivery. Tries are taken by conditional updates, so that guesses made at the same moment never exceed them.
Codes are stored as keyed hashes.
"""

import hashlib
import hmac
import secrets
import unicodedata
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, IntegerField, Q, QuerySet, Sum, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from prescriptions import selectors
from prescriptions.audit import audit_lock, audit_record
from prescriptions.contacts import contact_parse
from prescriptions.errors import (
    CodeExpired,
    CodeLocked,
    CodeWrong,
    IdentityLimited,
    IdentityPolicyRefused,
    PatientNotFound,
)
from prescriptions.masking import MASK, Masked, masked
from prescriptions.models import Challenge, Notification, Patient
from prescriptions.notifications import notification_enqueue

__all__ = [
    "MASK",
    "ChallengeStarted",
    "Masked",
    "OpenChallenge",
    "challenge_answer",
    "challenge_open",
    "challenge_start",
    "failed_verifications",
    "identifier_accept",
    "masked",
]

_DAY: Final = timedelta(days=1)
_HOUR: Final = timedelta(hours=1)
_DIGITS: Final = 6


@dataclass(frozen=True)
class ChallengeStarted:
    """A code may be on its way; whether it is, nobody but the account's owner learns."""

    expires_at: datetime


@dataclass(frozen=True)
class OpenChallenge:
    """The code that this conversation waits for."""

    expires_at: datetime
    tries_left: int


@dataclass(frozen=True)
class _Counts:
    contact_hour: int
    contact_day: int
    address_hour: int
    account_day: int
    account_guesses: int

    @property
    def is_limited(self) -> bool:
        """What the asker may be told: it depends on what was typed and where from, never on the account."""
        return (
            self.contact_hour >= settings.IDENTITY_CODES_PER_CONTACT_HOUR
            or self.contact_day >= settings.IDENTITY_CODES_PER_DAY
            or self.address_hour >= settings.IDENTITY_CODES_PER_ADDRESS_HOUR
        )

    @property
    def is_account_exhausted(self) -> bool:
        """What the asker may not be told: two contacts could otherwise be shown to belong to one account."""
        return (
            self.account_day >= settings.IDENTITY_CODES_PER_DAY
            or self.account_guesses + settings.IDENTITY_CODE_TRIES > settings.IDENTITY_GUESSES_PER_DAY
        )


def challenge_start(
    *, conversation_id: UUID, identifier: str, address: str, run_key: str, language: str
) -> ChallengeStarted:
    """Send a code to the contact on file of whoever this identifier belongs to, if it belongs to anybody.

    Repeating a `run_key` sends nothing new. A new challenge supersedes the conversation's older ones.
    IdentityLimited when too many were asked for; call it outside a transaction of your own, or the audit
    line is lost with it.
    """
    contact = contact_parse(identifier)
    with transaction.atomic():
        audit_lock()  # one start at a time: counting and then inserting is no race
        now = timezone.now()
        repeated = Challenge.objects.filter(run_key=run_key).first()
        if repeated is not None:
            return ChallengeStarted(repeated.expires_at)
        patient = selectors.contact_patient(contact)
        subject_key = _key("subject", f"patient:{patient.pk}" if patient else f"contact:{contact.text}")
        contact_key, address_key = _key("contact", contact.text), _key("address", address)
        counts = _counts(subject_key, contact_key, address_key, now)
        if counts.is_limited:
            outcome = "limited"
        elif counts.is_account_exhausted:
            outcome = "exhausted"
        else:
            outcome = "sent" if patient else "unknown"
        audit_record(
            who=f"chat:{conversation_id}",
            what="identity_limited" if counts.is_limited else "identity_requested",
            where="chat",
            why=outcome,
            how="otp",
            patient=patient,
        )
        expires_at = now + timedelta(seconds=settings.IDENTITY_CODE_TTL)
        if not counts.is_limited:
            reachable = patient if outcome == "sent" else None
            code = f"{secrets.randbelow(10**_DIGITS):0{_DIGITS}d}"
            _open(conversation_id).update(state=Challenge.State.SUPERSEDED)
            Challenge.objects.create(
                subject_key=subject_key,
                contact_key=contact_key,
                address_key=address_key,
                patient=reachable,
                conversation_id=conversation_id,
                run_key=run_key,
                code_hash=_code_hash(run_key, code),
                expires_at=expires_at,
                tries_left=settings.IDENTITY_CODE_TRIES,
                created_at=now,
            )
            notification_enqueue(
                key=f"identity_code:{run_key}",
                kind=Notification.Kind.IDENTITY_CODE,
                recipient=reachable.email if reachable else "",
                language=reachable.language if reachable else language,
                context={"code": code},
                conversation_id=conversation_id,
                expires_at=expires_at,
            )
    if counts.is_limited:
        raise IdentityLimited
    return ChallengeStarted(expires_at)


def challenge_open(conversation_id: UUID) -> OpenChallenge | None:
    """Return the code this conversation waits for, or None; a code past its time is not waited for."""
    waited_for = _open(conversation_id).filter(expires_at__gt=timezone.now(), tries_left__gt=0)
    found = waited_for.values_list("expires_at", "tries_left").first()
    return OpenChallenge(*found) if found else None


def challenge_answer(*, conversation_id: UUID, code: str, address: str) -> Patient:
    """Return the patient whom this code proves, or raise CodeWrong, CodeExpired or CodeLocked.

    The outcome is committed before it is told (hence no transaction of the caller's around it): a wrong try
    that a later rollback gave back would be a free guess. `address` is where the answer came from; its hash
    is recorded.
    """
    with transaction.atomic(durable=True):
        result = _answer(conversation_id, code, _key("address", address))
    if isinstance(result, Exception):
        raise result
    return result


def failed_verifications(conversation_id: UUID) -> int:
    """Return how many codes of this conversation were lost to wrong tries; at three a person takes over."""
    return Challenge.objects.filter(conversation_id=conversation_id, state=Challenge.State.FAILED).count()


def identifier_accept(*, conversation_id: UUID, identifier: str, address: str) -> Patient:
    """Return the patient with this contact, where the installation takes an identifier for proof.

    For a counter terminal inside the pharmacy (S0's literal flow). PatientNotFound; IdentityPolicyRefused
    elsewhere.
    """
    if settings.CHAT_IDENTITY != "identifier":
        raise IdentityPolicyRefused
    patient = selectors.contact_patient(contact_parse(identifier))
    audit_record(
        who=f"chat:{conversation_id}",
        what="identity_verified" if patient else "identity_failed",
        where="chat",
        how="identifier",
        patient=patient,
        detail={"address": _key("address", address)[:16]},
    )
    if patient is None:
        raise PatientNotFound
    return patient


def _answer(
    conversation_id: UUID, code: str, address_key: str
) -> Patient | CodeWrong | CodeExpired | CodeLocked:
    audit_lock()  # before the challenge's row, as `challenge_start` does: the other order could deadlock
    now = timezone.now()
    challenge = (
        Challenge.objects.filter(conversation_id=conversation_id)
        .exclude(state=Challenge.State.SUPERSEDED)
        .select_related("patient")
        .order_by("-created_at", "-id")
        .first()
    )
    what: str
    result: Patient | CodeWrong | CodeExpired | CodeLocked
    if challenge is None:
        return CodeExpired()
    same = Challenge.objects.filter(pk=challenge.pk)
    taken = same.filter(state=Challenge.State.OPEN, tries_left__gt=0, expires_at__gt=now).update(
        tries_left=F("tries_left") - 1
    )
    right = hmac.compare_digest(challenge.code_hash, _code_hash(challenge.run_key, _digits(code)))
    if not taken:
        challenge.refresh_from_db(fields=["state"])
        locked = challenge.state == Challenge.State.FAILED
        what, result = "identity_refused", CodeLocked() if locked else CodeExpired(challenge.expires_at)
    elif (
        right
        and challenge.patient
        and same.filter(state=Challenge.State.OPEN).update(state=Challenge.State.USED)
    ):
        what, result = "identity_verified", challenge.patient
    elif same.filter(state=Challenge.State.OPEN, tries_left=0).update(state=Challenge.State.FAILED):
        what, result = "identity_locked", CodeLocked()
        _warn_owner(challenge, now)
    else:
        left = same.values_list("tries_left", flat=True).get()
        what, result = "identity_failed", CodeWrong(left)
    audit_record(
        who=f"chat:{conversation_id}",
        what=what,
        where="chat",
        how="otp",
        patient=challenge.patient,
        detail={"challenge": challenge.pk, "address": address_key[:16]},
    )
    return result


def _warn_owner(challenge: Challenge, now: datetime) -> None:
    """Tell the owner, once a day, that somebody failed to answer for the account."""
    patient = challenge.patient
    notification_enqueue(
        key=f"identity_warning:{challenge.subject_key}:{timezone.localdate(now)}",
        kind=Notification.Kind.IDENTITY_WARNING,
        recipient=patient.email if patient else "",
        language=patient.language if patient else "en",
        context={},
    )


def _open(conversation_id: UUID) -> QuerySet[Challenge]:
    return Challenge.objects.filter(conversation_id=conversation_id, state=Challenge.State.OPEN)


def _counts(subject_key: str, contact_key: str, address_key: str, now: datetime) -> _Counts:
    """Count what was asked for and guessed, in as many queries whoever asks."""
    day = Q(created_at__gt=now - _DAY)
    hour = Q(created_at__gt=now - _HOUR)
    contact = Challenge.objects.filter(day, contact_key=contact_key)
    account = Challenge.objects.filter(day, subject_key=subject_key)
    tries = Value(settings.IDENTITY_CODE_TRIES, output_field=IntegerField())
    guesses = Sum(tries - F("tries_left"), output_field=IntegerField())
    return _Counts(
        contact_hour=contact.filter(hour).count(),
        contact_day=contact.count(),
        address_hour=Challenge.objects.filter(hour, address_key=address_key).count(),
        account_day=account.count(),
        account_guesses=account.aggregate(guesses=Coalesce(guesses, 0))["guesses"],
    )


def _digits(code: str) -> str:
    """Return the digits of a typed code in ASCII, whatever script and separators it came in."""
    return "".join(str(unicodedata.digit(char)) for char in code if unicodedata.category(char) == "Nd")


def _code_hash(run_key: str, code: str) -> str:
    """Seal a code with the site's key and its challenge: a stolen table cannot be searched for six digits."""
    return _key("code", f"{run_key}:{code}")


def _key(purpose: str, value: str) -> str:
    secret = hashlib.sha256(f"prescriptions.identity.{purpose}:{settings.SECRET_KEY}".encode()).digest()
    return hmac.new(secret, value.encode(), hashlib.sha256).hexdigest()
