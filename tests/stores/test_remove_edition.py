"""Migration 0003 from an installed database: the triggers of the removed cache are gone, and rows can be written."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from served_site import empty_database

from stores.models import Store

SQLITE = """CREATE TRIGGER stores_store_edition_update AFTER UPDATE ON stores_store
BEGIN DELETE FROM stores_edition; INSERT INTO stores_edition (stamp) VALUES (lower(hex(randomblob(16)))); END"""
POSTGRESQL = """CREATE OR REPLACE FUNCTION pharmacy_renew_edition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO stores_edition (stamp) VALUES (gen_random_uuid()); RETURN NULL; END $$;
CREATE TRIGGER stores_store_edition AFTER UPDATE ON stores_store
FOR EACH STATEMENT EXECUTE FUNCTION pharmacy_renew_edition()"""
LEFT = {
    "sqlite": "SELECT name FROM sqlite_master WHERE sql LIKE '%stores_edition%'",
    "postgresql": "SELECT tgname FROM pg_trigger WHERE tgname LIKE '%edition%' "
    "UNION SELECT proname FROM pg_proc WHERE proname = 'pharmacy_renew_edition' "
    "UNION SELECT relname FROM pg_class WHERE relname = 'stores_edition'",
}


@pytest.fixture
def older(tmp_path: Path, django_db_setup: None, django_db_blocker: Any) -> Iterator[BaseDatabaseWrapper]:
    """A connection to an empty database of its own."""
    with django_db_blocker.unblock(), empty_database("older", tmp_path) as name:
        options = {key: value for key, value in connection.settings_dict["OPTIONS"].items() if key != "pool"}
        connections.settings["older"] = connection.settings_dict | {"NAME": name, "OPTIONS": options}
        try:
            yield connections["older"]
        finally:
            connections["older"].close()
            del connections["older"], connections.settings["older"]


def migrate(older: BaseDatabaseWrapper, name: str) -> None:
    """Migrate the stores up to this migration, without those of other apps."""
    MigrationExecutor(older).migrate([("stores", name)])


def test_the_triggers_of_an_installed_database_are_dropped_with_their_table(
    older: BaseDatabaseWrapper,
) -> None:
    stores = Store.objects.using("older")
    migrate(older, "0002_edition")
    stores.bulk_create([Store(id=7, name_en="Old")])
    with older.cursor() as cursor:
        cursor.execute(SQLITE if older.vendor == "sqlite" else POSTGRESQL)
        stores.update(name_en="Newer")
        cursor.execute("SELECT COUNT(*) FROM stores_edition")
        assert cursor.fetchone() == (1,)
    migrate(older, "0003_remove_edition")
    with older.cursor() as cursor:
        cursor.execute(LEFT[older.vendor])
        assert cursor.fetchall() == []
    stores.update(name_en="New")
    assert stores.get().name_en == "New"
