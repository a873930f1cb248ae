"""Write the head of the audit log to a place outside the database every hour, and read it back for the check.

An anchor is one JSON object: {"v": 1, "at": ISO time in UTC, "count": lines, "hash": of the last line, "restored": bool,
"key": key id, "seal": hex}. In a file each is a line, appended and never rewritten; in an object store each is an object
of its own, made only if there is none of that name. The seal needs a key that is not in the database either.
"""

import fcntl
import json
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from django.conf import settings
from django.utils import timezone

from pharmacy_site.lib.errors import PharmacyError
from prescriptions.audit import seals
from prescriptions.audit.log import head_check
from prescriptions.errors import AuditHeadForged, AuditHeadMissing
from prescriptions.models import AuditHead

EVERY: Final = timedelta(hours=1)
# A line that no anchor covers by then is reported.
LATE: Final = timedelta(hours=2)
_READERS: Final = 16
log = logging.getLogger(__name__)


class AnchorsUnreadable(PharmacyError):
    """The anchors cannot be read, or one of them is not as it was written."""


@dataclass(frozen=True)
class Anchor:
    """The head of the log at a time; `restored` when the log was then put back to an earlier state on purpose."""

    at: str
    count: int
    hash: str
    restored: bool = False

    @property
    def time(self) -> datetime:
        """Return when it was written."""
        return datetime.fromisoformat(self.at)


def audit_anchor(*, restored: bool = False, always: bool = False) -> Anchor | None:
    """Write an anchor when the last one is an hour old and the log has grown since; return it, else None.

    Safe to call from several processes. A forged head is not anchored, which is logged as an error. `always` writes one
    in any case. Raises AnchorsUnreadable.
    """
    if not settings.AUDIT_ANCHOR:
        return None
    head = AuditHead.objects.filter(pk=1).first()
    try:
        if head is None:
            raise AuditHeadMissing
        head_check(head)
    except (AuditHeadForged, AuditHeadMissing):
        log.error("the audit log was not anchored: its head is not as it was written")
        return None
    store = _store()
    now = timezone.now().astimezone(UTC)
    newest = None if always else _newest(store, now)
    if newest and (newest.time > now - EVERY or newest.count == head.count):
        return None
    anchor = Anchor(now.isoformat(timespec="microseconds"), head.count, head.hash, restored)
    try:
        store.add(_name(anchor), _written(anchor))
    except Exception as error:
        raise AnchorsUnreadable from error
    return anchor


def anchors_read() -> list[Anchor]:
    """Return all anchors that count, the oldest first; none without `AUDIT_ANCHOR`. Raises AnchorsUnreadable.

    Where the log was restored to an earlier state, those that were written of later states before do not count.
    """
    if not settings.AUDIT_ANCHOR:
        return []
    counting: list[Anchor] = []
    for anchor in _all(_store()):
        if anchor.restored:
            counting = [earlier for earlier in counting if earlier.count < anchor.count]
        counting.append(anchor)
    return counting


class _Store(Protocol):
    def all(self) -> list[str]: ...
    def since(self, name: str) -> list[str]: ...
    def add(self, name: str, text: str) -> None: ...


class _File:
    """One anchor a line. The folder must be there; on Linux `chattr +a` keeps even its owner from rewriting it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def all(self) -> list[str]:
        return self._path.read_text().splitlines() if self._path.exists() else []

    def since(self, name: str) -> list[str]:
        return self.all()[-1:]

    def add(self, name: str, text: str) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.write(descriptor, f"{text}\n".encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class _ObjectStore:
    """One anchor an object, whose name begins with its time; the credentials are those of the store's own variables."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def all(self) -> list[str]:
        return self._texts(None)

    def since(self, name: str) -> list[str]:
        return self._texts(name)

    def add(self, name: str, text: str) -> None:
        self._store.put(name, text.encode(), mode="create")

    def _texts(self, after: str | None) -> list[str]:
        names = sorted(item["path"] for page in self._store.list(offset=after) for item in page)
        with ThreadPoolExecutor(_READERS) as readers:
            return list(readers.map(self._text, names))

    def _text(self, name: str) -> str:
        return bytes(self._store.get(name).bytes()).decode()


def _store() -> _Store:
    """Return where the anchors are. Raises AnchorsUnreadable."""
    where = settings.AUDIT_ANCHOR
    if "://" not in where:
        return _File(Path(where))
    if where.startswith("file://"):
        return _File(Path(urlsplit(where).path))
    try:
        return _ObjectStore(_object_store(where))
    except Exception as error:
        raise AnchorsUnreadable from error


def _object_store(url: str) -> Any:
    # Not above: it is used only with the setting.
    from obstore.store import from_url

    return from_url(url)


def _newest(store: _Store, now: datetime) -> Anchor | None:
    """Return the newest anchor of a file, or of the last two hours in an object store."""
    found = _parsed(store, lambda: store.since(_stamp(now - LATE)))
    return found[-1] if found else None


def _all(store: _Store) -> list[Anchor]:
    return _parsed(store, store.all)


def _parsed(store: _Store, read: Any) -> list[Anchor]:
    try:
        return [_read(text) for text in read()]
    except Exception as error:
        # Whatever it is: what cannot be read proves nothing.
        raise AnchorsUnreadable from error


def _stamp(at: datetime) -> str:
    return at.strftime("%Y%m%dT%H%M%S.%fZ")


def _name(anchor: Anchor) -> str:
    return f"{_stamp(anchor.time)}-{anchor.count:012d}.json"


def _written(anchor: Anchor) -> str:
    key_id = seals.current_key()
    fields = {"v": 1, **asdict(anchor)}
    return json.dumps({**fields, "key": key_id, "seal": seals.anchor_seal(fields, key_id)})


def _read(text: str) -> Anchor:
    """Return an anchor. Raises ValueError, KeyError or TypeError for one that is not as it was written."""
    fields = json.loads(text)
    key_id, seal = fields.pop("key"), fields.pop("seal")
    if not seals.is_same(seal, seals.anchor_seal(fields, key_id)):
        raise ValueError("forged")
    return Anchor(at=fields["at"], count=fields["count"], hash=fields["hash"], restored=fields["restored"])
