"""Define this app's refusals as errors with data; the caller chooses code and sentence."""

from datetime import datetime

from pharmacy_site.lib.errors import PharmacyError


class PatientNotFound(PharmacyError):
    """No patient has this identifier or number, or the caller may not learn that one has."""


class PrescriptionNotFound(PharmacyError):
    """There is no such prescription, or it is another patient's; the caller cannot tell which."""


class IdentityPolicyRefused(PharmacyError):
    """The installation's identity policy does not accept a bare identifier."""


class IdentityLimited(PharmacyError):
    """Too many codes were requested with this contact or from this address; the account was not looked at."""


class CodeWrong(PharmacyError):
    """The code is wrong and at least one attempt is left."""

    def __init__(self, tries_left: int) -> None:
        super().__init__(f"{tries_left} tries left")
        self.tries_left = tries_left


class CodeExpired(PharmacyError):
    """No code is open: it expired, was used, or was never requested."""

    def __init__(self, expired_at: datetime | None = None) -> None:
        super().__init__("no open code")
        self.expired_at = expired_at


class CodeLocked(PharmacyError):
    """All attempts are used up; the caller hands the case to a person."""


class AuditHeadMissing(PharmacyError):
    """The audit log has lines but no head row: refuse all audited writes until somebody repairs it."""


class RefillAlreadyOpen(PharmacyError):
    """The prescription has an open refill request; `number` is that one's."""

    def __init__(self, number: str) -> None:
        super().__init__("already requested")
        self.number = number


class RefillNotFound(PharmacyError):
    """There is no such refill request, or the caller may not learn that there is."""


class RefillChangedMeanwhile(PharmacyError):
    """Somebody else moved the request after it was read."""


class RefillRefused(PharmacyError):
    """The request is in no state for this, or this person may not decide it; `code` says which."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code
