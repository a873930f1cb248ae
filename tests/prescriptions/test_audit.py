"""The audit log: what is recorded, what the database refuses, and that tampering shows at its place."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.db.models import F

from inventory.models import Medication
from inventory.services import stock_set
from pharmacy_site.lib import append_only
from prescriptions.audit import AuditBreak, audit_record, audit_verify, seals
from prescriptions.errors import AuditHeadMissing
from prescriptions.models import AuditEvent, AuditHead, Patient
from stores.models import Store

TABLE = "prescriptions_auditevent"


def record(count: int = 1) -> None:
    for number in range(count):
        audit_record(
            who="user:1",
            what="stock_changed",
            where="admin",
            detail={"number": number, "list": [1, "a", None]},
        )


@contextmanager
def unprotected() -> Iterator[None]:
    """The table as an attacker with the owner's rights leaves it for a moment."""
    with connection.cursor() as cursor:
        for statement in append_only.drop_sql(connection.vendor, TABLE):
            cursor.execute(statement)
        yield
        for statement in append_only.create_sql(connection.vendor, TABLE):
            cursor.execute(statement)


def test_an_untouched_log_verifies(db: None) -> None:
    assert audit_verify() is None
    record(5)
    assert audit_verify() is None
    numbers = list(AuditEvent.objects.order_by("number").values_list("number", flat=True))
    assert numbers == [1, 2, 3, 4, 5]


def test_a_line_stores_all_its_fields(david: Patient) -> None:
    event = audit_record(
        who="key:1",
        what="prescriptions_read",
        where="tool:prescription_management",
        why="asked",
        how="http",
        patient=david,
        detail={"prescriptions": [1, 2]},
    )
    event.refresh_from_db()
    assert (event.who, event.what, event.why, event.how) == ("key:1", "prescriptions_read", "asked", "http")
    assert event.patient_id == david.pk
    assert event.detail == {"prescriptions": [1, 2]}
    assert audit_verify() is None


