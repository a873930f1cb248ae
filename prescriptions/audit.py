"""Write and verify the audit log: who did what, where, why and how. Append-only, with a hash chain against tampering.

Each line's hash covers its fields and the hash of the line before; the head row stores the number of lines and the
last hash. A changed, removed or moved line breaks the chain at its place, and a truncated log no longer matches the
head. Lines contain ids and codes only, never a name, contact, identifier or sentence of a customer: `audit_record`
refuses these.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

from django.db import transaction
from django.utils import timezone

from inventory.models import StockLevel, StockMove
from prescriptions.errors import AuditHeadMissing
from prescriptions.models import AuditEvent, AuditHead, Patient

# Letters, digits and the punctuation of ids, codes and paths. No blank and no "@", so no name or contact matches.
_CODE: Final = re.compile(r"[A-Za-z0-9_.:/+-]{0,100}")
_NO_CODE: Final = re.compile(r"[^A-Za-z0-9_.:/+-]")
HASHED_FIELDS: Final = ("number", "at", "who", "what", "where", "why", "how", "patient_id", "detail")
_PAGE: Final = 2_000

AuditValue = str | int | None | Sequence["AuditValue"] | Mapping[str, "AuditValue"]
AuditDetail = Mapping[str, AuditValue]
"""Further ids and codes of a line: texts without blanks, integers, booleans, None, and lists and objects of these."""

BreakKind = Literal["missing", "changed", "truncated", "head"]


@dataclass(frozen=True)
class Access:
    """Who reads a person's data and through what; every read of such data takes an Access and is recorded.

    `who` is "chat:<conversation>", "user:<id>", "key:<id>" or "system"; `where` the entry point
    ("tool:prescription_verify", "admin"); `why` a code. None contains a blank.
    """

    who: str
    where: str
    why: str = ""


@dataclass(frozen=True)
class AuditBreak:
    """The first line at which the log differs from what was written."""

    number: int
    event_id: int | None
    kind: BreakKind


def audit_lock() -> AuditHead:
    """Lock the head row until the transaction ends, so that audit writes happen one at a time.

    On SQLite the transaction itself (IMMEDIATE) is the lock. Take it late: all other audit writes wait for it.
    """
    heads = AuditHead.objects.select_for_update().filter(pk=1)
    head = heads.first()
    if head is None and not AuditEvent.objects.exists():
        AuditHead.objects.get_or_create(pk=1)
    if head is None:
        # Read again: another process may have written the first event meanwhile, together with the head.
        head = heads.first()
    if head is None:
        raise AuditHeadMissing
    return head


def audit_record(
    *,
    who: str,
    what: str,
    where: str,
    why: str = "",
    how: str = "",
    patient: Patient | None = None,
    detail: AuditDetail | None = None,
) -> AuditEvent:
    """Append one line in the caller's transaction; ValueError for any text that is not an id or a code.

    `detail` has no floats: not every database returns them exactly as they were stored.
    """
    for name, value in (("who", who), ("what", what), ("where", where), ("why", why), ("how", how)):
        _check_code(value, name)
    checked = dict(detail or {})
    _check_detail(checked, "detail")
    with transaction.atomic():
        head = audit_lock()
        event = AuditEvent(
            number=head.count + 1,
            at=timezone.now(),
            who=who,
            what=what,
            where=where,
            why=why,
            how=how,
            patient_id=None if patient is None else patient.pk,
            detail=checked,
            previous_hash=head.hash,
        )
        event.hash = line_hash({name: getattr(event, name) for name in HASHED_FIELDS}, head.hash)
        event.save(force_insert=True)
        moved = AuditHead.objects.filter(pk=1, count=head.count, hash=head.hash).update(
            count=event.number, hash=event.hash
        )
        if not moved:
            # Only if the lock did not hold; roll back, or the chain would fork.
            raise AuditHeadMissing
    return event


def audit_verify() -> AuditBreak | None:
    """Check the hash of every line and return the first break, or None if the log is as it was written."""
    columns = ("id", "previous_hash", "hash", *HASHED_FIELDS)
    expected, last_hash = 0, ""
    for row in AuditEvent.objects.order_by("number").values_list(*columns).iterator(chunk_size=_PAGE):
        event_id, previous_hash, stored_hash = row[:3]
        fields = dict(zip(HASHED_FIELDS, row[3:], strict=True))
        expected += 1
        if fields["number"] != expected:
            return AuditBreak(expected, None, "missing")
        if previous_hash != last_hash or stored_hash != line_hash(fields, last_hash):
            return AuditBreak(expected, event_id, "changed")
        last_hash = stored_hash
    head = AuditHead.objects.filter(pk=1).first()
    if head is None:
        return AuditBreak(0, None, "head") if expected else None
    if head.count > expected:
        return AuditBreak(expected + 1, None, "truncated")
    if (head.count, head.hash) != (expected, last_hash):
        return AuditBreak(expected, None, "head")
    return None


def line_hash(fields: Mapping[str, Any], previous_hash: str) -> str:
    """Return the hash of a line's fields and the hash of the line before."""
    at: datetime = fields["at"]
    line = {**fields, "at": at.astimezone(UTC).isoformat(timespec="microseconds"), "previous": previous_hash}
    text = json.dumps(line, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def on_stock_changed(sender: object, level: StockLevel, move: StockMove, **kwargs: object) -> None:
    """Record a stock change by staff; imports and demo data only write their movement."""
    if not move.actor.startswith("user:"):
        return
    audit_record(
        # An actor may contain a user's name.
        who=_NO_CODE.sub("_", move.actor)[:100],
        what="stock_changed",
        where="admin",
        why=move.reason,
        detail={
            "move": move.pk,
            "store": move.store_id,
            "medication": move.medication_id,
            "delta": move.delta,
            "quantity": move.quantity_after,
        },
    )


def _check_code(value: str, name: str) -> None:
    if not _CODE.fullmatch(value):
        raise ValueError(f"audit: {name} must be an id or a code")


def _check_detail(value: object, name: str) -> None:
    """Raise ValueError unless a detail consists of codes, integers, booleans and None."""
    if isinstance(value, str):
        _check_code(value, name)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_code(key, name)
            _check_detail(item, name)
    elif isinstance(value, list):
        for item in value:
            _check_detail(item, name)
    elif not (value is None or isinstance(value, int)):
        raise ValueError(f"audit: {name} must hold ids and codes")
