"""Who saw a patient is found without reading the whole log (PostgreSQL), and completely on both databases."""

import re
from typing import Any

import pytest
from django.db import connection

from benchmarks import audit_log
from prescriptions.audit import audit_verify
from prescriptions.audit.reading import lines_about
from prescriptions.models import AuditEvent

LINES = 20_000 if connection.vendor == "postgresql" else 500
# Of a list before lists named their patients, and of one whose rows are not patients.
OLDER = {"what": "patient_listed", "detail": {"rows": [7]}}
NO_PATIENTS = {"what": "refill_listed", "detail": {"rows": [7], "patients": [8]}}


@pytest.fixture
def log(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_log, "PATIENTS", 2_000 if LINES > 1_000 else 100)
    audit_log.fill(LINES)
    last = AuditEvent.objects.latest("number")
    for number, more in enumerate((OLDER, NO_PATIENTS), last.number + 1):
        AuditEvent.objects.create(number=number, at=last.at, who="user:1", where="admin", hash="x", **more)


def holds(line: AuditEvent, patient: int) -> bool:
    detail: dict[str, Any] = line.detail
    older = line.what == "patient_listed" and patient in detail.get("rows", [])
    return line.patient_id == patient or patient in detail.get("patients", []) or older


def test_all_lines_about_a_patient_are_found(log: None) -> None:
    for patient in (7, 8, 99):
        expected = {line.pk for line in AuditEvent.objects.all() if holds(line, patient)}
        found = lines_about(AuditEvent.objects.all(), patient)
        assert len(expected) > 10 and set(found.values_list("pk", flat=True)) == expected


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no index on the members of a list")
def test_the_log_is_not_read_from_end_to_end(log: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE prescriptions_auditevent")
    lines = lines_about(AuditEvent.objects.all(), 7)
    for plan in (lines.order_by("-number")[:100].explain(), lines.order_by().explain()):
        assert "Seq Scan" not in plan and "Index Scan Backward" not in plan, plan
        used = set(re.findall(r"Bitmap Index Scan on (\w+)", plan))
        assert {"prescriptions_auditevent_patients", "prescriptions_auditevent_rows"} <= used, plan
    with audit_log.without_indexes():
        assert "Scan on prescriptions_auditevent" in lines.order_by().explain()


def test_the_index_changes_nothing_that_is_hashed(db: None) -> None:
    audit_log.fill(200)
    assert audit_verify() is None
