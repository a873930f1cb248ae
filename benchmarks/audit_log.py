"""The audit log at 100,000 lines: the daily check, the writing of lines, and "who saw this patient"."""

import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from statistics import median
from typing import Any

from benchmarks.databases import Databases
from benchmarks.measure import SEED, percentile, ratio

TITLE = "The audit log, 100,000 lines"
NOTES = (
    "check: `audit_verify`, as once a day; baseline, in turns with it: the same rows read and not hashed. record: `audit_record`,",
    "each line in a transaction of its own; all writers wait for one another, since each line covers the one before.",
    "who saw this patient: the first 100 lines about a patient and their number, as the page asks. One line in ten is a list of 50",
    "of 2,000 patients. Without indexes: the same query after the two indexes on lists were dropped (PostgreSQL; SQLite has none).",
)
LINES, PATIENTS, LISTED = 100_000, 2_000, 50
CHECKS, RECORDED, LOOK_UPS = 3, 2_000, 40
THREADS = (1, 8)
_BATCH = 5_000


def measure(own: Databases) -> list[dict[str, Any]]:
    """Return a row for each thing that is measured."""
    import django

    django.setup()
    fill(LINES)
    rows = [*_checks(), *(_recorded(threads) for threads in THREADS), _looked_up("who saw this patient")]
    if own.vendor == "postgresql":
        with without_indexes():
            rows.append(_looked_up("the same without indexes"))
    return [{"database": own.vendor, **row} for row in rows]


def fill(count: int) -> None:
    """Append so many lines as `audit_record` would have written them, in few statements."""
    from django.db import connection
    from django.utils import timezone

    from prescriptions.audit import seals
    from prescriptions.models import AuditEvent, AuditHead

    chance = random.Random(SEED)
    head, key_id = AuditHead.objects.get(pk=1), seals.current_key()
    began = timezone.now() - timedelta(days=1)
    last = head.hash
    while count:
        batch = []
        for _ in range(min(count, _BATCH)):
            event = AuditEvent(
                number=head.count + 1,
                at=began + timedelta(milliseconds=head.count),
                key_id=key_id,
                previous_hash=last,
                **_line(chance),
            )
            fields = {name: getattr(event, name) for name in seals.HASHED_FIELDS}
            event.hash = last = seals.line_hash(fields, last, key_id)
            head.count += 1
            batch.append(event)
        AuditEvent.objects.bulk_create(batch)
        count -= len(batch)
    AuditHead.objects.filter(pk=1).update(
        count=head.count, hash=last, key_id=key_id, seal=seals.head_seal(head.count, last, key_id)
    )
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE prescriptions_auditevent")


def _line(chance: random.Random) -> dict[str, Any]:
    who = f"user:{chance.randrange(1, 40)}"
    if chance.random() < 0.1:
        listed = sorted(chance.sample(range(1, PATIENTS), LISTED))
        detail = {"rows": listed, "patients": listed}
        return {"who": who, "what": "patient_listed", "where": "admin", "detail": detail}
    patient = chance.randrange(1, PATIENTS)
    return {"who": who, "what": "patient_viewed", "where": "admin", "patient_id": patient, "detail": {}}


def _checks() -> list[dict[str, Any]]:
    ours, bare = [], []
    for _ in range(CHECKS):
        ours.append(_seconds(_check))
        bare.append(_seconds(_read))
    return [
        {"what": "check of the whole log", "ms": 1000 * median(ours), "lines/s": LINES / median(ours),
         "× reading": ratio(ours, bare)},
        {"what": "reading of the same rows", "ms": 1000 * median(bare), "lines/s": LINES / median(bare)},
    ]  # fmt: skip


def _check() -> None:
    from prescriptions.audit import audit_verify

    broken = audit_verify()
    if broken:
        raise SystemExit(f"the log is broken: {broken}")


def _read() -> None:
    from prescriptions.audit.seals import HASHED_FIELDS
    from prescriptions.models import AuditEvent

    rows = AuditEvent.objects.order_by("number").values_list("id", "hash", "previous_hash", *HASHED_FIELDS)
    for _row in rows.iterator(chunk_size=2_000):
        pass


def _recorded(threads: int) -> dict[str, Any]:
    """Record lines in so many threads; how many were written in a second, and how long one took."""
    from django.db import connections

    from prescriptions.audit import audit_record

    def work(number: int) -> list[float]:
        try:
            return [
                _seconds(lambda: audit_record(who=f"user:{number}", what="patient_viewed", where="admin"))
                for _ in range(RECORDED // threads)
            ]
        finally:
            connections.close_all()

    began = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        each = [seconds for done in pool.map(work, range(threads)) for seconds in done]
    wall = time.perf_counter() - began
    return {
        "what": f"record, {threads} thread{'s' if threads > 1 else ''}",
        "lines/s": len(each) / wall,
        "p50 ms": 1000 * percentile(each, 0.5),
        "p99 ms": 1000 * percentile(each, 0.99),
    }


def _looked_up(what: str) -> dict[str, Any]:
    from prescriptions.audit.reading import lines_about
    from prescriptions.models import AuditEvent

    chance, each, found = random.Random(SEED), [], 0
    for _ in range(LOOK_UPS):
        lines = lines_about(AuditEvent.objects.all(), chance.randrange(1, PATIENTS))
        began = time.perf_counter()
        found += len(lines.order_by("-number")[:100]) and lines.count()
        each.append(time.perf_counter() - began)
    if not found:
        raise SystemExit("nobody saw a patient")
    return {
        "what": what,
        "p50 ms": 1000 * percentile(each, 0.5),
        "p99 ms": 1000 * percentile(each, 0.99),
    }


@contextmanager
def without_indexes() -> Iterator[None]:
    """Leave the indexes on lists out for as long as the block runs (PostgreSQL)."""
    from django.db import connection, transaction

    with transaction.atomic(), connection.cursor() as cursor:
        for name in ("patients", "rows"):
            cursor.execute(f"DROP INDEX prescriptions_auditevent_{name}")
        yield
        transaction.set_rollback(True)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
