"""The database role of the documented installation: it writes the audit log, and can do nothing else to it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps
from django.db import DatabaseError, connection, transaction

from pharmacy_site.lib import append_only
from prescriptions.audit import audit_record, audit_verify
from prescriptions.models import AuditEvent

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "site_role.sql"
TABLE, HEAD = "prescriptions_auditevent", "prescriptions_audithead"
pytestmark = pytest.mark.skipif("connection.vendor != 'postgresql'", reason="roles are PostgreSQL's")


@pytest.fixture
def as_site(db: None) -> Iterator[None]:
    """The rest of the test's transaction in the role that the script makes; all of it is rolled back."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'pharmacy_site') "
            "THEN CREATE ROLE pharmacy_site; END IF; END $$"
        )
        for _ in range(2):  # it may be run again
            cursor.execute(SCRIPT.read_text())
        cursor.execute("SET LOCAL ROLE pharmacy_site")
        yield
        cursor.execute("RESET ROLE")


ATTACKS = {
    "update": f"UPDATE {TABLE} SET who = 'x'",
    "update nothing": f"UPDATE {TABLE} SET who = who WHERE number = 99",
    "delete": f"DELETE FROM {TABLE} WHERE number > 2",
    "truncate": f"TRUNCATE {TABLE}",
    "disable user triggers": f"ALTER TABLE {TABLE} DISABLE TRIGGER USER",
    "drop a trigger": append_only.drop_sql("postgresql", TABLE)[0],
    "replace the trigger's function": append_only.create_sql("postgresql", TABLE)[0],
    "drop the log": f"DROP TABLE {TABLE} CASCADE",
    "rename the log": f"ALTER TABLE {TABLE} RENAME TO away",
    "drop a column": f"ALTER TABLE {TABLE} DROP COLUMN who",
    "a trigger of my own": f"CREATE TRIGGER mine BEFORE INSERT ON {TABLE} FOR EACH ROW EXECUTE FUNCTION pharmacy_refuse_change()",
    "a rule": f"CREATE RULE mine AS ON INSERT TO {TABLE} DO INSTEAD NOTHING",
    "replica": "SET session_replication_role = replica",
    "delete the head": f"DELETE FROM {HEAD}",
    "another head": f"INSERT INTO {HEAD} (id, count, hash, key_id, seal) VALUES (2, 0, '', '', '')",
    "take it over": f"ALTER TABLE {TABLE} OWNER TO pharmacy_site",
    "grant": f"DO $$ BEGIN GRANT UPDATE ON {TABLE} TO pharmacy_site; "
    f"EXECUTE 'UPDATE {TABLE} SET who = who'; END $$",
    "stock movements": "DELETE FROM inventory_stockmove",
    "steps of refills": "UPDATE prescriptions_refilltransition SET actor = 'x'",
    "forget a migration": "DELETE FROM django_migrations",
    "a table": "CREATE TABLE public.mine (id int)",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_role_cannot_touch_the_log(as_site: None, attack: str) -> None:
    audit_record(who="user:1", what="x", where="y")
    audit_record(who="user:1", what="x", where="y")
    with pytest.raises(DatabaseError), transaction.atomic():
        connection.cursor().execute(ATTACKS[attack])
    assert AuditEvent.objects.count() == 2
    assert audit_verify() is None


def test_the_role_owns_nothing_and_can_use_every_table(as_site: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_class WHERE relowner = 'pharmacy_site'::regrole")
        assert cursor.fetchone() == (0,)
        for model in apps.get_models(include_auto_created=True):
            table = model._meta.db_table
            cursor.execute(
                "SELECT has_table_privilege(%s, 'SELECT'), has_table_privilege(%s, 'DELETE')", [table, table]
            )
            may_read, may_delete = cursor.fetchone()
            assert may_read, table
            protected = {TABLE, HEAD, "inventory_stockmove", "prescriptions_refilltransition"}
            assert may_delete == (table not in protected), table


def test_every_append_only_table_is_in_the_script(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT tgrelid::regclass::text FROM pg_trigger JOIN pg_proc ON tgfoid = pg_proc.oid "
            "WHERE proname = 'pharmacy_refuse_change'"
        )
        tables = {row[0] for row in cursor.fetchall()}
    assert TABLE in tables
    for table in tables:
        assert table in SCRIPT.read_text(), table
