"""Retention: each kind goes after its days, what somebody waits for stays, and the audit log that is left proves itself."""

from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import time_machine
from django.conf import settings as site_settings
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from agent import tasks
from agent.conversation import events
from agent.models import ApiKey, Conversation, IdempotentCall, Run, ToolCall
from agent.retention import KINDS, retention_apply
from agent.web.authentication import key_issue
from pharmacy_site.lib import append_only, retention
from prescriptions.audit import anchors, audit_record, audit_verify
from prescriptions.audit.anchors import anchors_read, audit_anchor
from prescriptions.audit.cutting import audit_cut
from prescriptions.audit.verifying import AuditBreak
from prescriptions.handoffs.services import handoff_open
from prescriptions.models import (
    AuditEvent,
    AuditHead,
    Challenge,
    Handoff,
    Notification,
    Patient,
    Prescription,
    RefillRequest,
)

LONG_AGO = timedelta(days=3_000)
TABLE = "prescriptions_auditevent"


def counts(where: str = "test", **options: Any) -> dict[str, int]:
    return {one.name: one.count for one in retention_apply(where=where, **options)}


def notification(state: str, age: timedelta) -> Notification:
    row = Notification.objects.create(
        key=str(uuid4()), kind="refill_ready", recipient="x@example.com", state=state, due_at=timezone.now()
    )
    Notification.objects.filter(pk=row.pk).update(created_at=timezone.now() - age)
    return row


def challenge(age: timedelta) -> Challenge:
    at = timezone.now() - age
    return Challenge.objects.create(
        subject_key="s", contact_key="c", address_key="a", conversation_id=uuid4(), run_key=str(uuid4()),
        code_hash="h", expires_at=at + timedelta(minutes=5), tries_left=3, created_at=at,
    )  # fmt: skip


def handoff(closed: timedelta | None, **more: Any) -> Handoff:
    row = handoff_open(reason="stock", run_key=str(uuid4()), language="en", conversation_id=uuid4(), **more)
    at = timezone.now() - (closed or LONG_AGO)
    over = {} if closed is None else {"state": "closed", "closed_at": at}
    Handoff.objects.filter(pk=row.pk).update(created_at=at, **over)
    return row


def toolcall(age: timedelta, run: Run | None = None) -> ToolCall:
    row = ToolCall.objects.create(actor="key:1", name="check_stock", ok=True, duration_ms=1, run=run)
    ToolCall.objects.filter(pk=row.pk).update(created_at=timezone.now() - age)
    return row


def talk(idle: timedelta) -> Conversation:
    conversation, _secret = events.conversation_begin(language="en")
    Conversation.objects.filter(pk=conversation.pk).update(active_at=timezone.now() - idle)
    return conversation


def refill_of(row: Handoff, **more: Any) -> RefillRequest:
    prescription = Prescription.objects.select_related("patient").first()
    assert prescription is not None
    return RefillRequest.objects.create(
        number=str(uuid4()), patient=prescription.patient, prescription=prescription, quantity=1, days_supply=1,
        order_key=str(uuid4()), requested_by="system", handoff=row, **more,
    )  # fmt: skip


