"""The pages of the audit log: names, roles, record numbers and words in both languages; who saw a patient; export."""

import csv
import io
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from prescriptions.audit import audit_record, audit_verify
from prescriptions.audit.wording import what_text
from prescriptions.models import AuditEvent, Patient

LOG = reverse("admin:prescriptions_auditevent_changelist")
pytestmark = pytest.mark.django_db


def somebody(group: str, name: str = "", **names: str) -> Client:
    user = User.objects.create_user(name or f"the-{group}", is_staff=True, **names)
    user.groups.add(Group.objects.get(name=group))
    client = Client()
    client.force_login(user)
    client.user = user  # type: ignore[attr-defined]
    return client


@pytest.fixture
def patients() -> list[Patient]:
    return [
        Patient.objects.create(
            mrn=f"MRN-{number}",
            name_en=f"Person {number}",
            born="1980-01-01",
            email=f"p{number}@example.com",
            phone=f"+97250000000{number}",
        )
        for number in (1, 2)
    ]


def test_lines_have_names_roles_and_words_in_both_languages(patients: list[Patient]) -> None:
    dana = somebody("pharmacist", first_name="Dana", last_name="Levi")
    dana.get(reverse("admin:prescriptions_patient_change", args=[patients[0].pk]))
    auditor = somebody("auditor")
    page = auditor.get(LOG).text
    for text in ("Dana Levi", "pharmacist", "MRN-1", "Looked at: patient"):
        assert text in page
    auditor.cookies["django_language"] = "he"
    page = auditor.get(LOG).text
    for text in ("Dana Levi", "רוקח", "MRN-1", "צפייה: מטופל"):
        assert text in page
    event = AuditEvent.objects.get(what="patient_viewed")
    page = auditor.get(reverse("admin:prescriptions_auditevent_change", args=[event.pk])).text
    assert "Dana Levi" in page
    assert "MRN-1" in page


def test_who_saw_a_patient_is_one_click_away_from_their_page(patients: list[Patient]) -> None:
    seen, other = patients
    viewer, lister = somebody("pharmacist", "viewer"), somebody("physician", "lister")
    stranger = somebody("physician", "stranger")
    viewer.get(reverse("admin:prescriptions_patient_change", args=[seen.pk]))
    lister.get(reverse("admin:prescriptions_patient_changelist"), {"q": seen.mrn})
    stranger.get(reverse("admin:prescriptions_patient_change", args=[other.pk]))
    auditor = somebody("auditor")
    page = auditor.get(reverse("admin:prescriptions_patient_change", args=[seen.pk]))
    button = reverse("admin:prescriptions_patient_who_saw", args=[seen.pk])
    assert button in page.text
    listed = auditor.get(button, follow=True)
    assert listed.redirect_chain == [(f"{LOG}?patient={seen.pk}", 302)]
    who = {row.who for row in listed.context["cl"].result_list}
    expected = {f"user:{client.user.pk}" for client in (viewer, lister, auditor)}  # type: ignore[attr-defined]
    assert who == expected
    assert seen.pk in AuditEvent.objects.get(what="auditevent_listed").detail["patients"]


def test_who_saw_is_for_those_who_read_the_log(patients: list[Patient]) -> None:
    pharmacist = somebody("pharmacist")
    button = reverse("admin:prescriptions_patient_who_saw", args=[patients[0].pk])
    page = pharmacist.get(reverse("admin:prescriptions_patient_change", args=[patients[0].pk]))
    assert button not in page.text
    assert pharmacist.get(button).status_code in (302, 403)
    assert pharmacist.get(LOG).status_code == 403


def export(client: Client, rows: list[int], **query: Any) -> Any:
    address = reverse("admin:prescriptions_auditevent_changelist", query=query)
    return client.post(address, {"action": "export", "_selected_action": rows, "index": "0"})


def test_the_export_is_a_table_without_formulas_and_is_recorded(patients: list[Patient]) -> None:
    patients[0].mrn = "=1+1"
    patients[0].save()
    audit_record(who="user:99", what="patient_viewed", where="admin", patient=patients[0])
    audit_record(who="system", what="-1", where="admin", detail={"a": 1})
    auditor = somebody("auditor")
    keys = list(AuditEvent.objects.filter(number__lte=2).values_list("pk", flat=True))
    response = export(auditor, keys, patient=patients[0].pk)
    keys_of_patient = keys[-1:]
    text = response.content.decode()
    assert text.startswith("\ufeff")
    table = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))
    assert [int(row["number"]) for row in table] == [
        event.number for event in AuditEvent.objects.filter(pk__in=keys_of_patient)
    ]
    assert table[0]["mrn"] == "'=1+1"
    assert table[0]["in_words"] == "Looked at: patient"
    event = AuditEvent.objects.get(what="auditevent_exported")
    assert (event.patient_id, event.detail) == (patients[0].pk, {"lines": 1, "first": 1, "last": 1})
    whole = export(auditor, keys).content.decode()
    assert "'-1" in whole
    assert audit_verify() is None


def test_an_erased_patient_and_an_unknown_account_are_shown(patients: list[Patient]) -> None:
    audit_record(who="user:99", what="patient_viewed", where="admin", patient=patients[0])
    patients[0].delete()
    page = somebody("auditor").get(LOG).text
    assert "account 99" in page
    assert "erased" in page


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("interaction_deleted", "Deleted: interaction"),
        ("apikey_changed", "Changed: API key"),
        ("on_call_added", "Added: on-call roster"),
        ("sign_in_failed", "Failed to sign in"),
        ("something_else", "something_else"),
    ],
)
def test_codes_have_words(code: str, text: str) -> None:
    assert what_text(code) == text
