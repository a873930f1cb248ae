"""Products with the same ingredients, strength, form and release."""

from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from inventory.equivalents import equivalents_find
from inventory.errors import NoEquivalents
from inventory.models import Ingredient, Medication, MedicationIngredient, StockLevel
from inventory.strengths import amount_text, strength_key, strength_parse
from stores.models import Store

pytestmark = pytest.mark.django_db


def product(
    name: str, *contents: tuple[str, str], form: str = "tablet", release: str = "immediate"
) -> Medication:
    medication = Medication.objects.create(name_en=name, form=form, release=release)
    for place, (key, strength) in enumerate(contents):
        row, _ = Ingredient.objects.get_or_create(key=key, defaults={"name_en": key})
        amount, unit = strength_parse(strength) or (None, "")
        MedicationIngredient.objects.create(
            medication=medication, ingredient=row, strength=strength, amount=amount, unit=unit, position=place
        )
    return medication


def names(medication: Medication, *, strength: bool = True, form: bool = True) -> list[str]:
    found = equivalents_find(medication, require_same_strength=strength, require_same_form=form)
    return [entry.medication.name_en for entry in found]


def test_equivalents_are_other_products_stocked_first_then_by_name() -> None:
    pain_away = product("PainAway", ("ibuprofen", "200 mg"))
    for name in ("Nurofen", "IbuTabs", "Advil"):
        product(name, ("ibuprofen", "200 mg"))
    stocked = Medication.objects.get(name_en="Nurofen")
    for number in (101, 102):
        store = Store.objects.create(id=number, name_en="Branch")
        StockLevel.objects.create(store=store, medication=stocked, quantity=2)
    found = equivalents_find(pain_away, require_same_strength=True, require_same_form=True)
    assert [(entry.medication.name_en, entry.quantity) for entry in found] == [
        ("Nurofen", 4),
        ("Advil", 0),
        ("IbuTabs", 0),
    ]
    assert all(entry.same_strength and entry.same_form for entry in found)


def test_without_flags_the_set_of_ingredients_must_still_be_the_same() -> None:
    amoxicillin = product("Amoxicillin", ("amoxicillin", "875 mg"))
    augmentin = product("Augmentin", ("amoxicillin", "875 mg"), ("clavulanic acid", "125 mg"))
    for medication in (amoxicillin, augmentin):
        with pytest.raises(NoEquivalents):
            names(medication, strength=False, form=False)
    product("Clavulin", ("clavulanic acid", "125 mg"), ("amoxicillin", "875 mg"))
    assert names(augmentin) == ["Clavulin"]


def test_each_ingredient_must_have_the_same_strength_unless_the_flag_is_off() -> None:
    mine = product("Mine", ("codeine", "15 mg"), ("paracetamol", "500 mg"))
    product("Swapped", ("codeine", "500 mg"), ("paracetamol", "15 mg"))
    with pytest.raises(NoEquivalents):
        names(mine)
    found = equivalents_find(mine, require_same_strength=False, require_same_form=True)
    assert [(entry.medication.name_en, entry.same_strength, entry.same_form) for entry in found] == [
        ("Swapped", False, True)
    ]


def test_another_form_or_release_is_no_equivalent_unless_the_flag_is_off() -> None:
    metformin = product("Metformin", ("metformin", "500 mg"))
    product("Metformin XR", ("metformin", "500 mg"), release="extended")
    product("Metformin capsule", ("metformin", "500 mg"), form="capsule")
    with pytest.raises(NoEquivalents):
        names(metformin)
    found = equivalents_find(metformin, require_same_strength=True, require_same_form=False)
    assert {(entry.medication.name_en, entry.same_strength, entry.same_form) for entry in found} == {
        ("Metformin XR", True, False),
        ("Metformin capsule", True, False),
    }


def test_the_same_amount_in_another_unit_is_the_same_strength() -> None:
    syrup = product("Acamoli", ("paracetamol", "120 mg/5 mL"), form="syrup")
    product("Per millilitre", ("paracetamol", "24 mg/mL"), form="syrup")
    product("Stronger", ("paracetamol", "250 mg/5 mL"), form="syrup")
    assert names(syrup) == ["Per millilitre"]


def test_a_strength_that_is_not_a_number_never_counts_as_the_same() -> None:
    vague = product("Vague", ("dexamethasone", "see label"))
    product("Also vague", ("dexamethasone", "see label"))
    with pytest.raises(NoEquivalents):
        names(vague)
    found = equivalents_find(vague, require_same_strength=False, require_same_form=True)
    assert [(entry.medication.name_en, entry.same_strength) for entry in found] == [("Also vague", False)]


def test_inactive_products_and_products_without_ingredients_are_no_equivalents() -> None:
    mine, other = product("Mine", ("omeprazole", "20 mg")), product("Other", ("omeprazole", "20 mg"))
    Medication.objects.filter(pk=other.pk).update(is_active=False)
    with pytest.raises(NoEquivalents):
        names(mine)
    bare = product("Bare")
    product("Bare too")
    with pytest.raises(NoEquivalents):
        names(bare, strength=False, form=False)


def test_the_number_of_queries_does_not_grow_with_the_products() -> None:
    mine = product("Mine", ("a", "1 mg"), ("b", "1 mg"))
    for number in range(30):
        product(f"Other {number:02}", ("a", "1 mg"), ("b", "1 mg"))
    with CaptureQueriesContext(connection) as queries:
        assert len(names(mine)) == 30
    assert len(queries) <= 5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("200 mg", ("200", "mg")),
        ("0.4 mg", ("0.4", "mg")),
        ("1,000 units", ("1000", "units")),
        ("120 mg/5 ml", ("120", "mg/5 ml")),
        ("0.5%", ("0.5", "%")),
        ("see label", None),
        ("200", None),
        ("", None),
        ("50 mg / 100 mg", ("50", "mg/100 mg")),
    ],
)
def test_strength_parse_returns_amount_and_unit(text: str, expected: tuple[str, str] | None) -> None:
    assert strength_parse(text) == (expected and (Decimal(expected[0]), expected[1]))


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("0.05 mg", "50 mcg", True),
        ("1 g", "1000 mg", True),
        ("250 mg/5 ml", "50 mg/mL", True),
        ("250 mg/5 mL", "250 mg", False),
        ("5 mg", "5 mcg", False),
        ("5 mg", "5 mL", False),
        ("5%", "5 mg", False),
        ("100 units/mL", "100 IU/ml", True),
        ("50 mcg/24 h", "50 mcg/12 h", False),
    ],
)
def test_equal_strengths_in_different_units_have_one_key(a: str, b: str, same: bool) -> None:
    one, other = strength_parse(a), strength_parse(b)
    assert one and other
    assert (strength_key(*one) == strength_key(*other)) is same


@pytest.mark.parametrize(
    ("amount", "text"), [("1.0", "1"), ("0.050", "0.05"), ("500", "500"), ("100", "100")]
)
def test_amounts_are_shown_without_trailing_zeros(amount: str, text: str) -> None:
    assert amount_text(Decimal(amount)) == text
