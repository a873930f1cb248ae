"""The audit log: who did what, where, why and how; append-only, and chained so that tampering shows.

Each line's hash covers its fields and the hash of the line before; the head holds the length and the last
hash. An altered, removed or moved line breaks the chain at its place, and a cut-off tail no longer meets
the head. Lines hold ids and codes only: no name, contact, identifier or sentence of a customer, which
`audit_record` enforces.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

from django.db import transaction
from django.utils import timezone

from prescriptions.errors import AuditHeadMissing
from prescriptions.models import AuditEvent, AuditHead, Patient

# Letters, digits and the joints of ids, codes and paths. No blank, no "@": a name or a contact does not fit.
_CODE: Final = re.compile(r"[A-Za-z0-9_.:/+-]{0,100}")
_NO_CODE: Final = re.compile(r"[^A-Za-z0-9_.:/+-]")
_HASHED: Final = ("number", "at", "who", "what", "where", "why", "how", "patient_id", "detail")
_PAGE: Final = 2_000

BreakKind = Literal["missing", "changed", "truncated", "head"]


@dataclass(frozen=True)
class Access:
    """Who reads a person's data, and through which door; every such read takes one and is recorded.

    `who` is "chat:<conversation>", "user:<id>", "key:<id>" or "system"; `where` the door
    ("tool:prescription_verify", "admin"); `why` a code. All are codes without blanks.
    """

    who: str
    where: str
    why: str = ""


@dataclass(frozen=True)
class AuditBreak:
    """The first place at which the log is not what was written."""

    number: int
    event_id: int | None
    kind: BreakKind


def audit_lock() -> AuditHead:
    """Hold the log's head until the transaction ends: from here on, those who record are taken one at a time.

    On SQLite the transaction itself (IMMEDIATE) is that lock. Take it late: everybody else who records waits.
    """
    heads = AuditHead.objects.select_for_update().filter(pk=1)
    head = heads.first()
    if head is None and not AuditEvent.objects.exists():
        AuditHead.objects.get_or_create(pk=1)
    if head is None:
        # Read again: whoever wrote the first event meanwhile committed the head with it.
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
    detail: Mapping[str, Any] | None = None,
) -> AuditEvent:
    """Append one line in the caller's transaction; ValueError for anything that is no id or code.

    `detail` holds strings of that kind, integers, booleans, None, and lists and objects of these (no
    floats: they do not come back from every database as they went in).
    """
    for name, value in (("who", who), ("what", what), ("where", where), ("why", why), ("how", how)):
        _check_code(value, name)
    kept = dict(detail or {})
    _check_detail(kept, "detail")
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
            detail=kept,
            previous_hash=head.hash,
        )
        event.hash = _seal({name: getattr(event, name) for name in _HASHED}, head.hash)
        event.save(force_insert=True)
        moved = AuditHead.objects.filter(pk=1, count=head.count, hash=head.hash).update(
            count=event.number, hash=event.hash
        )
        if not moved:  # only where the lock did not hold; the transaction must not leave a fork
            raise AuditHeadMissing
    return event


def audit_verify() -> AuditBreak | None:
    """Walk the whole log and return the first break, or None when it is as it was written."""
    columns = ("id", "previous_hash", "hash", *_HASHED)
    expected, last_hash = 0, ""
    for row in AuditEvent.objects.order_by("number").values_list(*columns).iterator(chunk_size=_PAGE):
        event_id, previous_hash, stored_hash = row[:3]
        fields = dict(zip(_HASHED, row[3:], strict=True))
        expected += 1
        if fields["number"] != expected:
            return AuditBreak(expected, None, "missing")
        if previous_hash != last_hash or stored_hash != _seal(fields, last_hash):
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


def on_stock_changed(sender: object, level: Any, move: Any, **kwargs: object) -> None:
    """Record a stock level that staff changed; imports and demo data leave only their movement."""
    if not move.actor.startswith("user:"):
        return
    audit_record(
        who=_NO_CODE.sub("_", move.actor)[:100],  # an actor may be written with a user's name
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


def _seal(fields: Mapping[str, Any], previous_hash: str) -> str:
    at: datetime = fields["at"]
    line = {**fields, "at": at.astimezone(UTC).isoformat(timespec="microseconds"), "previous": previous_hash}
    text = json.dumps(line, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
