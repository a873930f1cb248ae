"""Attacks on the audit log by whoever can change the database, also as its owner, but has no key: all are found.

Each is plain SQL, with the plain SHA-256 that everybody can compute.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from datetime import UTC, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from pharmacy_site.lib import append_only
from prescriptions.audit import audit_record, audit_verify
from prescriptions.audit.anchors import AnchorsUnreadable, anchors_read, audit_anchor
from prescriptions.audit.seals import HASHED_FIELDS
from prescriptions.errors import AuditHeadForged, AuditHeadMissing
from prescriptions.models import AuditEvent, AuditHead

TABLE, HEAD = "prescriptions_auditevent", "prescriptions_audithead"


def record(count: int = 1) -> None:
    for number in range(count):
        audit_record(who="user:1", what="stock_changed", where="admin", detail={"number": number})


def sql(*statements: str) -> list[Any]:
    """Runs statements as the tables' owner, with the triggers out of the way; returns the last one's rows."""
    rows: list[Any] = []
    with connection.cursor() as cursor:
        for statement in append_only.drop_sql(connection.vendor, TABLE):
            cursor.execute(statement)
        for statement in statements:
            cursor.execute(statement)
            rows = cursor.fetchall() if cursor.description else []
        for statement in append_only.create_sql(connection.vendor, TABLE):
            cursor.execute(statement)
    return rows


def hash_at(number: int) -> str:
    return str(sql(f"SELECT hash FROM {TABLE} WHERE number = {number}")[0][0])


def head_row() -> tuple[Any, ...]:
    return tuple(sql(f"SELECT count, hash, key_id, seal FROM {HEAD}")[0])


def head_put_back(row: tuple[Any, ...]) -> None:
    count, last, key_id, seal = row
    sql(
        f"UPDATE {HEAD} SET count = {count}, hash = '{last}', key_id = '{key_id}', seal = '{seal}'",
        f"DELETE FROM {TABLE} WHERE number > {count}",
    )


def plain_hash(event: AuditEvent, previous: str) -> str:
    """The hash of lines as they were before there were keys."""
    line = {name: getattr(event, name) for name in HASHED_FIELDS}
    line["at"] = event.at.astimezone(UTC).isoformat(timespec="microseconds")
    text = json.dumps({**line, "previous": previous}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def rewrite(first: int, key_id: str | None, who: str = "user:2") -> None:
    """Gives the lines from `first` on to another person, and makes the chain and the head fit again."""
    previous = hash_at(first - 1) if first > 1 else ""
    key = "NULL" if key_id is None else f"'{key_id}'"
    for event in AuditEvent.objects.filter(number__gte=first).order_by("number"):
        event.who = who
        mine = plain_hash(event, previous)
        sql(
            f"UPDATE {TABLE} SET who = '{who}', previous_hash = '{previous}', hash = '{mine}', key_id = {key} "
            f"WHERE number = {event.number}"
        )
        previous = mine
    sql(f"UPDATE {HEAD} SET hash = '{previous}'")


def cut_and_rewind() -> None:
    sql(
        f"UPDATE {HEAD} SET count = 7, hash = (SELECT hash FROM {TABLE} WHERE number = 7)",
        f"DELETE FROM {TABLE} WHERE number > 7",
    )


def empty_and_reset() -> None:
    sql(f"DELETE FROM {TABLE}", f"UPDATE {HEAD} SET count = 0, hash = ''")


def empty_and_pretend_new() -> None:
    sql(f"DELETE FROM {TABLE}", f"UPDATE {HEAD} SET count = 0, hash = '', key_id = '', seal = ''")


def delete_both() -> None:
    sql(f"DELETE FROM {TABLE}", f"DELETE FROM {HEAD}")


def rewrite_as_unkeyed() -> None:
    rewrite(5, None)


def rewrite_whole_as_unkeyed() -> None:
    rewrite(1, None)


def rewrite_under_the_key() -> None:
    rewrite(5, AuditEvent.objects.get(number=5).key_id)


def rewrite_under_a_key_of_my_own() -> None:
    rewrite(5, "0123456789ab")


def append_a_line() -> None:
    """A line that nobody wrote, behind the last one."""
    event = AuditEvent.objects.get(number=10)
    event.number, event.who = 11, "user:2"
    mine = plain_hash(event, event.hash)
    sql(
        f'INSERT INTO {TABLE} (number, at, who, what, "where", why, how, detail, previous_hash, hash, key_id) '
        f"SELECT 11, at, 'user:2', what, \"where\", why, how, detail, hash, '{mine}', key_id "
        f"FROM {TABLE} WHERE number = 10",
        f"UPDATE {HEAD} SET count = 11, hash = '{mine}'",
    )


ATTACKS: list[tuple[Callable[[], None], int, str]] = [
    (cut_and_rewind, 7, "head"),
    (empty_and_reset, 0, "head"),
    (empty_and_pretend_new, 0, "head"),
    (delete_both, 0, "head"),
    (rewrite_as_unkeyed, 5, "unkeyed"),
    (rewrite_whole_as_unkeyed, 10, "head"),
    (rewrite_under_the_key, 5, "changed"),
    (rewrite_under_a_key_of_my_own, 5, "key"),
    (append_a_line, 11, "changed"),
]


@pytest.mark.parametrize(("attack", "number", "kind"), ATTACKS, ids=[row[0].__name__ for row in ATTACKS])
def test_an_attack_without_the_key_is_found(
    db: None, attack: Callable[[], None], number: int, kind: str
) -> None:
    record(10)
    assert audit_verify() is None
    attack()
    found = audit_verify()
    assert found is not None
    assert (found.number, found.kind) == (number, kind)
    with pytest.raises(CommandError, match=f"line {number}") as refused:
        call_command("verify_audit")
    assert refused.value.returncode == 1


@pytest.mark.parametrize("attack", [cut_and_rewind, empty_and_reset, empty_and_pretend_new])
def test_the_site_does_not_seal_a_rewound_head_by_writing_on(db: None, attack: Callable[[], None]) -> None:
    record(10)
    attack()
    with pytest.raises(AuditHeadForged):
        record()
    assert audit_verify() is not None


def test_the_site_does_not_begin_another_log_where_one_was_deleted(db: None) -> None:
    record(3)
    delete_both()
    with pytest.raises(AuditHeadMissing):
        record()
    assert audit_verify() is not None


# -- Keys ------------------------------------------------------------------------------------------------------
def test_lines_under_an_older_key_still_verify(db: None, settings: Any) -> None:
    settings.AUDIT_KEY, settings.AUDIT_KEYS_OLD = "first key of this test, long enough", [settings.AUDIT_KEY]
    record(3)
    settings.AUDIT_KEYS_OLD, settings.AUDIT_KEY = (
        [*settings.AUDIT_KEYS_OLD, settings.AUDIT_KEY],
        "second key of this test, long enough",
    )
    record(2)
    assert audit_verify() is None
    assert len(set(AuditEvent.objects.values_list("key_id", flat=True))) == 2
    settings.AUDIT_KEYS_OLD = []
    found = audit_verify()
    assert found is not None
    assert (found.number, found.kind) == (1, "key")


def test_nothing_is_written_behind_a_head_whose_key_is_unknown(db: None, settings: Any) -> None:
    record()
    settings.AUDIT_KEY, settings.AUDIT_KEYS_OLD = "another installation's key, long enough", []
    with pytest.raises(AuditHeadForged):
        record()


# -- A log from before there were keys ---------------------------------------------------------------------------
def old_log(lines: int) -> None:
    """The log as the release before left it: plain hashes, no seal."""
    record(lines)
    rewrite(1, None, "user:1")
    sql(f"UPDATE {HEAD} SET key_id = '', seal = ''")


def migrate() -> None:
    module = import_module("prescriptions.migrations.0013_audit_keys")
    with connection.schema_editor() as editor:
        module.seal(apps, editor)


def test_an_older_log_is_sealed_when_it_is_migrated(transactional_db: None) -> None:
    old_log(4)
    migrate()
    assert audit_verify() is None
    boundary = AuditEvent.objects.get(number=5)
    assert (boundary.what, boundary.key_id is None) == ("audit_keyed", False)
    record(2)
    assert audit_verify() is None
    rewrite(2, None)
    assert audit_verify() is not None


def test_the_older_part_cannot_be_rewritten_with_plain_hashes(transactional_db: None) -> None:
    old_log(4)
    migrate()
    record(2)
    last = hash_at(4)
    boundary = list(
        AuditEvent.objects.filter(number__gte=5).order_by("number").values("number", "hash", "key_id")
    )
    rewrite(2, None)
    for row in boundary:  # what nobody without the key can make anew stays as it was
        sql(
            f"UPDATE {TABLE} SET who = 'system', key_id = '{row['key_id']}', hash = '{row['hash']}' WHERE number = {row['number']}"
        )
    assert hash_at(4) != last
    found = audit_verify()
    assert found is not None
    assert (found.number, found.kind) == (5, "changed")


def test_an_empty_log_is_sealed_without_a_line(transactional_db: None) -> None:
    sql(f"UPDATE {HEAD} SET key_id = '', seal = ''")
    migrate()
    assert audit_verify() is None
    assert AuditEvent.objects.count() == 0


# -- Anchors -----------------------------------------------------------------------------------------------------
@pytest.fixture(params=["file", "object store"])
def anchored(request: pytest.FixtureRequest, settings: Any, tmp_path: Path) -> Iterator[Path]:
    """A log whose head is written outside the database: to a file, or to an object store."""
    if request.param == "file":
        settings.AUDIT_ANCHOR = str(tmp_path / "anchors.jsonl")
        yield tmp_path
        return
    from obstore.store import LocalStore

    from prescriptions.audit import anchors

    # The same calls as for s3://; a folder stands for the bucket.
    settings.AUDIT_ANCHOR = "s3://bucket/anchors"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(anchors, "_object_store", lambda url: LocalStore(tmp_path))
        yield tmp_path


def an_hour_passes() -> Any:
    return time_machine.travel(timezone.now() + timedelta(minutes=61), tick=True)


def test_replayed_heads_are_found_by_the_anchor(db: None, anchored: Path) -> None:
    """An attacker who watched can put an older head back with its true seal; the anchor remembers."""
    genesis = head_row()
    record(5)
    older = head_row()
    record(5)
    assert audit_anchor() is not None
    assert audit_verify() is None
    whole = list(AuditEvent.objects.order_by("number"))
    head_put_back(older)
    found = audit_verify()
    assert found is not None
    assert (found.number, found.kind) == (6, "truncated")
    # The site writes on, as after a crash: the chain is whole, and the anchored line another one.
    record(6)
    found = audit_verify()
    assert found is not None
    assert (found.number, found.kind) == (10, "anchor")
    head_put_back(genesis)
    found = audit_verify()
    assert found is not None
    assert (found.number, found.kind) == (1, "truncated")
    assert len(whole) == 10


def test_an_anchor_is_written_every_hour_and_only_when_the_log_has_grown(db: None, anchored: Path) -> None:
    record(2)
    assert audit_anchor() is not None
    record()
    assert audit_anchor() is None
    with an_hour_passes():
        second = audit_anchor()
        assert second is not None
        assert second.count == 3
        assert audit_anchor() is None
    assert [anchor.count for anchor in anchors_read()] == [2, 3]


def test_lines_that_nobody_anchors_are_reported(db: None, anchored: Path) -> None:
    record(2)
    assert audit_anchor() is not None
    record()
    assert audit_verify() is None
    with time_machine.travel(timezone.now() + timedelta(minutes=121), tick=True):
        found = audit_verify()
    assert found is not None
    assert (found.number, found.kind) == (3, "late")


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_forged_anchor_proves_nothing(db: None, anchored: Path) -> None:
    record(3)
    audit_anchor()
    (file,) = _files(anchored)
    file.write_text(file.read_text().replace('"count": 3', '"count": 1'))
    with pytest.raises(AnchorsUnreadable):
        anchors_read()
    found = audit_verify()
    assert found is not None
    assert found.kind == "anchor"


def test_anchors_that_cannot_be_read_fail_the_check(db: None, settings: Any, tmp_path: Path) -> None:
    record()
    settings.AUDIT_ANCHOR = str(tmp_path)  # a folder
    found = audit_verify()
    assert found is not None
    assert found.kind == "anchor"
    with pytest.raises(CommandError, match="not written: IsADirectoryError"):
        call_command("anchor_audit")


def test_a_forged_head_is_not_anchored(db: None, anchored: Path, caplog: pytest.LogCaptureFixture) -> None:
    record(10)
    cut_and_rewind()
    assert audit_anchor() is None
    assert "not anchored" in caplog.text
    assert _files(anchored) == []


def test_a_log_that_was_restored_on_purpose_verifies_again(db: None, anchored: Path) -> None:
    record(5)
    backup = head_row()
    audit_anchor()
    record(5)
    with an_hour_passes():
        audit_anchor()
        head_put_back(backup)
        assert audit_verify() is not None
        call_command("anchor_audit", "--restored")
        assert audit_verify() is None
        assert AuditEvent.objects.get(number=6).what == "audit_restored"
        # What was anchored of the restored part still counts.
        rewrite(2, None)
        assert audit_verify() is not None


def test_the_file_of_anchors_is_its_owners_only(db: None, settings: Any, tmp_path: Path) -> None:
    settings.AUDIT_ANCHOR = f"file://{tmp_path}/anchors.jsonl"
    record()
    audit_anchor()
    assert (tmp_path / "anchors.jsonl").stat().st_mode & 0o777 == 0o600


def test_the_head_is_still_one_row(db: None) -> None:
    record(2)
    assert AuditHead.objects.count() == 1
