"""What this app refuses to do, as classes with data; their codes and sentences belong to the border."""

from datetime import datetime

from pharmacy_site.lib.errors import PharmacyError


class PatientNotFound(PharmacyError):
    """No patient has this identifier or number, or the asker may not know that one has."""


class PrescriptionNotFound(PharmacyError):
    """There is no such prescription, or it is another patient's: the asker cannot tell which."""


class IdentityPolicyRefused(PharmacyError):
    """The installation's identity policy does not accept a bare identifier."""


class IdentityLimited(PharmacyError):
    """Too many codes were asked for with this contact or from this address; the account was not looked at."""


class CodeWrong(PharmacyError):
    """The code is wrong and another try is left."""

    def __init__(self, tries_left: int) -> None:
        super().__init__(f"{tries_left} tries left")
        self.tries_left = tries_left


class CodeExpired(PharmacyError):
    """No code is open: it is too old, was used, or was never asked for."""

    def __init__(self, expired_at: datetime | None = None) -> None:
        super().__init__("no open code")
        self.expired_at = expired_at


class CodeLocked(PharmacyError):
    """The last try was used up; the caller brings in a person."""


class AuditHeadMissing(PharmacyError):
    """The audit log has events but no head: nothing is recorded, hence nothing done, till it is explained."""
