"""The roles that collections are written for; the server chooses one, never the customer's text."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from django.core.exceptions import ValidationError
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from agent.models.knowledge import ROLE_LENGTH

CUSTOMER: Final = "customer"
PROFESSIONAL: Final = frozenset({"doctor_endocrine", "doctor_dental"})
"""Roles whose collections are written for clinicians, who ask about other people's treatment."""
ROLE: Final = r"^[a-z][a-z0-9_]*$"
LANGUAGE: Final = r"^[a-z]{2,3}(-[A-Za-z]{2,4})?$"
_ROLE: Final = re.compile(ROLE.replace("$", r"\Z"))
_LANGUAGE: Final = re.compile(LANGUAGE.replace("$", r"\Z"))


ASKED_BY: Final[Mapping[str, Sequence[str]]] = {
    "pharmacist": (CUSTOMER, "patient_diabetes", "patient_dental"),
    "physician": ("doctor_endocrine", "doctor_dental", CUSTOMER, "patient_diabetes", "patient_dental"),
    "endocrinologist": ("doctor_endocrine",),
    "dentist": ("doctor_dental",),
}
"""Which roles each group of staff may ask in; other groups may ask in none."""
NAMES: Final[Mapping[str, Promise]] = {
    CUSTOMER: _("customers"),
    "patient_diabetes": _("patients: diabetes"),
    "patient_dental": _("patients: teeth"),
    "doctor_endocrine": _("doctors: endocrinology"),
    "doctor_dental": _("doctors: dentistry"),
}


def roles_asked_by(groups: Iterable[str]) -> list[str]:
    """Return the roles in which members of these groups may ask, each once."""
    return list(dict.fromkeys(role for group in groups for role in ASKED_BY.get(group, ())))


def role_named(role: str) -> str:
    """Return what staff read for a role."""
    return str(NAMES.get(role, role))


def is_role(value: str) -> bool:
    """Return whether a text can be a role's name."""
    return bool(_ROLE.match(value)) and len(value) <= ROLE_LENGTH


def role_check(value: str) -> None:
    """Refuse a role that can be no collection's name."""
    if not is_role(value):
        raise ValidationError(_("A role is small letters, digits and _, like patient_diabetes."))


def language_check(value: str) -> None:
    """Refuse what is no language's code."""
    if not _LANGUAGE.match(value):
        raise ValidationError(_("A language is a code like en, he or vi."))
