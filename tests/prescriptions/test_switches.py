"""Operators' switches in the admin: who may use them, what they leave behind, and dispensing switched off."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from django.contrib.auth.models import Group, User
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from prescriptions import switches
from prescriptions.admin.switches import SwitchesForm
from prescriptions.audit import audit_verify
from prescriptions.models import AuditEvent, Handoff, RefillRequest, SimulatedOrder, SiteSwitches
from prescriptions.refill.orders import order_settle
from prescriptions.refill.selectors import status_of, status_said
from prescriptions.refill.services import refill_walk
from prescriptions.refill.sweep import refills_sweep
from prescriptions.switches import UNREAD, Switches, board

pytestmark = pytest.mark.django_db
Submit = Callable[..., RefillRequest]
PAGE = "admin:prescriptions_siteswitches_change"


def signed_in(role: str) -> Client:
    user = User.objects.create_user(f"the-{role}", is_staff=True)
    user.groups.add(Group.objects.get(name=role))
    client = Client()
    client.force_login(user)
    return client


def switch(**fields: object) -> None:
    row = SiteSwitches.objects.get(pk=1)
    for name, value in fields.items():
        setattr(row, name, value)
    row.save()


class TestAdmin:
    def test_an_administrator_closes_the_chat_and_that_is_in_the_audit_log(self) -> None:
        client = signed_in("administrator")
        given = {"chat_closed": "on", "closed_text_en": "Back at noon.", "closed_text_he": "נחזור בצהריים."}
        assert client.post(reverse(PAGE, args=[1]), given).status_code == 302
        assert board.read() == Switches(
            chat_closed=True, closed_text={"en": "Back at noon.", "he": "נחזור בצהריים."}
        )
        line = AuditEvent.objects.get(what="siteswitches_changed")
        assert line.who == f"user:{User.objects.get().pk}"
        assert line.detail["fields"]["chat_closed"] == [False, True]
        assert audit_verify() is None

    def test_a_text_in_one_language_is_refused(self) -> None:
        client = signed_in("administrator")
        page = client.post(reverse(PAGE, args=[1]), {"chat_closed": "on", "closed_text_en": "Back at noon."})
        # At each of the two, whichever tab is open.
        assert page.content.decode().count("Write the text in both languages, or in none.") == 2
        assert not SiteSwitches.objects.get().chat_closed

    def test_a_pharmacist_switches_dispensing_and_nothing_else(self) -> None:
        switch(closed_text_en="Gone.", closed_text_he="סגור.")
        client = signed_in("pharmacist")
        client.post(reverse(PAGE, args=[1]), {"dispensing_off": "on", "model_off": "on", "chat_closed": "on"})
        row = SiteSwitches.objects.get()
        assert (row.dispensing_off, row.model_off, row.chat_closed) == (True, False, False)
        assert (row.closed_text_en, row.closed_text_he) == ("Gone.", "סגור.")

    @pytest.mark.parametrize("role", ["technician", "physician", "auditor", "dentist"])
    def test_nobody_else_changes_them(self, role: str) -> None:
        assert signed_in(role).post(reverse(PAGE, args=[1]), {"dispensing_off": "on"}).status_code == 403
        assert not SiteSwitches.objects.get().dispensing_off

    def test_nobody_adds_or_deletes_the_row(self) -> None:
        client = signed_in("administrator")
        assert client.post(reverse("admin:prescriptions_siteswitches_add"), {}).status_code == 403
        assert (
            client.post(
                reverse("admin:prescriptions_siteswitches_delete", args=[1]), {"post": "yes"}
            ).status_code
            == 403
        )
        assert SiteSwitches.objects.count() == 1

    def test_two_people_change_different_switches_at_once(self, monkeypatch: Any) -> None:
        """Saving a row that was read before the other's change does not take that change back."""
        clean = SwitchesForm.clean

        def meanwhile(form: SwitchesForm) -> dict[str, Any]:
            SiteSwitches.objects.update(chat_closed=True)
            return clean(form)

        monkeypatch.setattr(SwitchesForm, "clean", meanwhile)
        signed_in("pharmacist").post(reverse(PAGE, args=[1]), {"dispensing_off": "on"})
        row = SiteSwitches.objects.get()
        assert row.dispensing_off and row.chat_closed


class TestReading:
    def test_a_change_by_another_process_is_seen_within_seconds(self, monkeypatch: Any) -> None:
        now = [100.0]
        monkeypatch.setattr(switches.time, "monotonic", lambda: now[0])
        board.forget()
        assert not board.read().dispensing_off
        SiteSwitches.objects.update(dispensing_off=True)  # no signal: as another process does it
        assert not board.read().dispensing_off
        now[0] += switches.READ_SECONDS + 0.1
        assert board.read().dispensing_off

    def test_what_cannot_be_read_counts_as_off(self, caplog: Any) -> None:
        with mock.patch.object(SiteSwitches.objects, "get", side_effect=OperationalError("secret")):
            assert board.read() == UNREAD
        assert UNREAD.dispensing_off and UNREAD.model_off and not UNREAD.chat_closed
        assert "OperationalError" in caplog.text and "secret" not in caplog.text

    def test_without_its_row_too(self) -> None:
        SiteSwitches.objects.all().delete()
        board.forget()
        assert board.read() == UNREAD


class TestDispensing:
    def test_a_request_waits_and_goes_on_by_itself(self, demo: None, submit: Submit) -> None:
        switch(dispensing_off=True)
        request = submit(2)
        assert (request.state, request.outcome, request.order_state) == ("Backend_Check", None, "")
        assert (
            SimulatedOrder.objects.count() == 0
            and Handoff.objects.filter(patient=request.patient).count() == 0
        )
        assert status_of(request) == "held"
        assert "waits" in status_said(request, "en") and "ממתינה" in status_said(request, "he")
        RefillRequest.objects.update(updated_at=timezone.now() - timedelta(minutes=1))
        refills_sweep()
        assert SimulatedOrder.objects.count() == 0
        switch(dispensing_off=False)
        RefillRequest.objects.update(updated_at=timezone.now() - timedelta(minutes=1))
        refills_sweep()
        request.refresh_from_db()
        assert request.outcome == "dispensed" and SimulatedOrder.objects.count() == 1

    def test_an_order_that_never_arrived_is_not_sent_again(self, demo: None, submit: Submit) -> None:
        switch(dispensing_off=True)
        request = submit(2)
        then = timezone.now() - timedelta(minutes=1)
        RefillRequest.objects.update(order_state="unknown", order_at=then)
        request.refresh_from_db()
        assert status_of(request) == "being_sent"
        assert order_settle(request) == "unknown"
        assert SimulatedOrder.objects.count() == 0

    def test_it_waits_when_the_switch_cannot_be_read(self, demo: None, submit: Submit) -> None:
        SiteSwitches.objects.all().delete()
        board.forget()
        request = submit(2)
        refill_walk(request)
        assert request.state == "Backend_Check" and SimulatedOrder.objects.count() == 0
