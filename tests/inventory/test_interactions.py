"""Taking products together: by ingredient, worst level, and what nobody assessed."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from inventory.interactions import interactions_check
from inventory.models import Ingredient, Interaction, Medication, MedicationIngredient

pytestmark = pytest.mark.django_db


def ingredient(key: str, *, assessed: bool = True) -> Ingredient:
    row, _ = Ingredient.objects.get_or_create(
        key=key, defaults={"name_en": key.title(), "assessed": assessed}
    )
    return row


def product(name: str, *keys: str) -> Medication:
    medication = Medication.objects.create(name_en=name, form="tablet")
    for place, key in enumerate(keys):
        MedicationIngredient.objects.create(medication=medication, ingredient=ingredient(key), position=place)
    return medication


def listed(a: str, b: str, level: str, text: str = "") -> None:
    low, high = sorted((ingredient(a), ingredient(b)), key=lambda row: row.pk)
    Interaction.objects.create(ingredient_a=low, ingredient_b=high, level=level, source_text=text)


@pytest.fixture(autouse=True)
def pairs_on_file(db: None) -> None:
    listed("warfarin", "ibuprofen", "avoid", "bleeding")
    listed("aspirin", "ibuprofen", "caution")
    listed("warfarin", "aspirin", "caution")


def test_every_brand_of_an_ingredient_has_its_interactions_in_the_given_order() -> None:
    advil, coumadin = product("Advil", "ibuprofen"), product("Coumadin", "warfarin")
    for asked in ([advil, coumadin], [coumadin, advil]):
        report = interactions_check(asked)
        assert report.level == "avoid"
        assert [(pair.a, pair.b, pair.level, pair.kind) for pair in report.pairs] == [
            (*asked, "avoid", "listed")
        ]
        assert {one.key for one in report.pairs[0].ingredients} == {"ibuprofen", "warfarin"}
        assert report.pairs[0].source_text == "bleeding"
        assert report.unassessed == []


def test_the_report_has_the_worst_level_of_its_pairs() -> None:
    advil, coumadin, aspirin = (
        product("Advil", "ibuprofen"),
        product("Coumadin", "warfarin"),
        product("A", "aspirin"),
    )
    report = interactions_check([aspirin, advil, coumadin])
    assert report.level == "avoid"
    assert [(pair.a.name_en, pair.b.name_en, pair.level) for pair in report.pairs] == [
        ("A", "Advil", "caution"),
        ("A", "Coumadin", "caution"),
        ("Advil", "Coumadin", "avoid"),
    ]


def test_without_a_listed_pair_the_level_is_none() -> None:
    report = interactions_check([product("Zyrtec", "cetirizine"), product("Advil", "ibuprofen")])
    assert (report.level, report.pairs, report.unassessed) == ("none", [], [])


def test_the_same_ingredient_in_two_products_is_a_caution() -> None:
    report = interactions_check([product("Advil", "ibuprofen"), product("Nurofen", "ibuprofen")])
    assert [(pair.level, pair.kind) for pair in report.pairs] == [("caution", "same_ingredient")]
    assert [one.key for one in report.pairs[0].ingredients] == ["ibuprofen"]


def test_two_products_give_one_pair_with_the_worse_reason() -> None:
    both = product("Both", "ibuprofen", "warfarin")
    report = interactions_check([both, product("Advil", "ibuprofen")])
    assert [(pair.level, pair.kind) for pair in report.pairs] == [("avoid", "listed")]
    other = product("Other", "ibuprofen", "paracetamol")
    report = interactions_check([other, product("Painkiller", "aspirin", "paracetamol")])
    assert [(pair.level, pair.kind) for pair in report.pairs] == [("caution", "same_ingredient")]


def test_a_product_given_twice_counts_once() -> None:
    advil = product("Advil", "ibuprofen")
    report = interactions_check([advil, Medication.objects.get(pk=advil.pk)])
    assert (report.level, report.pairs) == ("none", [])


def test_unassessed_ingredients_are_listed_beside_the_pairs() -> None:
    ingredient("novelty", assessed=False)
    new, bare = product("New", "ibuprofen", "novelty"), product("Bare")
    report = interactions_check([product("Coumadin", "warfarin"), new, bare])
    assert report.level == "avoid"
    assert [(medication.name_en, one and one.key) for medication, one in report.unassessed] == [
        ("New", "novelty"),
        ("Bare", None),
    ]


def test_a_check_takes_two_queries_for_any_number_of_products() -> None:
    products = [product(f"Product {number}", f"substance {number}", "ibuprofen") for number in range(12)]
    with CaptureQueriesContext(connection) as queries:
        report = interactions_check(products)
    assert len(report.pairs) == 66
    assert len(queries) == 2
