"""Say who may take a hand-off: by group, and nobody one that is about themselves."""

from django.contrib.auth.models import User

from prescriptions.models import Handoff
from prescriptions.roles import roles_of
from prescriptions.staff_roles import LADDER


def may_take(user: User, handoff: Handoff) -> bool:
    """Return whether somebody may take a hand-off: by group, and nobody one about themselves."""
    ranks = [LADDER.index(role) for role in roles_of(user) if role in LADDER]
    if not ranks or handoff.contact not in LADDER or user.is_superuser or is_own(user, handoff):
        return False
    return max(ranks) >= LADDER.index(handoff.contact)


def is_own(user: User, handoff: Handoff) -> bool:
    """Return whether a hand-off is about this person: they requested it, or they are the patient."""
    asked = handoff.package.get("request") or {}
    if asked.get("requested_by") == f"user:{user.pk}":
        return True
    patient = handoff.patient
    return patient is not None and bool(user.email) and patient.email == user.email.lower()
