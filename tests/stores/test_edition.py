"""The edition of the catalogue: whatever changes a row of it, in whatever way, no process shows the old one."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection, models, transaction

from inventory import catalog
from inventory.index import index_rebuild
from inventory.models import LeafletSection, Medication
from pharmacy_site.lib.remembered import remembering
from stores.edition import _edition, kept
from stores.models import Locality, OpeningHours, Store
from stores.places import stores_by_id

pytestmark = pytest.mark.django_db

STAMPED = [
    *("stores.Locality", "stores.Store", "stores.OpeningHours", "stores.OpeningException"),
    *("inventory.Category", "inventory.Ingredient", "inventory.Medication"),
    *("inventory.MedicationIngredient", "inventory.LeafletSection"),
]


@pytest.fixture(autouse=True)
def stamped(db: None) -> None:
    """A database that was changed at least once since it was made."""
    Locality.objects.create(slug="somewhere", name="Somewhere", lat=0, lng=0)
    assert _edition()


def name_of(pk: int) -> str:
    with remembering():
        return str(stores_by_id([pk])[pk].name_en)


WAYS: dict[str, Callable[[Store], Any]] = {
    "save": lambda store: (setattr(store, "name_en", "New"), store.save()),
    "update": lambda store: Store.objects.filter(pk=store.pk).update(name_en="New"),
    "bulk": lambda store: (
        setattr(store, "name_en", "New"),
        Store.objects.bulk_update([store], ["name_en"]),
    ),
    "upsert": lambda store: Store.objects.bulk_create(
        [Store(id=store.pk, name_en="New")],
        update_conflicts=True,
        update_fields=["name_en"],
        unique_fields=["id"],
    ),
    "plain SQL": lambda store: plain("UPDATE stores_store SET name_en = 'New' WHERE id = %s", [store.pk]),
}


def plain(statement: str, values: list[Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


@pytest.mark.parametrize("way", WAYS)
def test_a_changed_row_is_read_anew_however_it_was_changed(way: str) -> None:
    store = Store.objects.create(id=7, name_en="Old")
    assert name_of(7) == "Old"
    WAYS[way](store)
    assert name_of(7) == "New"


def test_a_row_that_is_gone_is_not_there() -> None:
    store = Store.objects.create(id=7, name_en="Old")
    assert name_of(7) == "Old"
    store.delete()
    with remembering():
        assert stores_by_id([7]) == {}


def test_what_hangs_on_a_row_is_read_anew_too() -> None:
    store = Store.objects.create(id=7, name_en="Old")

    def hours() -> list[int]:
        with remembering():
            one = stores_by_id([7])[7]
            models.prefetch_related_objects([one], "hours")
            return [row.weekday for row in one.hours.all()]

    assert hours() == []
    OpeningHours.objects.create(store=store, weekday=2, opens="09:00", closes="10:00")
    assert hours() == [2]


def test_what_was_rolled_back_is_not_shown_though_it_was_read() -> None:
    Store.objects.create(id=7, name_en="Old")
    with transaction.atomic():
        Store.objects.filter(pk=7).update(name_en="Never")
        assert name_of(7) == "Never"
        transaction.set_rollback(True)
    assert name_of(7) == "Old"
    Store.objects.filter(pk=7).update(name_en="New")
    assert name_of(7) == "New"


def test_what_stands_is_read_once(django_assert_num_queries: Any) -> None:
    Store.objects.create(id=7, name_en="Old")
    name_of(7)
    with django_assert_num_queries(1):  # the edition
        name_of(7)


def test_one_piece_of_work_sees_one_edition() -> None:
    Store.objects.create(id=7, name_en="Old")
    with remembering():
        assert stores_by_id([7])[7].name_en == "Old"
        Store.objects.filter(pk=7).update(name_en="New")
        assert name_of(7) == "New"  # another, that begins now
        assert stores_by_id([7])[7].name_en == "Old"


def test_outside_of_a_piece_of_work_nothing_is_kept() -> None:
    Store.objects.create(id=7, name_en="Old")
    first, second = stores_by_id([7])[7], stores_by_id([7])[7]
    assert first is not second


def test_without_an_edition_nothing_is_kept() -> None:
    Store.objects.create(id=7, name_en="Old")
    plain("DELETE FROM stores_edition", [])
    asked = []

    def read(ids: set[int]) -> dict[int, int]:
        asked.append(ids)
        return {pk: pk for pk in ids}

    for _ in range(2):
        with remembering():
            assert kept("numbers", [1], read) == {1: 1}
    assert asked == [{1}, {1}]


@pytest.mark.parametrize("label", STAMPED)
@pytest.mark.parametrize("verb", ["INSERT", "UPDATE", "DELETE"])
def test_every_table_of_the_catalogue_renews_the_edition(label: str, verb: str) -> None:
    table = apps.get_model(label)._meta.db_table
    if connection.vendor == "postgresql":
        found = "SELECT 1 FROM information_schema.triggers WHERE event_object_table = %s AND event_manipulation = %s"
        values = [table, verb]
    else:
        found = "SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s AND sql LIKE %s"
        values = [table, f"%AFTER {verb} ON {table} %{'stores_edition'}%"]
    with connection.cursor() as cursor:
        cursor.execute(found, values)
        assert cursor.fetchone()


def test_a_leaflet_that_changed_is_told_as_it_is_now() -> None:
    medication = Medication.objects.create(name_en="Newmed", form="tablet")
    section = LeafletSection.objects.create(medication=medication, kind="dosage", text_en="One a day.")
    index_rebuild([medication.pk])

    def told() -> str:
        with remembering():
            found = catalog.medication_resolve("newmed").medication
            models.prefetch_related_objects([found], "leaflet")
            return str(found.leaflet.all()[0].text_en)

    assert told() == "One a day."
    LeafletSection.objects.filter(pk=section.pk).update(text_en="Two a day.")
    assert told() == "Two a day."


@pytest.mark.django_db(transaction=True)
def test_a_table_that_a_migration_made_anew_renews_the_edition_again() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("only SQLite makes tables anew")
    Store.objects.create(id=7, name_en="Old")
    with connection.schema_editor() as editor:
        editor._remake_table(Store)  # type: ignore[attr-defined]
    assert name_of(7) == "Old"
    Store.objects.filter(pk=7).update(name_en="Unseen")
    assert name_of(7) == "Old"  # so it would stay, were the triggers not made again:
    call_command("migrate", verbosity=0)
    assert name_of(7) == "Unseen"
    Store.objects.filter(pk=7).update(name_en="New")
    assert name_of(7) == "New"


@pytest.mark.django_db(transaction=True)
def test_who_migrates_back_can_still_change_the_catalogue() -> None:
    try:
        call_command("migrate", "stores", "0001", verbosity=0)
        Store.objects.create(id=7, name_en="Old")
        Medication.objects.create(name_en="Newmed", form="tablet")
    finally:
        call_command("migrate", verbosity=0)
    assert name_of(7) == "Old"
    Store.objects.filter(pk=7).update(name_en="New")
    assert name_of(7) == "New"


@pytest.mark.django_db(transaction=True)
def test_two_who_change_the_catalogue_do_not_wait_for_each_other() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time")
    for pk in (7, 8):
        Store.objects.create(id=pk, name_en="Old")

    def other() -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '2s'")
            Store.objects.filter(pk=8).update(name_en="Theirs")
        finally:
            connection.close()

    before = _edition()
    with transaction.atomic():
        Store.objects.filter(pk=7).update(name_en="Ours")
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        between = name_of(8)
    assert between == "Theirs" and name_of(7) == "Ours"
    assert _edition() != before
    Store.objects.filter(pk=7).update(name_en="Again")
    assert len(_edition() or ()) == 1  # who comes later clears up


@pytest.mark.django_db(transaction=True)
def test_a_trigger_that_was_turned_off_is_mended_and_search_paths_do_not_matter() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has neither")
    Store.objects.create(id=7, name_en="Old")
    assert name_of(7) == "Old"
    plain("ALTER TABLE stores_store DISABLE TRIGGER USER", [])
    Store.objects.filter(pk=7).update(name_en="Unseen")
    call_command("migrate", verbosity=0)
    assert name_of(7) == "Unseen"
    with transaction.atomic():
        plain("SET LOCAL search_path = ''", [])
        plain("UPDATE public.stores_store SET name_en = 'New' WHERE id = 7", [])
    assert name_of(7) == "New"
