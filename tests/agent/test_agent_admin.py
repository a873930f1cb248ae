"""Staff read conversations with the tool calls of each answer; those who may not see patients see none of it."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client
from django.utils.html import escape
from talking import Talk

from agent.conversation import events
from agent.models import ApiKey, Conversation, ToolCall
from prescriptions.models import AuditEvent

SCRIPT = "<script>alert(1)</script> do you have Advil?"


@pytest.fixture
def conversation(demo_committed: None) -> Conversation:
    talk = Talk()
    for text in (SCRIPT, "Do you have Cetirizine in stock?"):
        talk.say(text)
    return talk.conversation


def staff(role: str) -> Client:
    user = get_user_model().objects.create_user(f"a-{role}", password="x", is_staff=True)
    user.groups.add(Group.objects.get(name=role))
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize("role", ["pharmacist", "physician", "auditor"])
def test_a_conversation_is_shown_with_its_tool_calls_and_the_view_is_audited(
    conversation: Conversation, role: str
) -> None:
    client = staff(role)
    assert client.get("/admin/agent/conversation/").status_code == 200
    before = AuditEvent.objects.count()
    page = client.get(f"/admin/agent/conversation/{conversation.pk}/change/")
    body = page.content.decode()
    assert page.status_code == 200
    assert "check_inventory" in body and "get_medication_by_name" in body
    assert escape(SCRIPT) in body and SCRIPT not in body
    assert page.headers["Cache-Control"] == "no-store"
    assert AuditEvent.objects.count() > before


@pytest.mark.parametrize("role", ["technician", "administrator"])
def test_a_role_without_patient_data_sees_no_conversation(conversation: Conversation, role: str) -> None:
    client = staff(role)
    assert client.get("/admin/agent/conversation/").status_code == 403
    assert client.get(f"/admin/agent/conversation/{conversation.pk}/change/").status_code == 403


def test_staff_cannot_change_or_delete_a_conversation_or_a_tool_call(conversation: Conversation) -> None:
    client = staff("pharmacist")
    call = ToolCall.objects.first()
    assert call
    for path in (f"conversation/{conversation.pk}", f"toolcall/{call.pk}"):
        assert client.post(f"/admin/agent/{path}/delete/", {"post": "yes"}).status_code == 403
        assert client.post(f"/admin/agent/{path}/change/", {"language": "he", "ok": ""}).status_code == 403
    assert Conversation.objects.get(pk=conversation.pk).language == "en"


def test_a_list_of_conversations_costs_a_fixed_number_of_queries(
    conversation: Conversation, django_assert_max_num_queries: Any
) -> None:
    client = staff("pharmacist")
    client.get("/admin/agent/conversation/")
    for _ in range(10):
        events.conversation_begin(language="he")
    with django_assert_max_num_queries(25):
        assert client.get("/admin/agent/conversation/").status_code == 200


def test_a_key_is_switched_off_in_the_admin(demo_committed: None) -> None:
    from agent.web.authentication import key_issue

    key_issue(name="till", scopes=["tools"])
    row = ApiKey.objects.get()
    client = staff("administrator")
    form = {"name": "till"}
    assert client.post(f"/admin/agent/apikey/{row.pk}/change/", form).status_code == 302
    assert not ApiKey.objects.get().is_active
