"""Migration 0003 from an installed database: the triggers of the removed cache are gone, and rows can be written."""

import pytest
from django.core.management import call_command
from django.db import connection

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


@pytest.mark.django_db(transaction=True)
def test_the_triggers_of_an_installed_database_are_dropped_with_their_table() -> None:
    Store.objects.create(id=7, name_en="Old")
    try:
        call_command("migrate", "stores", "0002", verbosity=0)
        with connection.cursor() as cursor:
            cursor.execute(SQLITE if connection.vendor == "sqlite" else POSTGRESQL)
        Store.objects.filter(pk=7).update(name_en="Newer")
        with connection.cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM stores_edition")
            assert cursor.fetchone() == (1,)
    finally:
        call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute(LEFT[connection.vendor])
        assert cursor.fetchall() == []
    Store.objects.filter(pk=7).update(name_en="New")
    assert Store.objects.get(pk=7).name_en == "New"
