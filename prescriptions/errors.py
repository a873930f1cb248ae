"""Define this app's refusals as errors with data; the caller chooses code and sentence."""

from datetime import datetime
from uuid import UUID

from pharmacy_site.lib.errors import PharmacyError


class PatientNotFound(PharmacyError):
    """No patient has this identifier or number, or the caller may not learn that one has."""


class PrescriptionNotFound(PharmacyError):
    """There is no such prescription, or it is another patient's; the caller cannot tell which."""


class IdentityPolicyRefused(PharmacyError):
    """The installation's identity policy does not accept a bare identifier."""


class IdentityLimited(PharmacyError):
    """Too many codes were requested with this contact or from this address; the account was not looked at.

    `retry_after` is the number of seconds until the next one may be requested.
    """

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"again in {retry_after} s")
        self.retry_after = retry_after


class CodeWrong(PharmacyError):
    """The code is wrong and at least one attempt is left."""

    def __init__(self, tries_left: int) -> None:
        super().__init__(f"{tries_left} tries left")
        self.tries_left = tries_left


class BirthUnreadable(PharmacyError):
    """What was given as a date of birth is no date, or could be two; no attempt was counted."""


class CodeExpired(PharmacyError):
    """No code is open: it expired, was used, or was never requested."""

    def __init__(self, expired_at: datetime | None = None) -> None:
        super().__init__("no open code")
        self.expired_at = expired_at


class CodeLocked(PharmacyError):
    """All attempts are used up; the caller hands the case to a person."""


class AuditHeadMissing(PharmacyError):
    """The audit log has no head row: refuse all audited writes until somebody repairs it."""


class AuditHeadForged(PharmacyError):
    """The head of the audit log is not as it was written, or its key is not in the settings: refuse all audited writes."""


class AuditNotWhole(PharmacyError):
    """The audit log is not as it was written: nothing of it may be removed before somebody has looked."""


class AuditNotOurs(PharmacyError):
    """The database does not let this role remove lines of the audit log."""


class RefillAlreadyOpen(PharmacyError):
    """The prescription has an open refill request; `number` is that one's."""

    def __init__(self, number: str) -> None:
        super().__init__("already requested")
        self.number = number


class DeliveryAddressMissing(PharmacyError):
    """A delivery was requested, and the patient has no address on file."""


class RefillNotFound(PharmacyError):
    """There is no such refill request, or the caller may not learn that there is."""


class RefillChangedMeanwhile(PharmacyError):
    """Somebody else moved the request after it was read."""


class RefillRefused(PharmacyError):
    """The request is in no state for this, or this person may not decide it; `code` says which."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class HandoffLimited(PharmacyError):
    """Too many hand-offs were opened from this address or in this conversation."""


class HandoffTaken(PharmacyError):
    """Somebody else has claimed the hand-off, or nobody; `holder` is the name of who has, or ""."""

    def __init__(self, holder: str) -> None:
        super().__init__("claimed by another")
        self.holder = holder


class HandoffRefused(PharmacyError):
    """The hand-off is over, or not for this person's role; `code` says which."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class UnseenMessages(PharmacyError):
    """The customer wrote after what the writer has read; `last_seq` is the number of their last message in `conversation`."""

    def __init__(self, last_seq: int, conversation: UUID) -> None:
        super().__init__(f"messages up to {last_seq} were not read")
        self.last_seq = last_seq
        self.conversation = conversation
