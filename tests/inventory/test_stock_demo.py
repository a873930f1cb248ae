"""The demo's inventory: what the specification's examples rely on, and loading it again."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import timezone

from inventory import demo
from inventory.equivalents import equivalents_find
from inventory.interactions import interactions_check
from inventory.models import Ingredient, Interaction, LeafletSection, Medication, StockLevel, StockMove
from inventory.services import stock_set
from inventory.stock import totals
from pharmacy_site.lib.yaml_files import yaml_read
from stores.models import Store

FIXTURES = Path(settings.BASE_DIR) / "fixtures"

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def loaded(db: None) -> None:
    for entry in yaml_read(FIXTURES / "demo" / "stores.yaml"):
        Store.objects.create(
            id=entry["id"],
            name_en=entry["name"]["en"],
            kind=entry["kind"],
            lat=entry["lat"],
            lng=entry["lng"],
        )
    demo.load(FIXTURES)


def test_products_have_the_numbers_names_and_stock_of_the_specification() -> None:
    amoxicillin = Medication.objects.get(pk=2)
    assert (amoxicillin.name_en, amoxicillin.name_he, amoxicillin.strength) == (
        "Amoxicillin",
        "אמוקסיצילין",
        "500 mg",
    )
    level = StockLevel.objects.get(store_id=1, medication=amoxicillin)
    assert (level.quantity, level.restock_on) == (0, timezone.localdate() + timedelta(days=14))
    assert totals([1, 2, 5, 7, 13]) == {1: 158, 2: 0, 5: 208, 7: 0, 13: 1}
    assert Medication.objects.get(pk=13).strength == "875 mg + 125 mg"
    assert not Ingredient.objects.filter(assessed=False).exists()


def test_no_other_product_is_equivalent_to_the_first_thirteen() -> None:
    found = {
        pk: {entry.medication.pk for entry in equivalents_find(Medication.objects.get(pk=pk))}
        for pk in (7, 3)
    }
    assert found == {7: {1, 8, 9}, 3: {11}}


def test_interactions_are_those_of_the_specification() -> None:
    by_name = {medication.name_en: medication for medication in Medication.objects.all()}
    report = interactions_check([by_name["Warfarin"], by_name["Nurofen"], by_name["Cetirizine"]])
    assert (report.level, len(report.pairs), report.unassessed) == ("avoid", 1, [])
    assert Interaction.objects.count() == 18


def test_loading_again_changes_nothing_and_keeps_the_staffs_counts() -> None:
    stock_set(
        store=Store.objects.get(pk=101),
        medication=Medication.objects.get(pk=1),
        quantity=42,
        actor="dana",
        reason="count",
    )
    models = (Medication, StockLevel, StockMove, LeafletSection, Interaction, Ingredient)
    before = [list(model._default_manager.order_by("pk").values_list()) for model in models]
    demo.load(FIXTURES)
    assert [list(model._default_manager.order_by("pk").values_list()) for model in models] == before
    assert StockLevel.objects.get(store_id=101, medication_id=1).quantity == 42


def test_every_level_has_its_movement() -> None:
    assert StockMove.objects.filter(reason="demo").count() == StockLevel.objects.count()


def test_the_next_product_gets_an_unused_id() -> None:
    assert Medication.objects.create(name_en="New", form="tablet").pk > 31


def test_loading_is_refused_when_a_register_has_taken_the_ids() -> None:
    Medication.objects.filter(pk=1).update(external_id="00559407")
    with pytest.raises(demo.DemoConflict):
        demo.load(FIXTURES)
