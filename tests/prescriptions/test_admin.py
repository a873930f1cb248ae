"""The staff side: who sees what, that looking leaves a line in the audit log, and what nobody may change."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from inventory.models import Ingredient, Medication
from prescriptions.audit import audit_record
from prescriptions.handoffs.services import handoff_open
from prescriptions.models import Allergy, AuditEvent, Handoff, Notification, Patient, Prescription
from prescriptions.notifications import notification_enqueue

ROLES = ["technician", "pharmacist", "physician", "auditor", "administrator"]
Login = Callable[[str], Client]


@pytest.fixture
def login(db: None) -> Login:
    """A browser in which a member of this group is logged in."""

    def enter(role: str) -> Client:
        user = User.objects.create_user(f"the-{role}", is_staff=True)
        user.groups.add(Group.objects.get(name=role))
        client = Client()
        client.force_login(user)
        return client

    return enter


@pytest.fixture
def pages(david: Patient, amoxicillin: Medication, prescribe: Callable[..., Prescription]) -> dict[str, str]:
    """One page of each kind, by a short name."""
    prescription = prescribe(david, amoxicillin)
    handoff = handoff_open(conversation_id=uuid4(), reason="asked", run_key="r", language="en", patient=david)
    message = notification_enqueue(
        key="k", kind="identity_code", recipient=david.email, language="en", context={"code": "918273"}
    )
    event = AuditEvent.objects.latest("number")
    colleague = User.objects.create_user("colleague", is_staff=True)
    rows = {
        "patient": david,
        "prescription": prescription,
        "handoff": handoff,
        "notification": message,
        "auditevent": event,
    }
    found = {
        "users": reverse("admin:auth_user_changelist"),
        "user": reverse("admin:auth_user_change", args=[colleague.pk]),
    }
    for name, row in rows.items():
        found[f"{name}s"] = reverse(f"admin:prescriptions_{name}_changelist")
        found[name] = reverse(f"admin:prescriptions_{name}_change", args=[row.pk])
    found["patient history"] = reverse("admin:prescriptions_patient_history", args=[david.pk])
    return found


CLINICAL = {"patients", "patient", "patient history", "prescriptions", "prescription", "handoffs", "handoff"}
MESSAGES = {"notifications", "notification"}
AUDIT = MESSAGES | {"auditevents", "auditevent"}
USERS = {"users", "user"}
SEES = {
    "technician": {"handoffs"},
    "pharmacist": CLINICAL | MESSAGES,
    "physician": CLINICAL,
    "auditor": CLINICAL | AUDIT | USERS,
    "administrator": USERS | MESSAGES,
}


@pytest.mark.parametrize("role", ROLES)
def test_each_group_sees_its_pages_only(login: Login, pages: dict[str, str], role: str) -> None:
    client = login(role)
    seen = {name for name, path in pages.items() if client.get(path).status_code == 200}
    assert seen == SEES[role]


@pytest.mark.parametrize("role", ["technician", "administrator"])
def test_others_see_no_trace_of_a_patient(login: Login, pages: dict[str, str], role: str) -> None:
    client = login(role)
    for path in [*pages.values(), reverse("admin:index")]:
        response = client.get(path, follow=True)
        assert b"david.cohen" not in response.content
        assert b"David" not in response.content


@pytest.mark.parametrize("role", ROLES)
def test_nobody_adds_deletes_or_rewrites_by_hand(login: Login, pages: dict[str, str], role: str) -> None:
    client = login(role)
    for name in ("patient", "prescription", "handoff", "notification", "auditevent"):
        added = client.get(reverse(f"admin:prescriptions_{name}_add"))
        assert added.status_code == 403, name
        deleted = client.post(pages[name].replace("change", "delete"), {"post": "yes"})
        assert deleted.status_code == 403, name
        if name not in {"patient", "handoff"}:
            assert client.post(pages[name], {"status": "active", "what": "x"}).status_code == 403, name
    assert Patient.objects.count() == Prescription.objects.count() == Handoff.objects.count() == 1


def lines(client: Client, what: str) -> int:
    user = User.objects.get(pk=client.session["_auth_user_id"])
    return AuditEvent.objects.filter(who=f"user:{user.pk}", what=what, where="admin").count()


def test_looking_at_patient_data_is_recorded(login: Login, pages: dict[str, str], david: Patient) -> None:
    client = login("physician")
    for name in sorted(CLINICAL):
        assert client.get(pages[name]).status_code == 200
    for what in (
        "patient_listed",
        "prescription_listed",
        "handoff_listed",
        "prescription_viewed",
        "handoff_viewed",
    ):
        assert lines(client, what) == 1, what
    assert lines(client, "patient_viewed") == 2  # the page and its history
    listed = AuditEvent.objects.get(what="patient_listed")
    assert listed.detail == {"rows": [david.pk], "patients": [david.pk]}
    viewed = AuditEvent.objects.filter(what__in=["patient_viewed", "prescription_viewed", "handoff_viewed"])
    assert {event.patient_id for event in viewed} == {david.pk}


def test_a_refused_page_is_recorded(login: Login, pages: dict[str, str]) -> None:
    client = login("technician")
    for name in ("patients", "patient", "patient history"):
        assert client.get(pages[name]).status_code == 403
    assert lines(client, "patient_refused") == 3


def test_searching_patients_in_a_picker_is_recorded(login: Login, pages: dict[str, str]) -> None:
    client = login("pharmacist")
    found = client.get(
        reverse("admin:autocomplete"),
        {"app_label": "prescriptions", "model_name": "handoff", "field_name": "patient", "term": "David"},
    )
    assert found.status_code == 200
    assert lines(client, "patient_searched") == 1
    assert b"David" not in found.content  # the picker shows numbers


def patient_form(patient: Patient, **changes: object) -> dict[str, object]:
    return {
        "name_en": patient.name_en,
        "name_he": patient.name_he or "",
        "email": patient.email,
        "phone": patient.phone or "",
        "born": "1978-06-11",
        "language": "en",
        "allergy_status": "recorded",
        "allergies_recorded_on": "2026-01-01",
        "allergies-TOTAL_FORMS": "0",
        "allergies-INITIAL_FORMS": "0",
        **changes,
    }


def test_pharmacist_edits_contacts_and_allergies(login: Login, pages: dict[str, str], david: Patient) -> None:
    client = login("pharmacist")
    ingredient = Ingredient.objects.create(key="amoxicillin", name_en="Amoxicillin")
    form = patient_form(david, email="David.New@Example.com", phone="050 765 4321")
    form |= {
        "allergies-TOTAL_FORMS": "1",
        "allergies-0-ingredient": str(ingredient.pk),
        "allergies-0-drug_class": "",
        "allergies-0-severity": "severe",
    }
    assert client.post(pages["patient"], form).status_code == 302
    david.refresh_from_db()
    assert (david.email, david.phone) == ("david.new@example.com", "+972507654321")
    assert Allergy.objects.get(patient=david).ingredient == ingredient
    edited = AuditEvent.objects.get(what="patient_edited")
    assert {"email", "phone"} <= set(edited.detail["fields"])
    assert AuditEvent.objects.filter(what="patient_allergies_edited", patient=david).count() == 1


def test_physician_and_auditor_only_read(login: Login, pages: dict[str, str], david: Patient) -> None:
    for role in ("physician", "auditor"):
        assert (
            login(role).post(pages["patient"], patient_form(david, email="x@example.com")).status_code == 403
        )
    david.refresh_from_db()
    assert david.email == "david.cohen@example.com"


@pytest.mark.parametrize(("phone", "status"), [("050-1234567", 302), ("12", 200), ("", 302)])
def test_a_phone_is_normalised_or_refused(
    login: Login, pages: dict[str, str], david: Patient, phone: str, status: int
) -> None:
    response = login("pharmacist").post(pages["patient"], patient_form(david, phone=phone))
    assert response.status_code == status


@pytest.mark.parametrize(
    ("role", "state"), [("pharmacist", "closed"), ("physician", "closed"), ("auditor", "open")]
)
def test_groups_that_may_change_handoffs_can_close_them(
    login: Login, pages: dict[str, str], role: str, state: str
) -> None:
    handoff = Handoff.objects.get()
    client = login(role)
    for sent in ({"act": "claim"}, {"act": "close", "outcome": "answered"}):
        client.post(pages["handoff"], sent, follow=True)
    handoff.refresh_from_db()
    assert handoff.state == state
    assert lines(client, "handoff_closed") == (state == "closed")


def test_notification_pages_show_no_code(login: Login, pages: dict[str, str]) -> None:
    client = login("auditor")
    for name in ("notifications", "notification"):
        assert b"918273" not in client.get(pages[name]).content
    assert Notification.objects.get().context == {"code": "918273"}


def test_only_an_auditor_can_verify_the_chain(login: Login, pages: dict[str, str]) -> None:
    audit_record(who="user:1", what="x", where="y")
    client = login("auditor")
    response = client.get(pages["auditevents"])
    path = reverse("admin:prescriptions_auditevent_verify")
    assert path.encode() in response.content
    assert b"as it was written" in client.get(path, follow=True).content
    assert login("pharmacist").get(path).status_code == 403


def test_administrator_cannot_rise_above_the_groups(login: Login, pages: dict[str, str]) -> None:
    client = login("administrator")
    me = User.objects.get(username="the-administrator")
    boss = User.objects.create_superuser("boss")
    pharmacist = Group.objects.get(name="pharmacist")
    form = {
        "username": me.username,
        "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00",
        "groups": [pharmacist.pk],
    }
    client.post(reverse("admin:auth_user_change", args=[me.pk]), {**form, "is_superuser": "on"})
    me.refresh_from_db()
    assert not me.is_superuser
    assert me.is_staff
    assert not me.groups.filter(pk=pharmacist.pk).exists()
    assert client.post(reverse("admin:auth_user_change", args=[boss.pk]), form).status_code == 403
    assert client.get(reverse("admin:auth_user_password_change", args=[boss.pk])).status_code == 403
    colleague = User.objects.get(username="colleague")
    form |= {"username": "colleague", "is_staff": "on", "is_active": "on", "is_superuser": "on"}
    assert client.post(pages["user"], form).status_code == 302
    colleague.refresh_from_db()
    assert not colleague.is_superuser
    # A second administrator has to consent (tests/staff/test_consents.py).
    assert not colleague.groups.exists()
    event = AuditEvent.objects.filter(what="user_changed").latest("number")
    flags = {"active": True, "staff": True, "superuser": False}
    assert event.detail == {"user": colleague.pk, "groups": [], **flags}


def test_the_number_of_queries_does_not_grow_with_the_rows(
    login: Login,
    pages: dict[str, str],
    david: Patient,
    metformin: Medication,
    prescribe: Callable[..., Prescription],
    django_assert_max_num_queries: Callable[..., object],
) -> None:
    client = login("pharmacist")
    for _ in range(30):
        prescribe(david, metformin)
    with django_assert_max_num_queries(20):  # type: ignore[attr-defined]
        client.get(pages["prescriptions"])
