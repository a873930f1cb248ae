"""Check the audit log against its keys, its head and its anchors, and name the first line that is not as it was written."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from django.conf import settings
from django.db.models import Subquery
from django.utils import timezone

from prescriptions.audit import seals
from prescriptions.audit.anchors import LATE, Anchor, AnchorsUnreadable, anchors_read
from prescriptions.audit.seals import HASHED_FIELDS
from prescriptions.models import AuditEvent, AuditHead

_PAGE: Final = 2_000
CUT: Final = "audit_cut"
"""The line that proves where the log begins since older lines were removed: `through` is the last one's number, `hash` its hash."""

BreakKind = Literal["missing", "changed", "truncated", "head", "unkeyed", "key", "anchor", "late"]


@dataclass(frozen=True)
class AuditBreak:
    """The first line at which the log differs from what was written.

    `missing`: a line was removed, and none under the key says that it was past its time. `changed`: a line, or its place in the chain. `truncated`: the end was cut off.
    `head`: the head was changed or removed. `unkeyed`: a line without a key after the keys were introduced. `key`: a key
    that is not in the settings. `anchor`: the line differs from its anchor, or the anchors cannot be trusted or read.
    `late`: since this line no anchor was written for two hours.
    """

    number: int
    event_id: int | None
    kind: BreakKind


def audit_verify() -> AuditBreak | None:
    """Check every line, the head and the anchors; return the first break, or None if all is as it was written.

    The site may write meanwhile: what is appended during the check is checked as well.
    """
    try:
        anchors = anchors_read()
    except AnchorsUnreadable:
        return AuditBreak(0, None, "anchor")
    walk = _Walk(_hashes(anchors))
    while True:
        if broken := walk.onward():
            return broken
        head, last = _head()
        if head is None:
            return AuditBreak(0, None, "head")
        if last <= walk.number:
            break
    return walk.ended_by(head) or _anchors_missed(anchors, walk.number)


class _Walk:
    """A walk along the chain: the last line that was checked, and whether lines must have a key from here on."""

    def __init__(self, anchored: Mapping[int, set[str]]) -> None:
        self.number = 0
        self._hash = ""
        self._is_keyed = False
        self._anchored = anchored
        # The line before the first one, where older ones were removed, until a line proves that this was right.
        self._cut: dict[str, Any] | None = None

    def onward(self) -> AuditBreak | None:
        """Check all lines behind the last one."""
        columns = ("id", "key_id", "previous_hash", "hash", *HASHED_FIELDS)
        rows = AuditEvent.objects.filter(number__gt=self.number).order_by("number").values_list(*columns)
        for event_id, key_id, previous_hash, stored_hash, *values in rows.iterator(chunk_size=_PAGE):
            fields = dict(zip(HASHED_FIELDS, values, strict=True))
            if self.number == 0 and fields["number"] > 1:
                self._begin(fields["number"] - 1, previous_hash)
            self.number += 1
            if fields["number"] != self.number:
                return AuditBreak(self.number, None, "missing")
            if kind := self._wrong_with(fields, key_id, previous_hash, stored_hash):
                return AuditBreak(self.number, event_id, kind)
            self._hash = stored_hash
            if fields["what"] == CUT and fields["detail"] == self._cut:
                self._cut = None
        return None

    def _begin(self, number: int, last_hash: str) -> None:
        """Begin behind lines that were removed; an anchor of the last of them must agree."""
        self.number, self._hash = number, last_hash
        if self._anchored.get(number, {last_hash}) == {last_hash}:
            self._cut = {"through": number, "hash": last_hash}
        else:
            self._cut = {}

    def ended_by(self, head: AuditHead) -> AuditBreak | None:
        """Check that the chain begins where a line says, ends where the head says, and that the head is sealed."""
        if self._cut is not None:
            return AuditBreak(1, None, "missing")
        if head.count > self.number:
            return AuditBreak(self.number + 1, None, "truncated")
        if (head.count, head.hash) != (self.number, self._hash):
            return AuditBreak(self.number, None, "head")
        if not seals.is_known(head.key_id):
            return AuditBreak(self.number, None, "key" if head.key_id else "head")
        if not seals.is_same(head.seal, seals.head_seal(head.count, head.hash, head.key_id)):
            return AuditBreak(self.number, None, "head")
        if self.number and not self._is_keyed:
            # The first line with a key closes what was written before there were keys: nobody may take it away.
            return AuditBreak(self.number, None, "unkeyed")
        return None

    def _wrong_with(
        self, fields: Mapping[str, Any], key_id: str | None, previous_hash: str, stored_hash: str
    ) -> BreakKind | None:
        if key_id is None and self._is_keyed:
            return "unkeyed"
        if key_id is not None and not seals.is_known(key_id):
            return "key"
        self._is_keyed = key_id is not None
        right = seals.line_hash(fields, self._hash, key_id)
        if previous_hash != self._hash or not seals.is_same(stored_hash, right):
            return "changed"
        if self._anchored.get(self.number, {stored_hash}) != {stored_hash}:
            return "anchor"
        return None


def _head() -> tuple[AuditHead | None, int]:
    """Return the head and the number of the last line, both as of one moment."""
    newest = AuditEvent.objects.order_by("-number").values("number")[:1]
    found = AuditHead.objects.filter(pk=1).annotate(newest=Subquery(newest)).first()
    return found, (found.newest or 0) if found else 0


def _hashes(anchors: Iterable[Anchor]) -> dict[int, set[str]]:
    """Return the hash of each anchored line, by its number."""
    found: dict[int, set[str]] = {}
    for anchor in anchors:
        if anchor.count:
            found.setdefault(anchor.count, set()).add(anchor.hash)
    return found


def _anchors_missed(anchors: list[Anchor], last: int) -> AuditBreak | None:
    """Return the break of a log that is shorter than it was once, or that nobody anchors any more."""
    if not settings.AUDIT_ANCHOR:
        return None
    anchored = max((anchor.count for anchor in anchors), default=0)
    if anchored > last:
        return AuditBreak(last + 1, None, "truncated")
    waiting = AuditEvent.objects.filter(number=anchored + 1).values_list("pk", "at").first()
    if waiting and waiting[1] < timezone.now() - LATE:
        return AuditBreak(anchored + 1, waiting[0], "late")
    return None
