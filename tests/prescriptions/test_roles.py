"""The groups of staff are there after every migrate, with exactly the permissions of the table."""

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, Permission

from prescriptions.roles import ROLES, on_post_migrate

PATIENT_DATA = {"patient", "allergy", "prescription", "handoff"}


def permissions_of(role: str) -> set[str]:
    rows = Group.objects.get(name=role).permissions.values_list("content_type__app_label", "codename")
    return {f"{app}.{codename}" for app, codename in rows}


@pytest.mark.parametrize("role", ROLES)
def test_each_group_has_the_permissions_of_the_table(db: None, role: str) -> None:
    known = {
        f"{app}.{name}" for app, name in Permission.objects.values_list("content_type__app_label", "codename")
    }
    assert permissions_of(role) == ROLES[role] & known
    assert {name for name in ROLES[role] - known if not name.startswith("agent.")} == set()


def test_a_changed_group_is_reset_to_the_table(db: None) -> None:
    technician = Group.objects.get(name="technician")
    technician.permissions.add(Permission.objects.get(codename="view_patient"))
    technician.permissions.remove(Permission.objects.get(codename="change_stocklevel"))
    for app in apps.get_app_configs():
        on_post_migrate(sender=app, using="default")
    assert permissions_of("technician") == ROLES["technician"] & permissions_of("technician")
    assert "inventory.change_stocklevel" in permissions_of("technician")
    assert Group.objects.count() == 7


@pytest.mark.django_db(transaction=True)
def test_groups_survive_a_flush() -> None:
    """The flush after each test of this kind empties every table; the next test still finds the groups."""
    assert Group.objects.count() == 7


@pytest.mark.parametrize("role", ["technician", "administrator"])
def test_other_groups_have_no_permission_on_patients(role: str) -> None:
    found = {name for name in ROLES[role] if name.rsplit("_", 1)[1] in PATIENT_DATA}
    # A technician takes hand-offs about stock, pick-up and complaints.
    allowed = {"prescriptions.view_handoff", "prescriptions.change_handoff"}
    assert found == (allowed if role == "technician" else set())
    own = {name for name in ROLES[role] if name.startswith("agent.")}
    assert {name.rsplit("_", 1)[1] for name in own} <= {"apikey", "chatsite"}
