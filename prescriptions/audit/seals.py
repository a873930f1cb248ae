"""Compute the hashes of lines and the seals of the head and of anchors, with a key that is not in the database.

Whoever can change the database but has no key cannot make a line, a head or an anchor that verifies. A key is known by
its id, which is derived from it, so that lines under older keys still verify (`AUDIT_KEY`, `AUDIT_KEYS_OLD`).
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from django.conf import settings

HASHED_FIELDS: Final = ("number", "at", "who", "what", "where", "why", "how", "patient_id", "detail")
_ID_LENGTH: Final = 12


def current_key() -> str:
    """Return the id of the key that new lines are written with."""
    return _key_id(settings.AUDIT_KEY)


def is_known(key_id: str) -> bool:
    """Return whether lines under this key can be verified here."""
    return key_id in _keys(settings.AUDIT_KEY, tuple(settings.AUDIT_KEYS_OLD))


def line_hash(fields: Mapping[str, Any], previous_hash: str, key_id: str | None) -> str:
    """Return the hash of a line's fields and the hash of the line before.

    Without a key (None) it is the plain hash of lines that were written before there were keys. Raises KeyError for an
    unknown key.
    """
    at: datetime = fields["at"]
    line = {**fields, "at": at.astimezone(UTC).isoformat(timespec="microseconds"), "previous": previous_hash}
    if key_id is None:
        return hashlib.sha256(_text(line)).hexdigest()
    return _sealed(key_id, "line", _text({**line, "key": key_id}))


def head_seal(count: int, last_hash: str, key_id: str) -> str:
    """Return the seal of a head: who rewinds it needs the key. Raises KeyError for an unknown key."""
    return _sealed(key_id, "head", f"{count}:{last_hash}".encode())


def anchor_seal(anchor: Mapping[str, Any], key_id: str) -> str:
    """Return the seal of an anchor's fields. Raises KeyError for an unknown key."""
    return _sealed(key_id, "anchor", _text(anchor))


def is_same(seal: str, expected: str) -> bool:
    """Return whether two seals are the same, in a time that tells nothing about where they differ."""
    return hmac.compare_digest(seal.encode(), expected.encode())


def _sealed(key_id: str, kind: str, text: bytes) -> str:
    key = _keys(settings.AUDIT_KEY, tuple(settings.AUDIT_KEYS_OLD))[key_id]
    return hmac.digest(key, b"%s:%s" % (kind.encode(), text), "sha256").hex()


def _text(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


@lru_cache(maxsize=8)
def _keys(current: str, older: tuple[str, ...]) -> dict[str, bytes]:
    return {_key_id(secret): secret.encode() for secret in (*older, current)}


@lru_cache(maxsize=32)
def _key_id(secret: str) -> str:
    return hmac.digest(secret.encode(), b"audit key id", "sha256").hex()[:_ID_LENGTH]
