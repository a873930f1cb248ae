"""Say what the codes of a hand-off mean, in the language of the page: deadlines, identity, reasons and roles."""

from collections.abc import Mapping
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import get_language, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from pharmacy_site.lib.text import Language, as_language
from prescriptions.handoffs.sla import SlaState
from prescriptions.models import Handoff
from prescriptions.refill.wording import reason_text
from prescriptions.staff_roles import PHARMACIST, PHYSICIAN, TECHNICIAN

_Words = Mapping[str, Promise]

SLA: Final[_Words] = {
    SlaState.PENDING: _("in time"),
    SlaState.IMMINENT: _("due soon"),
    SlaState.BREACHING: _("overdue"),
    SlaState.ACHIEVED: _("was in time"),
    SlaState.BREACHED: _("was late"),
    SlaState.CANCELLED: _("no longer counts"),
}
VERIFIED: Final[_Words] = {
    "failed": _("identity not confirmed"),
    "staff": _("requested by staff"),
    "system": _("requested by another system"),
    "identified": _("identified"),
    "none": _("not identified"),
}
HOW: Final[_Words] = {
    "otp": _("by a code sent to the contact on file"),
    "dob": _("by the date of birth, which proves little"),
    "identifier": _("by the contact alone, which proves nothing"),
}
"""How an identity was proven, by the code of the audit log."""
ROLES: Final[_Words] = {
    TECHNICIAN: pgettext_lazy("role", "technician"),
    PHARMACIST: pgettext_lazy("role", "pharmacist"),
    PHYSICIAN: pgettext_lazy("role", "physician"),
}
UNKNOWN: Final = _("unknown")


def page_language() -> Language:
    """Return the language in which the page is read."""
    return as_language(get_language() or "en")


def word(words: _Words, code: str) -> str:
    """Return what a code means; one without words is returned as it is, so that staff still see it."""
    return str(words.get(code, code))


def reason_shown(handoff: Handoff) -> str:
    """Return why a hand-off was opened; of a refill what stopped it."""
    stopped = reason_text(refill_reason(handoff), page_language())
    return stopped or str(handoff.get_reason_display())


def refill_reason(handoff: Handoff) -> str:
    """Return the code of what stopped the refill of a hand-off, "" for another one."""
    return str(_asked(handoff).get("reason") or "")


def verified_code(handoff: Handoff) -> str:
    """Return how well it is known who asks: a key of VERIFIED."""
    if "identity_failed" in (handoff.reason, refill_reason(handoff)):
        return "failed"
    by = str(_asked(handoff).get("requested_by") or "")
    if by.startswith("user:"):
        return "staff"
    if by.startswith("key:"):
        return "system"
    return "identified" if handoff.patient_id else "none"


def _asked(handoff: Handoff) -> Mapping[str, Any]:
    return handoff.package.get("request") or {}
