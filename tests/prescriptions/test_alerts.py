"""Alerts: what sets them off, who sees them in the admin, and the one line in the logs."""

import logging
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from django.utils.translation import override

from pharmacy_site.lib.breaker import Breaker
from prescriptions.admin.alerts import alert_text
from prescriptions.alerts import Alert, AlertLog, alerts
from prescriptions.audit import audit_record
from prescriptions.audit.watching import EVERY, audit_anchor_watched, audit_check, audit_watch
from prescriptions.models import AuditCheck, AuditHead, Notification

pytestmark = pytest.mark.django_db
Login = Callable[..., Client]


@pytest.fixture(autouse=True)
def breakers_of_this_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the breakers that other tests of the process left open."""
    monkeypatch.setattr("pharmacy_site.lib.breaker._all", WeakSet())


@pytest.fixture
def broken() -> Iterator[Breaker]:
    breaker = Breaker("test system", failures=1, seconds=60)
    breaker.failed()
    yield breaker
    breaker.succeeded()


def message(state: str, minutes: int) -> None:
    Notification.objects.create(
        key=f"{state}{minutes}",
        kind="refill_ready",
        channel="email",
        recipient="x@example.com",
        language="en",
        state=state,
        due_at=timezone.now() - timedelta(minutes=minutes),
    )


class TestFound:
    def test_nothing_on_a_site_that_works(self) -> None:
        message("pending", 1)
        audit_record(who="system", what="tested", where="tests")
        audit_watch()
        assert alerts() == []

    def test_a_stuck_outbox_and_dead_letters(self) -> None:
        message("pending", 3)
        message("pending", 9)
        message("failed", 1)
        assert alerts() == [Alert("outbox_stuck", count=2), Alert("dead_letters", count=1)]

    def test_an_open_breaker_until_it_is_shut(self, broken: Breaker) -> None:
        assert alerts() == [Alert("breaker_open", name="test system")]
        broken.succeeded()
        assert alerts() == []


class TestAuditLog:
    @pytest.fixture(autouse=True)
    def _lines(self) -> None:
        for _ in range(3):
            audit_record(who="system", what="tested", where="tests")

    def test_a_rewound_head_is_found_within_minutes(self, caplog: Any) -> None:
        audit_watch()
        AuditHead.objects.update(count=2)
        audit_watch()  # not the daily check: only the head was looked at
        assert alerts() == [Alert("audit_broken", count=2, name="head")]
        assert "the audit log is broken at line 2: head" in caplog.text

    def test_the_whole_log_is_checked_once_a_day(self, monkeypatch: pytest.MonkeyPatch) -> None:
        checked: list[None] = []
        monkeypatch.setattr("prescriptions.audit.watching.audit_verify", lambda: checked.append(None))
        for _ in range(3):
            audit_watch()
        assert len(checked) == 1
        AuditCheck.objects.update(checked_at=timezone.now() - EVERY)
        audit_watch()
        assert len(checked) == 2

    def test_the_command_sets_it_and_ends_it(self, settings: Any) -> None:
        key, settings.AUDIT_KEY, settings.AUDIT_KEYS_OLD = settings.AUDIT_KEY, "another key of the tests", []
        with pytest.raises(CommandError, match="broken at line"):
            call_command("verify_audit")
        assert [alert.code for alert in alerts()] == ["audit_broken"]
        settings.AUDIT_KEY = key
        call_command("verify_audit")
        assert alerts() == []

    def test_a_late_anchor_is_found_by_the_check(self, settings: Any, tmp_path: Path) -> None:
        settings.AUDIT_ANCHOR = str(tmp_path / "anchors")
        audit_anchor_watched()
        assert audit_check() is None
        (tmp_path / "anchors").write_text("")
        hours = timezone.now() + timedelta(hours=3)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("prescriptions.audit.verifying.timezone.now", lambda: hours)
            found = audit_check()
        assert found and found.kind == "late"
        assert alerts() == [Alert("audit_broken", count=1, name="late")]

    def test_an_anchor_that_cannot_be_written_until_it_can(
        self, settings: Any, tmp_path: Path, caplog: Any
    ) -> None:
        settings.AUDIT_ANCHOR = str(tmp_path / "away" / "anchors")
        audit_anchor_watched()
        [alert] = alerts()
        assert alert.code == "audit_unanchored" and "audit_anchor failed: " in caplog.text
        audit_anchor_watched()
        assert alerts() == [alert]  # since the first failure
        (tmp_path / "away").mkdir()
        audit_anchor_watched()
        assert alerts() == []


class TestShown:
    @pytest.mark.parametrize("page", ["/admin/", "/admin/auth/user/"])
    def test_administrators_read_them_above_each_page(self, login: Login, broken: Breaker, page: str) -> None:
        message("pending", 5)
        text = login("administrator").get(page).content.decode()
        assert "A system does not answer and is left alone: test system" in text
        assert "1 message waits too long" in text

    @pytest.mark.parametrize("role", ["pharmacist", "auditor", "dentist"])
    def test_nobody_else_does(self, login: Login, broken: Breaker, role: str) -> None:
        assert "test system" not in login(role).get("/admin/").content.decode()

    def test_nothing_is_shown_when_all_is_well(self, login: Login) -> None:
        assert 'aria-label="Alerts"' not in login("administrator").get("/admin/").content.decode()

    @pytest.mark.parametrize(
        "alert",
        [
            Alert("audit_broken", count=4, name="changed"),
            Alert("audit_unanchored", since=timezone.now()),
            Alert("outbox_stuck", count=2),
            Alert("dead_letters", count=1),
            Alert("deadlines_late", count=3),
            Alert("breaker_open", name="dispenser"),
        ],
    )
    def test_each_has_words_in_both_languages(self, alert: Alert) -> None:
        texts = []
        for language in ("en", "he"):
            with override(language):
                texts.append(alert_text(alert))
        assert texts[0] != texts[1] and all(texts)


def test_one_line_is_logged_when_they_change(broken: Breaker, caplog: Any) -> None:
    caplog.set_level(logging.WARNING, "prescriptions.alerts")
    log = AlertLog()
    message("pending", 3)
    log.look()
    message("pending", 4)
    log.look()  # more of the same
    broken.succeeded()
    log.look()
    Notification.objects.all().delete()
    log.look()
    log.look()
    assert [record.getMessage() for record in caplog.records if record.name == "prescriptions.alerts"] == [
        "alerts: outbox_stuck:1 breaker_open:test_system",
        "alerts: outbox_stuck:2",
        "alerts: none any more",
    ]
