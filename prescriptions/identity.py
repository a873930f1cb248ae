"""Verify a customer by a secret: a one-time code that goes to the contact on file (policy `otp`), or the date of birth (`dob`).

Known, unknown and malformed contacts take the same queries and get the same reply: for an unknown one, a challenge is
created that nothing answers, and under `otp` a notification that is discarded at sending. Conditional updates count the
attempts, so that simultaneous guesses cannot exceed them, and a challenge that can be answered is opened only if all its tries
fit into the account's guesses of the day. Codes and dates are stored as keyed hashes.
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
from django.db.models import F, QuerySet
from django.utils import timezone

from prescriptions import selectors
from prescriptions.audit import audit_lock, audit_record
from prescriptions.births import birth_read
from prescriptions.contacts import contact_parse
from prescriptions.errors import (
    BirthUnreadable,
    CodeExpired,
    CodeLocked,
    CodeWrong,
    IdentityLimited,
    IdentityPolicyRefused,
    PatientNotFound,
)
from prescriptions.identity_limits import identity_counts, identity_wait
from prescriptions.masking import MASK, Masked, masked
from prescriptions.models import Challenge, Notification, Patient
from prescriptions.notifications import notification_enqueue

__all__ = [
    "MASK",
    "ChallengeStarted",
    "Masked",
    "OpenChallenge",
    "birth_awaited",
    "challenge_answer",
    "challenge_open",
    "challenge_start",
    "failed_contact",
    "identifier_accept",
    "masked",
]

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


def challenge_start(
    *, conversation_id: UUID, identifier: str, address: str, run_key: str, language: str
) -> ChallengeStarted:
    """Open a challenge for the patient with this identifier, if there is one; under `otp` a code goes to the contact on file.

    Under `dob` nothing is sent: the date of birth on file answers it. Repeating a `run_key` changes nothing. A new
    challenge supersedes the conversation's older ones. IdentityLimited when too many were requested; call it outside a transaction of your own, or that error rolls the audit line back.
    """
    contact = contact_parse(identifier, takes_mrn=True)
    by_code = settings.CHAT_IDENTITY != "dob"
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
        counts = identity_counts(subject_key, contact_key, address_key, now)
        if counts.is_limited:
            outcome = "limited"
        elif counts.is_account_exhausted:
            outcome = "exhausted"
        elif patient is None:
            outcome = "unknown"
        else:
            outcome = "sent" if by_code else "asked"
        audit_record(
            who=f"chat:{conversation_id}",
            what="identity_limited" if counts.is_limited else "identity_requested",
            where="chat",
            why=outcome,
            how=_how(),
            patient=patient,
        )
        expires_at = now + timedelta(seconds=settings.IDENTITY_CODE_TTL)
        if not counts.is_limited:
            reachable = patient if outcome in ("sent", "asked") else None
            code = f"{secrets.randbelow(10**_DIGITS):0{_DIGITS}d}"
            secret = code
            if not by_code:
                secret = reachable.born.isoformat() if reachable else secrets.token_hex()
            _open(conversation_id).update(state=Challenge.State.SUPERSEDED)
            Challenge.objects.create(
                subject_key=subject_key,
                contact_key=contact_key,
                address_key=address_key,
                patient=reachable,
                conversation_id=conversation_id,
                run_key=run_key,
                code_hash=_code_hash(run_key, secret),
                expires_at=expires_at,
                tries_left=settings.IDENTITY_CODE_TRIES,
                created_at=now,
            )
            if by_code:
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
        raise IdentityLimited(identity_wait(contact_key, address_key, now))
    return ChallengeStarted(expires_at)


def challenge_open(conversation_id: UUID) -> OpenChallenge | None:
    """Return the challenge this conversation waits for, or None; one past its time is not waited for."""
    waited_for = _open(conversation_id).filter(expires_at__gt=timezone.now(), tries_left__gt=0)
    found = waited_for.values_list("expires_at", "tries_left").first()
    return OpenChallenge(*found) if found else None


def birth_awaited(conversation_id: UUID) -> bool:
    """Return whether a date in a message may be the one that was asked for, also soon after its time or the last try.

    Such a message is never stored as it is, and its writer hears what became of the challenge.
    """
    latest = Challenge.objects.filter(conversation_id=conversation_id).order_by("-created_at", "-id")
    found = latest.values_list("state", "expires_at").first()
    if found is None:
        return False
    state, expires_at = found
    is_recent = bool(expires_at > timezone.now() - _HOUR)
    return is_recent and state in (Challenge.State.OPEN, Challenge.State.FAILED)


def challenge_answer(*, conversation_id: UUID, code: str, address: str) -> Patient:
    """Return the patient whom this code or date of birth proves, or raise CodeWrong, CodeExpired or CodeLocked.

    What is no date raises BirthUnreadable under `dob` and costs no attempt: it is refused without a look at the account.

    The outcome is committed first, hence not inside a transaction of the caller: a rollback after a wrong attempt would
    refund it. `address` is where the code was entered; its hash is recorded.
    """
    answer = _digits(code)
    if settings.CHAT_IDENTITY == "dob":
        born = birth_read(code)
        if born is None:
            raise BirthUnreadable
        answer = born.isoformat()
    with transaction.atomic(durable=True):
        result = _answer(conversation_id, answer, _key("address", address))
    if isinstance(result, Exception):
        raise result
    return result


def failed_contact(conversation_id: UUID) -> str:
    """Return the keyed hash of the contact whose challenge failed last in this conversation; "" when none has failed.

    It is that of what was typed, never of the account: what it is used for may be shown to whoever typed it.
    """
    failed = Challenge.objects.filter(conversation_id=conversation_id, state=Challenge.State.FAILED)
    return failed.order_by("-created_at", "-id").values_list("contact_key", flat=True).first() or ""


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
    conversation_id: UUID, answer: str, address_key: str
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
    right = hmac.compare_digest(challenge.code_hash, _code_hash(challenge.run_key, answer))
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
        how=_how(),
        patient=challenge.patient,
        detail={"challenge": challenge.pk, "address": address_key[:16]},
    )
    return result


def _warn_owner(challenge: Challenge, now: datetime) -> None:
    """Notify the owner, at most once a day, that somebody failed to prove to be them.

    A challenge that nothing answers has a key of its own: one of an exhausted account must not use up the owner's notice.
    """
    patient = challenge.patient
    whom = "owner" if patient else "nobody"
    notification_enqueue(
        key=f"identity_warning:{challenge.subject_key}:{timezone.localdate(now)}:{whom}",
        kind=Notification.Kind.IDENTITY_WARNING,
        recipient=patient.email if patient else "",
        language=patient.language if patient else "en",
        context={},
    )


def _how() -> str:
    """Return how the installation has people prove who they are, as audit lines name it."""
    return "dob" if settings.CHAT_IDENTITY == "dob" else "otp"


def _open(conversation_id: UUID) -> QuerySet[Challenge]:
    return Challenge.objects.filter(conversation_id=conversation_id, state=Challenge.State.OPEN)


def _digits(code: str) -> str:
    """Return the digits of a typed code in ASCII, whatever its script and separators."""
    return "".join(str(unicodedata.digit(char)) for char in code if unicodedata.category(char) == "Nd")


def _code_hash(run_key: str, code: str) -> str:
    """Hash a code or a date with the site's key and its challenge, so that a stolen table cannot be searched for six digits."""
    return _key("code", f"{run_key}:{code}")


def _key(purpose: str, value: str) -> str:
    """Return a keyed hash of a value, different for each purpose."""
    secret = hashlib.sha256(f"prescriptions.identity.{purpose}:{settings.SECRET_KEY}".encode()).digest()
    return hmac.new(secret, value.encode(), hashlib.sha256).hexdigest()
