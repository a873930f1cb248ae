"""What staff change and look at, and how they sign in, leaves a line in the audit log that nobody can take away."""

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from agent.models import ApiKey, Feedback, ToolCall
from inventory.models import Ingredient, Interaction, Medication
from pharmacy_site.lib.admin import ReadOnly, Recorded
from prescriptions.admin import PatientData
from prescriptions.audit import audit_verify
from prescriptions.models import AuditEvent, Notification

pytestmark = pytest.mark.django_db
PASSWORD = "one long enough for staff"


def somebody(group: str) -> tuple[Client, User]:
    user = User.objects.create_user(f"some-{group}", password=PASSWORD, is_staff=True)
    user.groups.add(Group.objects.get(name=group))
    client = Client()
    client.force_login(user)
    return client, user


def line(what: str) -> AuditEvent:
    return AuditEvent.objects.get(what=what)


@pytest.fixture
def pair() -> Interaction:
    first, second = (Ingredient.objects.create(key=name, name=name) for name in ("warfarin", "ibuprofen"))
    return Interaction.objects.create(ingredient_a=first, ingredient_b=second, level="avoid")


def test_every_table_that_staff_change_is_recorded() -> None:
    """A new admin page records by `Recorded` or `PatientData`, or does so by itself."""
    by_themselves = {"User", "OnCall", "ChatSite"}
    for model, page in admin.site._registry.items():
        recorded = isinstance(page, ReadOnly | Recorded | PatientData)
        assert recorded or model.__name__ in by_themselves, model


def test_deleting_an_interaction_leaves_a_line(pair: Interaction) -> None:
    client, user = somebody("pharmacist")
    pk, first, second = pair.pk, pair.ingredient_a_id, pair.ingredient_b_id
    address = reverse("admin:inventory_interaction_delete", args=[pk])
    assert client.post(address, {"post": "yes"}).status_code == 302
    assert not Interaction.objects.exists()
    event = line("interaction_deleted")
    assert event.who == f"user:{user.pk}"
    assert event.detail["row"] == pk
    assert {"level": "avoid", "ingredient_a": first, "ingredient_b": second}.items() <= event.detail[
        "fields"
    ].items()


def test_deleting_many_interactions_at_once_leaves_a_line_each(pair: Interaction) -> None:
    third = Ingredient.objects.create(key="aspirin", name="aspirin")
    other = Interaction.objects.create(ingredient_a=pair.ingredient_a, ingredient_b=third, level="caution")
    client, _ = somebody("pharmacist")
    answer = client.post(
        reverse("admin:inventory_interaction_changelist"),
        {"action": "delete_selected", "_selected_action": [pair.pk, other.pk], "post": "yes"},
    )
    assert answer.status_code == 302
    events = AuditEvent.objects.filter(what="interaction_deleted")
    assert {event.detail["row"] for event in events} == {pair.pk, other.pk}


def test_changing_an_interaction_leaves_the_old_and_the_new_level(pair: Interaction) -> None:
    client, _ = somebody("pharmacist")
    address = reverse("admin:inventory_interaction_change", args=[pair.pk])
    form = client.get(address).context["adminform"].form
    data = {name: form.initial.get(name) or "" for name in form.fields} | {"level": "caution"}
    assert client.post(address, data).status_code == 302
    assert line("interaction_changed").detail["fields"]["level"] == ["avoid", "caution"]


def test_deleting_a_medication_leaves_a_line() -> None:
    row = Medication.objects.create(name_en="Placebo", rx_required=True)
    pk = row.pk
    client, _ = somebody("pharmacist")
    assert (
        client.post(reverse("admin:inventory_medication_delete", args=[pk]), {"post": "yes"}).status_code
        == 302
    )
    event = line("medication_deleted")
    assert (event.detail["row"], event.detail["fields"]["rx_required"]) == (pk, True)


def test_a_key_leaves_lines_when_it_is_issued_switched_off_and_deleted() -> None:
    call_command("issue_api_key", "shop", "--scope", "tools")
    key = ApiKey.objects.get()
    assert line("apikey_added").detail == {"row": key.pk, "scopes": ["tools"], "roles": [], "user": None}
    client, user = somebody("administrator")
    address = reverse("admin:agent_apikey_change", args=[key.pk])
    assert client.post(address, {"name": "shop"}).status_code == 302
    assert line("apikey_changed").detail["fields"]["is_active"] == [True, False]
    assert (
        client.post(reverse("admin:agent_apikey_delete", args=[key.pk]), {"post": "yes"}).status_code == 302
    )
    assert line("apikey_deleted").who == f"user:{user.pk}"
    assert key.key_hash not in str(list(AuditEvent.objects.values()))


def test_signing_out_leaves_a_line() -> None:
    user = User.objects.create_user("dana", password=PASSWORD, is_staff=True)
    client = Client()
    client.post(reverse("admin:login"), {"username": "dana", "password": PASSWORD})
    client.post(reverse("admin:logout"))
    assert [line("sign_in").who, line("signed_out").who] == [f"user:{user.pk}"] * 2


def test_a_new_password_leaves_a_line() -> None:
    client, user = somebody("administrator")
    own = {
        "old_password": PASSWORD,
        "new_password1": "yet another gate 8",
        "new_password2": "yet another gate 8",
    }
    assert client.post(reverse("admin:password_change"), own).status_code == 302
    assert line("password_set").detail == {"user": user.pk}


@pytest.fixture
def looked_at(demo: None) -> dict[str, Any]:
    from agent.models import Conversation, Run
    from prescriptions.models import Patient

    patient = Patient.objects.order_by("pk").first()
    assert patient is not None
    conversation = Conversation.objects.create(patient=patient)
    run = Run.objects.create(conversation=conversation, input_seq=1)
    return {
        "patient": patient,
        "toolcall": ToolCall.objects.create(
            run=run, actor="chat:1", name="prescription_management", ok=True, duration_ms=1
        ),
        "feedback": Feedback.objects.create(conversation=conversation, seq=1, rating=1, comment="thanks"),
    }


@pytest.mark.parametrize("name", ["toolcall", "feedback"])
def test_pages_that_show_a_patients_data_are_recorded(looked_at: dict[str, Any], name: str) -> None:
    client, user = somebody("pharmacist")
    row, patient = looked_at[name], looked_at["patient"]
    assert client.get(reverse(f"admin:agent_{name}_changelist")).status_code == 200
    assert patient.pk in line(f"{name}_listed").detail["patients"]
    assert client.get(reverse(f"admin:agent_{name}_change", args=[row.pk])).status_code == 200
    viewed = line(f"{name}_viewed")
    assert (viewed.who, viewed.patient_id, viewed.detail) == (f"user:{user.pk}", patient.pk, {"row": row.pk})


def test_the_list_of_notifications_is_recorded() -> None:
    client, _ = somebody("pharmacist")
    assert client.get(reverse("admin:prescriptions_notification_changelist")).status_code == 200
    assert line("notification_listed").detail == {"rows": [], "patients": []}
    assert not Notification.objects.exists()
    assert audit_verify() is None
