"""The staff's pages of messages: who sees whose address, and what can be done about those that were given up."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from prescriptions.handoffs.services import handoff_open
from prescriptions.handoffs.sweep import deadlines_take
from prescriptions.models import AuditEvent, HandoffDeadline, Notification
from prescriptions.notifications import notification_enqueue

LIST = reverse("admin:prescriptions_notification_changelist")
Login = Callable[[str], Client]


@pytest.fixture
def login(db: None) -> Login:
    def enter(role: str) -> Client:
        user = User.objects.create_user(f"the-{role}", is_staff=True)
        user.groups.add(Group.objects.get(name=role))
        client = Client()
        client.force_login(user)
        return client

    return enter


@pytest.fixture
def dead(db: None) -> Notification:
    """A message to a patient that was given up, beside one that was sent."""
    for key in ("dead", "sent"):
        row = notification_enqueue(
            key=key,
            kind="refill_ready",
            recipient=f"{key}@example.com",
            language="en",
            context={"number": "R-1"},
        )
        Notification.objects.filter(pk=row.pk).update(
            state="failed" if key == "dead" else "sent", attempts=5, last_error="SMTPDataError"
        )
    return Notification.objects.get(key="dead")


def act(client: Client, action: str) -> str:
    """What the page says after an action on all rows."""
    rows = list(Notification.objects.values_list("pk", flat=True))
    return client.post(LIST, {"action": action, "_selected_action": rows}, follow=True).content.decode()


@pytest.mark.parametrize("role", ["pharmacist", "administrator"])
def test_a_dead_letter_is_shown_and_sent_again_on_record(login: Login, dead: Notification, role: str) -> None:
    client = login(role)
    page = client.get(LIST, {"dead": "1"}).content.decode()
    assert "SMTPDataError" in page and "1 message was not sent" in page
    assert f"/{dead.pk}/change/" in page and page.count("/change/?") == 1
    assert "1 message is sent again." in act(client, "retry")
    dead.refresh_from_db()
    assert (dead.state, dead.attempts, dead.context) == ("pending", 0, {"number": "R-1"})
    assert Notification.objects.get(key="sent").state == "sent"
    assert "was not sent" not in client.get(reverse("admin:index")).content.decode()
    (event,) = AuditEvent.objects.filter(what="notification_retried")
    assert (event.who, event.detail) == (f"user:{client.session['_auth_user_id']}", {"row": dead.pk})


def test_a_dead_letter_is_set_aside(login: Login, dead: Notification) -> None:
    client = login("pharmacist")
    assert "1 message was set aside." in act(client, "set_aside")
    dead.refresh_from_db()
    assert (dead.state, dead.context) == ("discarded", {})
    assert "0 messages were set aside." in act(client, "set_aside")


@pytest.mark.parametrize("role", ["auditor", "technician", "physician"])
def test_others_change_nothing(login: Login, dead: Notification, role: str) -> None:
    client = login(role)
    act(client, "retry")
    act(client, "set_aside")
    assert set(Notification.objects.values_list("state", flat=True)) == {"failed", "sent"}


def test_recipients_are_shown_to_those_who_see_patients_and_that_is_recorded(
    login: Login, dead: Notification
) -> None:
    page = reverse("admin:prescriptions_notification_change", args=[dead.pk])
    administrator, pharmacist = login("administrator"), login("pharmacist")
    assert b"dead@example.com" not in administrator.get(page).content
    assert b"dead@example.com" in pharmacist.get(page).content
    events = AuditEvent.objects.filter(what="notification_viewed").order_by("number")
    assert [event.detail for event in events] == [{"row": dead.pk}] * 2
    assert events[0].who != events[1].who


def test_each_page_says_that_messages_wait(login: Login) -> None:
    row = notification_enqueue(
        key="k", kind="refill_ready", recipient="a@example.com", language="en", context={}
    )
    Notification.objects.filter(pk=row.pk).update(due_at=timezone.now() - timedelta(minutes=3))
    index = reverse("admin:index")
    assert b"1 message waits too long" in login("pharmacist").get(index).content
    assert (
        "הודעה אחת (1) ממתינה זמן רב מדי"
        in login("administrator").get(index, HTTP_ACCEPT_LANGUAGE="he").content.decode()
    )
    assert b"waits too long" not in login("technician").get(index).content


def test_each_page_says_that_nobody_keeps_deadlines(login: Login) -> None:
    handoff_open(conversation_id=None, reason="complaint", run_key="r", language="en")
    page = login("pharmacist")
    assert b"not kept" not in page.get(reverse("admin:index")).content
    HandoffDeadline.objects.filter(action="remind").update(due_at=timezone.now() - timedelta(minutes=3))
    assert b"2 deadlines were not kept" in page.get(reverse("admin:index")).content
    deadlines_take()
    assert b"not kept" not in page.get(reverse("admin:index")).content
