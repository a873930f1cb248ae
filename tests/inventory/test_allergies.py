"""Products are compared with allergens by ingredient, class and related class; what is not on file is said."""

from typing import Any

import pytest

from inventory.allergies import Allergen, allergen_of_class, allergens_in_products, allergies_check
from inventory.models import Ingredient, Medication, MedicationIngredient

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("demo")]
NUROFEN, AMOXICILLIN, AUGMENTIN, ASPIRIN, SULFA, THIAZIDE, CODEINE = 9, 2, 13, 20, 27, 30, 24


def _ingredient(key: str) -> Allergen:
    return Allergen(frozenset({Ingredient.objects.get(key=key).pk}))


def _kinds(medication_ids: list[int], *allergens: Allergen) -> list[tuple[int, str, str]]:
    report = allergies_check(medication_ids, allergens)
    return [(one.medication_id, one.kind, one.drug_class) for one in report.matches]


def test_the_same_ingredient_is_closer_than_a_shared_class() -> None:
    found = _kinds([NUROFEN, ASPIRIN, AMOXICILLIN], _ingredient("ibuprofen"))
    assert found == [(NUROFEN, "ingredient", ""), (ASPIRIN, "class", "nsaid")]


def test_a_class_matches_each_product_with_an_ingredient_of_it() -> None:
    found = _kinds([AMOXICILLIN, AUGMENTIN, NUROFEN], allergen_of_class("penicillin"))
    assert found == [(AMOXICILLIN, "class", "penicillin"), (AUGMENTIN, "class", "penicillin")]


@pytest.mark.parametrize(
    ("allergen", "medication_id", "drug_class"),
    [("cephalosporins", AUGMENTIN, "penicillin"), ("sulfa", THIAZIDE, "thiazide")],
)
def test_a_related_class_is_told_from_the_same(allergen: str, medication_id: int, drug_class: str) -> None:
    assert _kinds([medication_id], allergen_of_class(allergen)) == [(medication_id, "related", drug_class)]


def test_a_class_has_one_name_however_it_was_written() -> None:
    Ingredient.objects.filter(key="amoxicillin").update(classes=["Penicillins"])
    assert _kinds([AMOXICILLIN], allergen_of_class("פניצילין")) == [(AMOXICILLIN, "class", "penicillin")]
    assert allergen_of_class("sulfonamide") == allergen_of_class("sulfonamide-antibiotic")


def test_a_class_that_only_ingredients_know_can_be_checked_and_another_cannot() -> None:
    Ingredient.objects.filter(key="ibuprofen").update(classes=["Arylpropionic"])
    assert _kinds([NUROFEN], allergen_of_class("arylpropionic")) == [(NUROFEN, "class", "arylpropionic")]
    assert not allergen_of_class("latex").can_be_checked


def test_what_is_not_on_file_is_unassessed_and_never_passed_over() -> None:
    empty = Medication.objects.get(pk=NUROFEN)
    MedicationIngredient.objects.filter(medication=empty).delete()
    Ingredient.objects.filter(key="metformin").update(classes=[])
    report = allergies_check([NUROFEN, 4, AMOXICILLIN], [allergen_of_class("penicillin")])
    assert report.unassessed == [NUROFEN, 4] and [one.medication_id for one in report.matches] == [
        AMOXICILLIN
    ]
    assert allergies_check([AMOXICILLIN], [_ingredient("metformin")]).unassessed == [AMOXICILLIN]


def test_nothing_that_cannot_be_checked_matches() -> None:
    assert allergies_check([NUROFEN], [Allergen()]).unassessed == []


def test_the_name_of_an_ingredient_means_it_and_that_of_a_product_all_it_has() -> None:
    assert [one.key for one in allergens_in_products("codeine", [CODEINE])] == ["codeine"]
    assert [one.key for one in allergens_in_products("Augmentin", [AUGMENTIN])] == [
        "amoxicillin",
        "clavulanic acid",
    ]
    assert [one.key for one in allergens_in_products("some line", [AMOXICILLIN, AUGMENTIN])] == [
        "amoxicillin"
    ]


def test_two_queries_are_enough(django_assert_num_queries: Any) -> None:
    allergens = [allergen_of_class("penicillin"), _ingredient("metformin")]
    with django_assert_num_queries(2):
        allergies_check([NUROFEN, AMOXICILLIN, AUGMENTIN, ASPIRIN, SULFA], allergens)