# -- Kinds -------------------------------------------------------------------------------------------------------
def test_each_kind_goes_after_its_days_and_what_is_waited_for_stays(demo: None, settings: Any) -> None:
    before = AuditEvent.objects.count()
    young, old = timedelta(hours=1), LONG_AGO
    kept = [notification(state, old) for state in ("pending", "sending", "failed")]
    kept += [notification("sent", young), notification("discarded", young), challenge(young)]
    gone = [notification("sent", old), notification("discarded", old), challenge(old)]
    open_one = handoff(None)
    waiting, over = handoff(old), handoff(old)
    refill_of(waiting, outcome=None, is_confirmed=True, state="Escalate_Handoff")
    done = refill_of(over, outcome="dispensed", state="Refill_Dispensed", fulfilment="collected")
    kept += [open_one, waiting, handoff(young)]
    gone += [over]
    held, left = talk(old), talk(old)
    Handoff.objects.filter(pk=open_one.pk).update(conversation_id=held.pk)
    gone += [left, toolcall(old)]
    run = Run.objects.create(conversation=held, input_seq=1)
    kept += [held, talk(young), toolcall(young), toolcall(old, run)]
    key_issue(name="shop", scopes=["tools"])
    call = IdempotentCall.objects.create(api_key=ApiKey.objects.get(), key="k", fingerprint="f", body="{}")
    IdempotentCall.objects.filter(pk=call.pk).update(created_at=timezone.now() - old)
    gone += [call]
    now = timezone.now()
    gone += [Session.objects.create(session_key="old", session_data="", expire_date=now - old)]
    kept += [Session.objects.create(session_key="new", session_data="", expire_date=now + young)]

    def there(rows: list[Any]) -> list[Any]:
        return [row for row in rows if type(row)._default_manager.filter(pk=row.pk).exists()]

    told = counts(dry_run=True)
    assert there(gone) == gone and AuditEvent.objects.filter(what="retention_applied").count() == 0
    removed = counts()
    assert there(gone) == [] and there(kept) == kept
    assert removed == told
    assert removed == {
        "conversations": 1, "notifications": 2, "challenges": 1, "handoffs": 1, "tool_calls": 1,
        "idempotent_calls": 1, "unanswered_questions": 0, "sessions": 1,
    }  # fmt: skip
    done.refresh_from_db()
    assert done.handoff_id is None
    line = AuditEvent.objects.get(what="retention_applied")
    assert (line.who, line.where) == ("system", "test")
    assert line.detail == {name: count for name, count in removed.items() if count}
    assert AuditEvent.objects.count() > before and audit_verify() is None
    assert set(counts().values()) == {0}
    assert AuditEvent.objects.filter(what="retention_applied").count() == 1, (
        "nothing removed, nothing recorded"
    )


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_days_of_each_kind_are_a_setting(kind: retention.Kind, settings: Any) -> None:
    setattr(settings, kind.setting, 12)
    assert kind.days == 12


def test_days_decide(db: None, settings: Any) -> None:
    settings.RETENTION_NOTIFICATIONS_DAYS = 10
    row = notification("sent", timedelta(days=9))
    assert counts()["notifications"] == 0
    settings.RETENTION_NOTIFICATIONS_DAYS = 8
    assert counts()["notifications"] == 1 and not Notification.objects.filter(pk=row.pk).exists()


def test_batches_remove_everything(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "AT_ONCE", 3)
    for _ in range(10):
        toolcall(LONG_AGO)
    assert counts()["tool_calls"] == 10 and not ToolCall.objects.exists()


def test_a_refill_in_progress_keeps_its_conversation(demo: None) -> None:
    conversation = talk(LONG_AGO)
    row = handoff(LONG_AGO)
    request = refill_of(row, outcome=None, state="Backend_Check", conversation_id=conversation.pk)
    assert counts()["conversations"] == 0
    RefillRequest.objects.filter(pk=request.pk).update(outcome="cancelled")
    assert counts()["conversations"] == 1


def test_beat_runs_it(db: None) -> None:
    toolcall(LONG_AGO)
    names = {entry["task"] for entry in site_settings.CELERY_BEAT_SCHEDULE.values()}
    assert tasks.retention_run.name in names
    tasks.retention_run()
    assert AuditEvent.objects.get(what="retention_applied").where == "beat"


def test_the_command_reports_each_kind(db: None) -> None:
    toolcall(LONG_AGO)
    out = StringIO()
    call_command("apply_retention", dry_run=True, stdout=out)
    assert "tool_calls: 1 to be removed, older than 30 days" in out.getvalue()
    assert ToolCall.objects.exists()
    out = StringIO()
    call_command("apply_retention", stdout=out)
    assert "tool_calls: 1 removed, older than 30 days" in out.getvalue()
    assert "audit_lines: 0 to be removed" in out.getvalue()
    assert not ToolCall.objects.exists()


# -- The audit log -----------------------------------------------------------------------------------------------
def lines(count: int, days_ago: int) -> None:
    with time_machine.travel(timezone.now() - timedelta(days=days_ago), tick=False):
        for number in range(count):
            audit_record(who="user:1", what="stock_changed", where="admin", detail={"number": number})


@pytest.fixture
def aged(db: None) -> None:
    lines(6, 3_000)
    lines(4, 10)
    assert audit_verify() is None


def run_audit() -> str:
    out = StringIO()
    call_command("apply_retention", audit=True, stdout=out)
    return out.getvalue()


