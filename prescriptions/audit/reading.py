"""Read the audit log: the lines about one patient, and lines as rows of a table for export."""

import csv
import json
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from django.db import connection
from django.db.models import BooleanField, Q, QuerySet
from django.db.models.expressions import RawSQL

from prescriptions.audit.wording import worded
from prescriptions.models import AuditEvent

COLUMNS: Final = (
    *("number", "at", "who", "name", "role_today", "what", "in_words"),
    *("where", "why", "how", "mrn", "detail", "hash"),
)
_BATCH: Final = 500
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def lines_about(lines: QuerySet[AuditEvent], patient: int) -> QuerySet[AuditEvent]:
    """Return the lines about a patient (by key): what was done with their data, and lists in which they were.

    On PostgreSQL they are found by the indexes of migration 0016; SQLite reads the whole log.
    """
    if connection.vendor != "postgresql":
        listed, older = Q(_holds("patients", patient)), Q(what="patient_listed") & Q(_holds("rows", patient))
        return lines.filter(Q(patient_id=patient) | listed | older)
    every = AuditEvent.objects.order_by().values("pk")
    # Each part by its index: for one condition of all three, newest first, the planner would go through the log from its end.
    found = every.filter(patient_id=patient).union(
        every.filter(detail__patients__contains=[patient]),
        every.filter(what="patient_listed", detail__rows__contains=[patient]),
    )
    return lines.filter(pk__in=found)


def exported(lines: QuerySet[AuditEvent]) -> Iterator[str]:
    """Yield lines as CSV in UTF-8 with a mark at its beginning, the oldest first; no cell is a formula."""
    writer = csv.writer(_Echo())
    yield "\ufeff" + writer.writerow(COLUMNS)
    rows = lines.order_by("number").iterator(chunk_size=_BATCH)
    while batch := list(islice(rows, _BATCH)):
        words = worded(batch)
        for row in batch:
            said = words[row.pk]
            cells = [
                *(row.number, row.at.isoformat(), row.who, said.who, said.role, row.what, said.what),
                *(row.where, row.why, row.how, said.mrn, json.dumps(row.detail, sort_keys=True), row.hash),
            ]
            yield writer.writerow([_plain(str(cell)) for cell in cells])


class _Echo:
    """A file that returns what is written to it, which a CSV writer passes on."""

    def write(self, text: str) -> str:
        return text


def _plain(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def _holds(key: str, value: int) -> Any:
    """Return the condition, for SQLite, that a list in the detail holds a number."""
    sql = f"EXISTS (SELECT 1 FROM json_each(prescriptions_auditevent.detail, '$.{key}') WHERE value = %s)"
    return RawSQL(sql, [value], output_field=BooleanField())
