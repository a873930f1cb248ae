"""A restored database is the one that it was taken from: rows, counters, search indexes, and what refuses changes."""

from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import DatabaseError, connection, models, transaction
from snapshots import snapshots

from inventory.catalog import medications_search
from inventory.models import Medication, MedicationTerm, StockLevel, StockMove

pytestmark = pytest.mark.django_db(transaction=True)


def rows() -> dict[str, list[tuple[Any, ...]]]:
    """All rows, table by table, without moments and without what is drawn at random."""
    found = {}
    for model in apps.get_models(include_auto_created=True):
        fields = [
            field.attname
            for field in model._meta.concrete_fields
            if not isinstance(field, models.DateTimeField)
            and field.attname not in ("password", "token")
            # The index is inserted in the order in which the database reads its source, which may differ.
            and not (field.primary_key and model is MedicationTerm)
        ]
        found[model._meta.db_table] = sorted(model._base_manager.values_list(*fields), key=repr)
    return found


def next_key() -> int:
    """The key that a new row gets; the row stays."""
    return int(Medication.objects.create(name_en="New", form="tablet").pk)


def test_a_restored_demo_holds_what_a_fresh_load_leaves(demo_committed: None) -> None:
    restored = rows()
    snapshots.changed()
    snapshots.restore("empty")
    call_command("load_demo", verbosity=0, stdout=StringIO())
    snapshots.changed()
    fresh = rows()
    assert {table for table in fresh if fresh[table] != restored[table]} == set()
    assert len(fresh["inventory_medication"]) > 20 and fresh["inventory_searchterm"] and fresh["auth_user"]


def test_what_a_test_changed_is_gone_after_a_restore(demo_committed: None) -> None:
    before = rows()
    Medication.objects.filter(pk=1).update(name_en="Changed")
    StockLevel.objects.all().delete()
    StockMove.objects.create(
        store_id=1, medication_id=1, delta=1, quantity_after=1, reason="demo", actor="test"
    )
    snapshots.changed()
    key = next_key()
    snapshots.changed()
    snapshots.restore("demo")
    snapshots.changed()
    assert rows() == before
    assert next_key() == key


def test_after_a_restore_the_search_indexes_find_and_rows_stay_append_only(demo_committed: None) -> None:
    snapshots.changed()
    snapshots.restore("demo")
    snapshots.changed()
    assert medications_search("paracetamol")
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            # Raises when the trigrams are not those of the names.
            cursor.execute(
                "INSERT INTO inventory_searchterm_fts(inventory_searchterm_fts, rank) VALUES ('integrity-check', 1)"
            )
    for change in (lambda: StockMove.objects.update(delta=5), lambda: StockMove.objects.all().delete()):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            change()


def test_a_restore_works_after_a_test_that_migrated_back_and_forth(demo_committed: None) -> None:
    """Migrating makes the tables of the knowledge base, which hold rows, and their counters anew under the same names."""
    before = rows()
    call_command("migrate", "agent", "0012", verbosity=0)
    call_command("migrate", verbosity=0)
    snapshots.changed()
    snapshots.restore("demo")
    assert rows() == before