def raw(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in (
            *append_only.drop_sql(connection.vendor, TABLE),
            *statements,
            *append_only.create_sql(connection.vendor, TABLE),
        ):
            cursor.execute(statement)


def test_old_lines_go_and_the_rest_proves_itself(aged: None, settings: Any, tmp_path: Path) -> None:
    settings.AUDIT_ANCHOR = str(tmp_path / "anchors.jsonl")
    audit_anchor(always=True)
    assert "audit_lines: 6 to be removed" in dry()
    assert AuditEvent.objects.count() == 10
    assert "audit_lines: 6 removed, older than 2192 days" in run_audit()
    assert list(AuditEvent.objects.order_by("number").values_list("number", flat=True))[:2] == [7, 8]
    cut = AuditEvent.objects.get(what="audit_cut")
    assert cut.number == 11 and cut.detail["through"] == 6
    assert audit_verify() is None
    newest = anchors_read()[-1]
    assert newest.count == 11 and newest.hash == cut.hash == AuditHead.objects.get().hash
    out = StringIO()
    call_command("verify_audit", stdout=out)
    assert "begins at line 7" in out.getvalue()
    audit_record(who="user:1", what="x", where="y")
    assert audit_verify() is None
    assert "audit_lines: 0 removed" in run_audit()
    # The log is protected again.
    with pytest.raises(Exception, match="append-only"):
        AuditEvent.objects.filter(number=7).delete()


def dry() -> str:
    out = StringIO()
    call_command("apply_retention", audit=True, dry_run=True, stdout=out)
    return out.getvalue()


def test_it_is_removed_in_parts_and_again_later(aged: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prescriptions.audit.cutting.AT_ONCE", 4)
    assert audit_cut() == 6
    assert AuditEvent.objects.filter(what="audit_cut").count() == 2
    assert audit_verify() is None
    with time_machine.travel(timezone.now() + timedelta(days=2_500)):
        lines(2, 1)
        assert audit_cut() == 6, "the four younger lines and the two of the first removal"
        assert audit_verify() is None


def test_of_a_log_of_old_lines_those_stay_that_say_what_was_removed(db: None) -> None:
    lines(3, 3_000)
    assert audit_cut() == 3
    assert set(AuditEvent.objects.values_list("what", flat=True)) == {"audit_cut"}
    assert audit_verify() is None


def test_without_the_option_and_after_a_break_nothing_is_removed(aged: None) -> None:
    call_command("apply_retention", stdout=StringIO())
    assert AuditEvent.objects.count() == 10
    raw(f"UPDATE {TABLE} SET who = 'user:2' WHERE number = 8")
    with pytest.raises(CommandError, match="not as it was written"):
        run_audit()
    assert AuditEvent.objects.count() == 10


MISSING = AuditBreak(1, None, "missing")


def test_lines_that_only_somebody_deleted_are_missing(aged: None) -> None:
    raw(f"DELETE FROM {TABLE} WHERE number <= 6")
    assert audit_verify() == MISSING


def test_more_lines_than_were_past_their_time_are_missing(aged: None) -> None:
    audit_cut()
    raw(f"DELETE FROM {TABLE} WHERE number <= 8")
    assert audit_verify() == MISSING


def test_a_line_that_allows_it_cannot_be_made_without_the_key(aged: None) -> None:
    last = AuditEvent.objects.get(number=8)
    raw(
        f'UPDATE {TABLE} SET what = \'audit_cut\', detail = \'{{"through": 8, "hash": "{last.hash}"}}\' WHERE number = 10',
        f"DELETE FROM {TABLE} WHERE number <= 8",
    )
    broken = audit_verify()
    assert broken is not None and broken.number == 10 and broken.kind == "changed"


def test_an_anchor_of_the_last_removed_line_must_agree(aged: None, settings: Any, tmp_path: Path) -> None:
    settings.AUDIT_ANCHOR = str(tmp_path / "anchors.jsonl")
    audit_anchor(always=True)
    audit_cut()
    assert audit_verify() is None
    # As if another chain had been anchored at the line behind which this one begins.
    other = anchors.Anchor(timezone.now().isoformat(), 6, "0" * 64)
    with Path(settings.AUDIT_ANCHOR).open("a") as file:
        file.write(f"{anchors._written(other)}\n")
    assert audit_verify() == MISSING


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="roles are PostgreSQL's")
def test_the_sites_role_cannot_shorten_the_log(aged: None) -> None:
    script = Path(__file__).resolve().parents[2] / "docs" / "site_role.sql"
    with connection.cursor() as cursor:
        cursor.execute(
            "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'pharmacy_site') "
            "THEN CREATE ROLE pharmacy_site; END IF; END $$"
        )
        cursor.execute(script.read_text())
        cursor.execute("SET LOCAL ROLE pharmacy_site")
        with pytest.raises(CommandError, match="tables' owner"):
            run_audit()
        assert AuditEvent.objects.count() == 10 and audit_verify() is None
        cursor.execute("RESET ROLE")


def test_patients_of_removed_lines_are_not_touched(aged: None, demo: None) -> None:
    before = Patient.objects.count()
    audit_cut()
    assert Patient.objects.count() == before
