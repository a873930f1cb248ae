"""Say in plain words, in the reader's language, who did what in a line of the audit log, and about whom."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from django.apps import apps
from django.contrib.auth.models import User
from django.db.models.functions import Lower
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from prescriptions.models import AuditEvent, Patient

_VERBS: Final[Mapping[str, Any]] = {
    "viewed": _("Looked at: %(thing)s"),
    "listed": _("Looked at a list: %(thing)s"),
    "searched": _("Searched: %(thing)s"),
    "refused": _("Was refused: %(thing)s"),
    "submitted": _("Sent a form: %(thing)s"),
    "edited": _("Changed: %(thing)s"),
    "changed": _("Changed: %(thing)s"),
    "added": _("Added: %(thing)s"),
    "deleted": _("Deleted: %(thing)s"),
    "removed": _("Deleted: %(thing)s"),
    "read": _("Read: %(thing)s"),
    "found": _("Looked up: %(thing)s"),
}
_THINGS: Final[Mapping[str, Any]] = {
    "on_call": _("on-call roster"),
    "handoffs": _("hand-offs"),
    "refill": _("refill request"),
    "refills": _("refill requests"),
    "allergies": _("allergies"),
    "prescriptions": _("prescriptions"),
    "patient_allergies": _("allergies"),
}
_WHOLE: Final[Mapping[str, Any]] = {
    "sign_in": _("Signed in"),
    "sign_in_failed": _("Failed to sign in"),
    "sign_in_locked": _("Was locked out after too many tries to sign in"),
    "sign_in_refused": _("Tried to sign in while locked out"),
    "sign_in_unlocked": _("Ended a lock-out"),
    "signed_out": _("Signed out"),
    "second_factor_set": _("Set up a second factor"),
    "second_factor_failed": _("Gave a wrong code of the second factor"),
    "recovery_code_used": _("Used a recovery code"),
    "recovery_codes_made": _("Made new recovery codes"),
    "access_requested": _("Asked for access of an account"),
    "access_approved": _("Consented to access of an account"),
    "access_refused": _("Refused access of an account"),
    "access_withdrawn": _("Withdrew a request for access"),
    "access_by_command": _("Changed access on the server"),
    "access_number_failed": _("Gave a wrong number for a new password"),
    "password_set": _("A password was set"),
    "user_password_changed": _("Set somebody's password"),
    "password_again": _("Entered the password again"),
    "password_again_failed": _("Entered a wrong password again"),
    "password_again_limited": _("Entered the password too often"),
    "stock_changed": _("Changed the stock"),
    "identity_requested": _("Asked for proof of identity"),
    "identity_limited": _("Asked too often for proof of identity"),
    "identity_verified": _("Proved who they are"),
    "identity_failed": _("Failed to prove who they are"),
    "authz_denied": _("Was refused data of a patient"),
    "confirmation_answered": _("Answered a confirmation"),
    "refill_submitted": _("Submitted a refill request"),
    "refill_moved": _("Moved a refill request on"),
    "patient_allergies_edited": _("Changed a patient's allergies"),
    "audit_keyed": _("Closed the older part of the log with a key"),
    "audit_restored": _("Accepted a restored log"),
    "audit_cut": _("Removed the lines of the log that were past their time"),
    "retention_applied": _("Deleted what was past its time"),
    "auditevent_exported": _("Exported lines of the log"),
}
_PEOPLE: Final[Mapping[str, Any]] = {
    "system": _("the site itself"),
    "nobody": _("nobody who is known"),
    "chat": _("customer in the chat"),
    "key": _("system with the key %(number)s"),
    "user": _("account %(number)s"),
}
ROLES: Final[Mapping[str, Any]] = {
    "technician": _("technician"),
    "pharmacist": _("pharmacist"),
    "physician": _("physician"),
    "auditor": _("auditor"),
    "administrator": _("administrator"),
}


@dataclass(frozen=True)
class Worded:
    """A line in words; `role` is what the person's groups are today, `mrn` the patient's record number."""

    who: str
    role: str
    what: str
    mrn: str
    patient: str


def worded(events: Iterable[AuditEvent]) -> dict[int, Worded]:
    """Return lines in words, by their keys; two queries, however many there are."""
    rows = list(events)
    numbers = {row.who.removeprefix("user:") for row in rows if row.who.startswith("user:")}
    accounts = User.objects.filter(pk__in=[int(number) for number in numbers if number.isdigit()])
    people = {
        f"user:{user.pk}": user for user in accounts.prefetch_related("groups").order_by(Lower("username"))
    }
    patients = Patient.objects.in_bulk({row.patient_id for row in rows if row.patient_id is not None})
    return {row.pk: _worded(row, people, patients) for row in rows}


def what_text(code: str) -> str:
    """Return what was done in words; a code without any is returned as it is."""
    if code in _WHOLE:
        return str(_WHOLE[code])
    thing, _dash, verb = code.rpartition("_")
    if verb in _VERBS and (name := _thing(thing)):
        return str(_VERBS[verb]) % {"thing": name}
    if name := _thing(code.partition("_")[0]):
        # What is done with hand-offs and refills has many verbs, which their own pages explain.
        return f"{name}: {code.partition('_')[2].replace('_', ' ')}"
    return code


def _worded(row: AuditEvent, people: Mapping[str, User], patients: Mapping[int, Patient]) -> Worded:
    user = people.get(row.who)
    patient = patients.get(row.patient_id) if row.patient_id is not None else None
    return Worded(
        who=(user.get_full_name() or user.get_username()) if user else _person(row.who),
        role=", ".join(str(ROLES.get(group.name, group.name)) for group in user.groups.all()) if user else "",
        what=what_text(row.what),
        mrn=patient.mrn if patient else "" if row.patient_id is None else gettext("erased"),
        patient=str(patient) if patient else "",
    )


def _person(who: str) -> str:
    kind, _colon, number = who.partition(":")
    text = _PEOPLE.get(kind)
    return who if text is None else str(text) % {"number": number} if "%(" in str(text) else str(text)


def _thing(name: str) -> str:
    return str(_THINGS.get(name) or _models().get(name) or "")


@cache
def _models() -> dict[str, Any]:
    return {str(model._meta.model_name): model._meta.verbose_name for model in apps.get_models()}
