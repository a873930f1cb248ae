"""Write the audit log: who did what, where, why and how. Append-only, with a chain of keyed hashes against tampering.

Each line's hash covers its fields and the hash of the line before; the head row stores the number of lines and the
last hash, under a seal. A changed, removed or moved line breaks the chain at its place, and a truncated log no longer
matches the head, which nobody can rewind without the key. Lines contain ids and codes only, never a name, contact, identifier or sentence of a customer: `audit_record`
refuses these.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.db import transaction
from django.utils import timezone

from prescriptions.audit import seals
from prescriptions.errors import AuditHeadForged, AuditHeadMissing
from prescriptions.models import AuditEvent, AuditHead, Patient

# Letters, digits and the punctuation of ids, codes and paths. No blank and no "@", so no name or contact matches.
_CODE: Final = re.compile(r"[A-Za-z0-9_.:/+-]{0,100}")

AuditValue = str | int | None | Sequence["AuditValue"] | Mapping[str, "AuditValue"]
AuditDetail = Mapping[str, AuditValue]
"""Further ids and codes of a line: texts without blanks, integers, booleans, None, and lists and objects of these."""


@dataclass(frozen=True)
class Access:
    """Who reads a person's data and through what; every read of such data takes an Access and is recorded.

    `who` is "chat:<conversation>", "user:<id>", "key:<id>" or "system"; `where` the entry point
    ("tool:prescription_verify", "admin"); `why` a code. None contains a blank.
    """

    who: str
    where: str
    why: str = ""


def audit_lock() -> AuditHead:
    """Lock the head row until the transaction ends, so that audit writes happen one at a time.

    On SQLite the transaction itself (IMMEDIATE) is the lock. Take it late: all other audit writes wait for it. Raises
    AuditHeadMissing.
    """
    head = AuditHead.objects.select_for_update().filter(pk=1).first()
    if head is None:
        # Never made anew: that would begin another log in the place of one that was emptied.
        raise AuditHeadMissing
    return head


def head_check(head: AuditHead) -> None:
    """Raise AuditHeadForged unless the head is as it was written: a new line would seal what somebody rewound."""
    if not seals.is_known(head.key_id) or not seals.is_same(
        head.seal, seals.head_seal(head.count, head.hash, head.key_id)
    ):
        raise AuditHeadForged


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

    Raises AuditHeadMissing and AuditHeadForged: nothing is recorded behind a head that somebody changed. `detail` has no floats: not every database returns them exactly as they were stored.
    """
    for name, value in (("who", who), ("what", what), ("where", where), ("why", why), ("how", how)):
        _check_code(value, name)
    checked = dict(detail or {})
    _check_detail(checked, "detail")
    with transaction.atomic():
        head = audit_lock()
        head_check(head)
        key_id = seals.current_key()
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
            key_id=key_id,
            previous_hash=head.hash,
        )
        fields = {name: getattr(event, name) for name in seals.HASHED_FIELDS}
        event.hash = seals.line_hash(fields, head.hash, key_id)
        event.save(force_insert=True)
        moved = AuditHead.objects.filter(pk=1, count=head.count, hash=head.hash).update(
            count=event.number,
            hash=event.hash,
            key_id=key_id,
            seal=seals.head_seal(event.number, event.hash, key_id),
        )
        if not moved:
            # Only if the lock did not hold; roll back, or the chain would fork.
            raise AuditHeadMissing
    return event


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
