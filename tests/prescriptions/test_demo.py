"""The demo's people: what a load leaves, that loading again is safe, and when passwords are shown."""

from datetime import date, timedelta
from pathlib import Path

import pytest
import time_machine
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone

from inventory.models import Ingredient, Medication
from prescriptions.demo import load, logins
from prescriptions.models import Allergy, Patient, Prescription
from stores.models import Store

PATIENTS = """
- mrn: "10000123"
  name: {en: "John Doe", he: "ג'ון דו"}
  email: John.Doe@example.com
  phone: "+972547654321"
  born: "1965-03-15"
  language: en
  allergies:
    status: recorded
    recorded_days_ago: 30
    items: [{class: penicillin, severity: severe}, {ingredient: metformin, severity: mild}]
  prescriptions:
    - id: 41
      medication: 4
      refills_left: 3
      status: active
      directions: {en: "twice a day", he: "פעמיים ביום"}
      quantity: 60
      days_supply: 30
      last_filled_days_ago: 5
      prescriber: "Dr. Sela"
      issued_days_ago: 60
      expires_in_days: 90
- mrn: "10000108"
  name: {en: "Maya Friedman", he: "מאיה פרידמן"}
  email: maya.f@example.com
  phone: "+972528901234"
  born: 1990-01-02
  language: he
  allergies: {status: none_known, recorded_days_ago: 10, items: []}
  prescriptions: []
"""
STAFF = """
- {username: pharmacist, name: "Dana Regev", group: pharmacist, email: p@example.com, on_call: "Always."}
- {username: auditor, name: "Shira Navon", group: auditor, email: a@example.com, on_call: "Never."}
"""


@pytest.fixture
def folder(tmp_path: Path, db: None) -> Path:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "patients.yaml").write_text(PATIENTS, encoding="utf-8")
    (tmp_path / "demo" / "staff.yaml").write_text(STAFF, encoding="utf-8")
    Medication.objects.create(pk=4, name_en="Metformin", form="tablet", rx_required=True)
    Ingredient.objects.create(key="metformin", name_en="Metformin")
    return tmp_path


def test_patients_are_loaded_with_dates_relative_to_today(folder: Path) -> None:
    loaded = load(folder)
    assert (loaded.patients, loaded.prescriptions) == (2, 1)
    today = timezone.localdate()
    john = Patient.objects.get(mrn="10000123")
    assert (john.name_en, john.name_he, john.email) == ("John Doe", "ג'ון דו", "john.doe@example.com")
    assert (john.born, john.allergies_recorded_on) == (date(1965, 3, 15), today - timedelta(days=30))
    allergies = {
        (row.drug_class, row.ingredient and row.ingredient.key, row.severity) for row in john.allergies.all()
    }
    assert allergies == {("penicillin", None, "severe"), ("", "metformin", "mild")}
    row = Prescription.objects.get(pk=41)
    assert (row.last_filled_on, row.expires_on) == (today - timedelta(days=5), today + timedelta(days=90))
    assert row.directions_he == "פעמיים ביום"


def test_loading_again_changes_nothing_but_the_dates(folder: Path) -> None:
    load(folder)
    pharmacist = User.objects.get(username="pharmacist")
    pharmacist.is_active = False
    pharmacist.save()
    later = timezone.now() + timedelta(days=3)
    with time_machine.travel(later, tick=False):
        load(folder)
        assert Prescription.objects.get().expires_on == timezone.localdate(later) + timedelta(days=90)
    assert (Patient.objects.count(), Allergy.objects.count(), Prescription.objects.count()) == (2, 2, 1)
    after = User.objects.get(username="pharmacist")
    assert (after.password, after.is_active) == (pharmacist.password, False)


def test_a_password_is_shown_once_and_works(folder: Path) -> None:
    first = {login.username: login for login in load(folder).logins}
    password = first["pharmacist"].password
    assert password is not None
    assert password != first["auditor"].password
    user = User.objects.get(username="pharmacist")
    assert user.check_password(password)
    assert (user.is_staff, user.is_superuser, user.first_name) == (True, False, "Dana")
    assert [group.name for group in user.groups.all()] == ["pharmacist"]
    assert [login.password for login in load(folder).logins] == [None, None]
    assert [(login.username, login.group, login.password) for login in logins()] == [
        ("auditor", "auditor", None),
        ("pharmacist", "pharmacist", None),
    ]


def test_the_next_prescription_gets_an_unused_id(folder: Path) -> None:
    load(folder)
    given = Prescription.objects.values("patient_id", "medication_id", "issued_on", "expires_on").get()
    assert Prescription.objects.create(**given).pk > 41


def test_load_demo_loads_the_specifications_patients_and_can_be_repeated(
    db: None, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("load_demo")
    first = capsys.readouterr().out
    passwords = [line.split()[-1] for line in first.splitlines() if line.startswith("  ")]
    assert len(passwords) == User.objects.count() == 5
    assert all(User.objects.get(username=line.split()[0]) for line in first.splitlines() if line[:2] == "  ")
    rows = Prescription.objects.filter(pk__lte=8).select_related("patient", "medication").order_by("pk")
    found = [(row.pk, row.patient.mrn, row.medication.name_en, row.refills_left, row.status) for row in rows]
    assert found == [
        (1, "10000101", "Amoxicillin", 2, "active"),
        (2, "10000101", "Metformin", 5, "active"),
        (3, "10000102", "Amoxicillin", 0, "completed"),
        (4, "10000103", "Metformin", 3, "active"),
        (5, "10000104", "Amoxicillin", 1, "active"),
        (6, "10000105", "Metformin", 0, "expired"),
        (7, "10000106", "Amoxicillin", 4, "active"),
        (8, "10000107", "Metformin", 2, "active"),
    ]
    counts = [model.objects.count() for model in (Patient, Allergy, Prescription, Medication, User)]
    for options in ([], ["--if-empty"]):
        call_command("load_demo", *options)
        again = capsys.readouterr().out
        assert not [password for password in passwords if password in again]
        assert "pharmacist" in again
        assert "changepassword" in again
        assert counts == [
            model.objects.count() for model in (Patient, Allergy, Prescription, Medication, User)
        ]


def test_load_demo_if_empty_changes_nothing_in_a_filled_database(db: None) -> None:
    Store.objects.create(pk=1, name_en="Ours")
    call_command("load_demo", "--if-empty")
    assert Patient.objects.count() == 0
    assert Store.objects.get().name_en == "Ours"


def test_load_demo_is_all_or_nothing(folder: Path) -> None:
    with pytest.raises(FileNotFoundError):
        call_command("load_demo", "--folder", str(folder))
    assert not Store.objects.exists()
    assert not Patient.objects.exists()