CHANGES: dict[str, Callable[[], object]] = {
    "update": lambda: AuditEvent.objects.filter(number=2).update(who="user:2"),
    "update that changes nothing": lambda: AuditEvent.objects.update(who=F("who")),
    "delete": lambda: AuditEvent.objects.filter(number=2).delete(),
    "delete all": lambda: AuditEvent.objects.all().delete(),
    "save": lambda: AuditEvent.objects.get(number=1).save(),
    "bulk_update": lambda: AuditEvent.objects.bulk_update(list(AuditEvent.objects.all()), ["who"]),
    "raw update": lambda: connection.cursor().execute(f"UPDATE {TABLE} SET who = 'x'"),
    "raw delete": lambda: connection.cursor().execute(f"DELETE FROM {TABLE}"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_database_refuses_to_change_the_log(db: None, change: str) -> None:
    record(3)
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        CHANGES[change]()
    assert audit_verify() is None
    assert AuditEvent.objects.count() == 3


def test_database_refuses_to_empty_the_log(db: None) -> None:
    verb = (
        "TRUNCATE" if connection.vendor == "postgresql" else "DELETE FROM"
    )  # SQLite's own way to empty a table
    record(3)
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        connection.cursor().execute(f"{verb} {TABLE}")
    assert AuditEvent.objects.count() == 3


def _reorder() -> None:
    AuditEvent.objects.filter(number=4).update(number=99)
    AuditEvent.objects.filter(number=5).update(number=4)
    AuditEvent.objects.filter(number=99).update(number=5)


def _swap_contents() -> None:
    fourth, fifth = AuditEvent.objects.get(number=4), AuditEvent.objects.get(number=5)
    fourth.detail, fifth.detail = fifth.detail, fourth.detail
    fourth.save()
    fifth.save()


def _forge_a_line() -> None:
    """A line whose own hash was computed anew shows at the line after it."""
    event = AuditEvent.objects.get(number=4)
    event.who = "user:2"
    event.hash = seals.line_hash(
        {name: getattr(event, name) for name in seals.HASHED_FIELDS}, event.previous_hash, event.key_id
    )
    event.save()


TAMPERS: dict[str, tuple[Callable[[], object], int, str]] = {
    "modify": (lambda: AuditEvent.objects.filter(number=4).update(who="user:2"), 4, "changed"),
    "modify the detail": (
        lambda: AuditEvent.objects.filter(number=4).update(detail={"number": 4}),
        4,
        "changed",
    ),
    "modify the time": (
        lambda: AuditEvent.objects.filter(number=4).update(at=F("at") + timedelta(seconds=1)),
        4,
        "changed",
    ),
    "modify the patient": (lambda: AuditEvent.objects.filter(number=4).update(patient_id=7), 4, "changed"),
    "modify and seal": (_forge_a_line, 5, "changed"),
    "delete": (lambda: AuditEvent.objects.filter(number=4).delete(), 4, "missing"),
    "delete the first": (lambda: AuditEvent.objects.filter(number=1).delete(), 1, "missing"),
    "reorder": (_reorder, 4, "changed"),
    "swap contents": (_swap_contents, 4, "changed"),
    "truncate the tail": (lambda: AuditEvent.objects.filter(number__gt=7).delete(), 8, "truncated"),
    "truncate everything": (lambda: AuditEvent.objects.all().delete(), 1, "truncated"),
    "remove the head": (lambda: AuditHead.objects.all().delete(), 0, "head"),
    "turn the head back": (lambda: AuditHead.objects.update(count=9), 10, "head"),
}


@pytest.mark.parametrize("tamper", TAMPERS)
def test_tampering_is_found_at_its_first_line(db: None, tamper: str) -> None:
    change, number, kind = TAMPERS[tamper]
    record(10)
    assert audit_verify() is None
    with unprotected():
        change()
    found = audit_verify()
    assert isinstance(found, AuditBreak)
    assert (found.number, found.kind) == (number, kind)
    if kind == "changed":
        assert found.event_id == AuditEvent.objects.get(number=number).pk
    with pytest.raises(CommandError, match=f"line {number}") as refused:
        call_command("verify_audit")
    assert refused.value.returncode == 1


def test_the_command_reports_an_intact_log(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    record(3)
    call_command("verify_audit")
    assert "3 lines" in capsys.readouterr().out


def test_recording_is_refused_when_the_head_is_missing(db: None) -> None:
    record(2)
    AuditHead.objects.all().delete()
    with pytest.raises(AuditHeadMissing):
        record()
    assert AuditEvent.objects.count() == 2


def test_ten_thousand_lines_verify_in_five_seconds(db: None) -> None:
    record()
    template = AuditEvent.objects.get()
    rows, last_hash, key_id = [], template.hash, seals.current_key()
    for number in range(2, 10_001):
        row = AuditEvent(
            number=number,
            at=template.at,
            who="user:1",
            what="x",
            where="y",
            previous_hash=last_hash,
            key_id=key_id,
        )
        row.hash = last_hash = seals.line_hash(
            {name: getattr(row, name) for name in seals.HASHED_FIELDS}, last_hash, key_id
        )
        rows.append(row)
    AuditEvent.objects.bulk_create(rows, batch_size=1000)
    AuditHead.objects.update(
        count=10_000, hash=last_hash, seal=seals.head_seal(10_000, last_hash, key_id), key_id=key_id
    )
    started = time.perf_counter()
    assert audit_verify() is None
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    "fields",
    [
        {"who": "David Cohen"},
        {"who": "david.cohen@example.com"},
        {"what": "read his list"},
        {"where": "דלפק"},
        {"why": "because he asked"},
        {"detail": {"text": "what prescriptions do I have"}},
        {"detail": {"nested": [{"name": "דוד"}]}},
        {"detail": {"David Cohen": 1}},
        {"detail": {"kilometres": 1.5}},
        {"who": "x" * 101},
    ],
)
def test_a_line_with_anything_but_ids_and_codes_is_refused(db: None, fields: dict[str, object]) -> None:
    given: dict[str, object] = {"who": "user:1", "what": "x", "where": "y", **fields}
    with pytest.raises(ValueError, match="audit"):
        audit_record(**given)  # type: ignore[arg-type]
    assert not AuditEvent.objects.exists()


def test_a_line_is_rolled_back_with_its_cause(db: None) -> None:
    record()

    def fail() -> None:
        with transaction.atomic():
            record()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    record()
    assert AuditEvent.objects.count() == 2
    assert audit_verify() is None


@pytest.mark.parametrize(("actor", "lines"), [("user:5", 1), ("system:import", 0)])
def test_stock_changed_by_staff_is_recorded(amoxicillin: Medication, actor: str, lines: int) -> None:
    store = Store.objects.create(pk=101, name_en="Ramat Aviv")
    stock_set(store=store, medication=amoxicillin, quantity=7, actor=actor, reason="count")
    assert AuditEvent.objects.count() == lines
    if lines:
        event = AuditEvent.objects.get()
        assert (event.who, event.what, event.why) == ("user:5", "stock_changed", "count")
        expected = {"store": 101, "medication": amoxicillin.pk, "delta": 7, "quantity": 7}
        assert expected.items() <= event.detail.items()
