"""Verify a customer by a one-time code: requested with a contact, sent to the contact on file, a few attempts to enter.

Known, unknown and malformed contacts take the same queries and get the same reply: for an unknown one, a challenge is
created that no code answers, and a notification that is discarded at sending. Conditional updates count the attempts,
so that simultaneous guesses cannot exceed them. Codes are stored as keyed hashes.
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
    """A code may have been sent; only the owner of the account learns whether it was."""

    expires_at: datetime


@dataclass(frozen=True)
class OpenChallenge:
    """The open challenge of a conversation."""

    expires_at: datetime
    tries_left: int


@dataclass(frozen=True)
class _Counts:
    """Recent codes by contact, address and account, and guesses at the account's codes."""

    contact_hour: int
    contact_day: int
    address_hour: int
    account_day: int
    account_guesses: int

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
        )


def challenge_start(
    *, conversation_id: UUID, identifier: str, address: str, run_key: str, language: str
) -> ChallengeStarted:
    """Send a code to the contact on file of the patient with this identifier, if there is one.

    Repeating a `run_key` sends nothing new. A new challenge supersedes the conversation's older ones. IdentityLimited
    when too many were requested; call it outside a transaction of your own, or that error rolls the audit line back.
    """
    contact = contact_parse(identifier)
    with transaction.atomic():
        # One start at a time, so that counting and then inserting cannot race.
        audit_lock()
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

    The outcome is committed first, hence not inside a transaction of the caller: a rollback after a wrong attempt would
    refund it. `address` is where the code was entered; its hash is recorded.
    """
    with transaction.atomic(durable=True):
        result = _answer(conversation_id, code, _key("address", address))
    if isinstance(result, Exception):
        raise result
    return result


def failed_verifications(conversation_id: UUID) -> int:
    """Return how many codes of this conversation failed by wrong attempts; after three a person takes over."""
    return Challenge.objects.filter(conversation_id=conversation_id, state=Challenge.State.FAILED).count()


def identifier_accept(*, conversation_id: UUID, identifier: str, address: str) -> Patient:
    """Return the patient with this contact, if the installation accepts an identifier as proof, else raise.

    For a terminal inside the pharmacy (S0's literal flow). IdentityPolicyRefused under any other policy, PatientNotFound
    for an unknown contact.
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
    """Count the attempt, record it, and return the patient or the error to raise after the commit."""
    # Before the challenge's row, as in `challenge_start`: the other order could deadlock.
    audit_lock()
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
    attempt_counted = same.filter(state=Challenge.State.OPEN, tries_left__gt=0, expires_at__gt=now).update(
        tries_left=F("tries_left") - 1
    )
    right = hmac.compare_digest(challenge.code_hash, _code_hash(challenge.run_key, _digits(code)))
    if not attempt_counted:
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
    """Notify the owner, at most once a day, that somebody entered wrong codes for the account."""
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
    """Count recent codes and guesses, with the same number of queries for every contact."""
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
    """Return the digits of a typed code in ASCII, whatever its script and separators."""
    return "".join(str(unicodedata.digit(char)) for char in code if unicodedata.category(char) == "Nd")


def _code_hash(run_key: str, code: str) -> str:
    """Hash a code with the site's key and its challenge, so that a stolen table cannot be searched for six digits."""
    return _key("code", f"{run_key}:{code}")


def _key(purpose: str, value: str) -> str:
    """Return a keyed hash of a value, different for each purpose."""
    secret = hashlib.sha256(f"prescriptions.identity.{purpose}:{settings.SECRET_KEY}".encode()).digest()
    return hmac.new(secret, value.encode(), hashlib.sha256).hexdigest()
