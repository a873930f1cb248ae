"""How one row of a register is understood."""

from decimal import Decimal
from typing import Any

import pytest

from inventory import import_meaning
from inventory.import_meaning import (
    RowRefused,
    form_read,
    ingredient_key,
    ingredient_names,
    is_for_humans,
    product_read,
    strength_read,
)
from inventory.import_names import display_name
from inventory.models import Ingredient, Medication, MedicationIngredient

ROW = {
    "din": "00559407",
    "class": "Human",
    "brand_name": "TYLENOL EXTRA STRENGTH",
    "ingredients": "ACETAMINOPHEN",
    "strengths": "500 MG/N",
    "forms": "TABLET",
    "routes": "ORAL",
    "rx_required": "False",
    "controlled": "",
    "schedules": "NON-PRESCRIPTION DRUGS",
    "atc": "N02BE01",
    "company": "MCNEIL",
    "ingredients_canonical": "acetaminophen",
}


def row(**changes: str) -> dict[str, str]:
    return {**ROW, **changes}


def test_a_row_is_read_into_a_product() -> None:
    product = product_read(ROW)
    assert (product.external_id, product.name, product.generic_name) == (
        "00559407",
        "Tylenol Extra Strength",
        "Paracetamol",
    )
    assert (product.form, product.release, product.strength) == ("tablet", "immediate", "500 mg")
    assert (product.rx_required, product.schedule, product.pharmacist_only) == (False, "", False)
    assert [(part.ingredient, part.amount, part.unit) for part in product.parts] == [
        ("paracetamol", Decimal(500), "mg")
    ]


@pytest.mark.parametrize(
    ("text", "human"), [("Human", True), (" HUMAN ", True), ("Veterinary", False), ("", False)]
)
def test_only_rows_for_humans_are_products(text: str, human: bool) -> None:
    assert is_for_humans(row(**{"class": text})) is human


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"brand_name": " \u200b "}, "brand_name: empty"),
        ({"brand_name": "X" * 121}, "brand_name: longer than 120"),
        ({"din": ""}, "din: empty"),
        ({"din": "1" * 41}, "din: longer than 40"),
        ({"company": "X" * 121}, "company: longer"),
        ({"rx_required": "maybe"}, "rx_required: neither true nor false: 'maybe'"),
        ({"rx_required": ""}, "rx_required: neither"),
        ({"controlled": "forbidden"}, "controlled: no such class: 'forbidden'"),
        ({"ingredients_canonical": ""}, "ingredients_canonical: empty"),
        ({"ingredients": "A; B"}, "ingredients: 2 of them, but 1"),
        ({"strengths": "1 MG/N; 2 MG/N"}, "strengths: 2 of them for 1"),
        ({"ingredients_canonical": "x" * 201}, "a name longer than 200"),
        ({"forms": "Y" * 61}, "forms: longer than 60"),
    ],
)
def test_a_wrong_row_is_refused_with_the_name_of_the_column(changes: dict[str, str], reason: str) -> None:
    with pytest.raises(RowRefused) as refused:
        product_read(row(**changes))
    assert any(reason in why for why in refused.value.reasons), refused.value.reasons


def test_all_problems_of_a_row_are_reported() -> None:
    with pytest.raises(RowRefused) as refused:
        product_read(row(brand_name="", rx_required="?"))
    assert len(refused.value.reasons) == 2


@pytest.mark.parametrize(
    ("controlled", "schedule"), [("", ""), ("narcotic", "II"), ("Controlled", "III"), ("targeted", "IV")]
)
def test_controlled_classes_become_schedules(controlled: str, schedule: str) -> None:
    assert product_read(row(controlled=controlled)).schedule == schedule


@pytest.mark.parametrize(
    ("changes", "pharmacist"),
    [
        ({"ingredients_canonical": "warfarin"}, True),
        ({"ingredients_canonical": "levothyroxine"}, True),
        ({"ingredients_canonical": "adalimumab"}, True),
        ({"ingredients_canonical": "insulin glargine"}, True),
        ({"schedules": "PRESCRIPTION | SCHEDULE D"}, True),
        ({}, False),
    ],
)
def test_a_pharmacist_decides_for_biologics_and_narrow_therapeutic_indexes(
    changes: dict[str, str], pharmacist: bool
) -> None:
    assert product_read(row(**changes)).pharmacist_only is pharmacist


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Acetaminophen", "paracetamol"),
        ("acetylsalicylic acid", "aspirin"),
        ("metformin hydrochloride", "metformin"),
        ("WARFARIN SODIUM", "warfarin"),
        ("methylprednisolone sodium succinate", "methylprednisolone"),
        ("sodium chloride", "sodium chloride"),
        ("potassium magnesium", "potassium magnesium"),
        ("sodium", "sodium"),
        ("hydrocortisone acetate", "hydrocortisone acetate"),
        ("isosorbide dinitrate", "isosorbide dinitrate"),
        ("clavulanic acid", "clavulanic acid"),
    ],
)
def test_the_ingredient_key_drops_salts_and_replaces_synonyms(name: str, key: str) -> None:
    assert ingredient_key(name) == key


def test_a_canonical_name_that_lost_the_substance_is_not_used() -> None:
    assert ingredient_names(
        ["inactivated", "inactivated"], ["POLIOVIRUS TYPE 1 (INACTIVATED)", "POLIOVIRUS TYPE 2 (INACTIVATED)"]
    ) == ["poliovirus type 1", "poliovirus type 2"]
    assert ingredient_names(["sodium"], ["SODIUM LACTATE"]) == ["sodium lactate"]
    assert ingredient_names(
        ["insulin aspart", "insulin aspart"], ["INSULIN ASPART", "INSULIN ASPART PROTAMINE"]
    ) == [
        "insulin aspart",
        "insulin aspart protamine",
    ]
    assert ingredient_names(["cyanocobalamin"], ["VITAMIN B12 (CYANOCOBALAMIN)"]) == ["cyanocobalamin"]


@pytest.mark.parametrize(
    ("text", "form", "shown", "amount", "unit"),
    [
        ("500 MG/N", "tablet", "500 mg", "500", "mg"),
        ("5 MG/Y", "tablet", "5 mg", "5", "mg"),
        ("0.0625 MG/N", "tablet", "0.0625 mg", "0.0625", "mg"),
        ("1.0 MG/N", "tablet", "1 mg", "1", "mg"),
        ("250 MG/5 N", "syrup", "250 mg/5 mL", "250", "mg/5 mL"),
        ("250 MG/5 N", "oral powder for suspension", "250 mg/5 mL", "250", "mg/5 mL"),
        ("100 UNIT/1 N", "solution for injection", "100 units/1 mL", "100", "units/1 mL"),
        ("50 MCG/24 N", "patch", "50 mcg/24 h", "50", "mcg/24 h"),
        (".1 %/N", "cream", "0.1%", "0.1", "%"),
        ("0.5 %/N", "ophthalmic solution", "0.5%", "0.5", "%"),
        ("500 MG/N", "powder for solution for injection", "500 mg", "500", "mg"),
        # What the register does not say is not made up: these are shown, but not compared.
        ("10 MG/N", "solution for injection", "10 mg", None, ""),
        ("650 MG/22 N", "oral powder", "650 mg", None, ""),
        ("10 MG/N", "tablet for suspension", "10 mg", "10", "mg"),
        ("something", "tablet", "something", None, ""),
        ("", "tablet", "", None, ""),
    ],
)
def test_strengths_are_read_for_the_form_of_the_product(
    text: str, form: str, shown: str, amount: str | None, unit: str
) -> None:
    part = strength_read(text, form, "x")
    assert (part.strength, part.amount, part.unit) == (shown, amount and Decimal(amount), unit)


def test_a_kit_with_two_strengths_of_one_ingredient_has_no_comparable_strength() -> None:
    product = product_read(
        row(
            ingredients="CLOTRIMAZOLE; CLOTRIMAZOLE",
            ingredients_canonical="clotrimazole; clotrimazole",
            strengths="200 MG/N; 1 %/N",
            forms="KIT; VAGINAL TABLET; CREAM",
            routes="VAGINAL; TOPICAL",
        )
    )
    assert [(part.ingredient, part.strength, part.amount) for part in product.parts] == [
        ("clotrimazole", "200 mg / 1%", None)
    ]
    assert product.form == "cream + vaginal tablet kit"


@pytest.mark.parametrize(
    ("forms", "routes", "brand", "expected"),
    [
        ("TABLET", "ORAL", "X", ("tablet", "immediate")),
        ("TABLET (EXTENDED-RELEASE)", "ORAL", "X", ("tablet", "extended")),
        ("CAPSULE (EXTENDED RELEASE)", "ORAL", "X", ("capsule", "extended")),
        ("CAPSULE (SUSTAINED-RELEASE)", "ORAL", "X", ("capsule", "extended")),
        ("CAPSULE (CONTROLLED-DELIVERY)", "ORAL", "X", ("capsule", "extended")),
        ("TABLET (ENTERIC-COATED)", "ORAL", "X", ("tablet", "delayed")),
        ("TABLET (IMMEDIATE RELEASE)", "ORAL", "X", ("tablet", "immediate")),
        ("TABLET (CHEWABLE)", "ORAL", "X", ("chewable tablet", "immediate")),
        ("TABLET (CHEWABLE, EXTENDED-RELEASE)", "ORAL", "X", ("chewable tablet", "extended")),
        ("TABLET (IMMEDIATE AND EXTENDED RELEASE)", "ORAL", "X",
         ("immediate and extended-release tablet", "extended")),
        ("TABLET (ORALLY DISINTEGRATING)", "ORAL", "X", ("orally disintegrating tablet", "immediate")),
        ("TABLET", "ORAL", "APO-NAPROXEN EC TABLETS", ("tablet", "delayed")),
        ("TABLET", "ORAL", "ZYBAN XR", ("tablet", "extended")),
        ("CREAM", "TOPICAL", "SOMETHING CR", ("cream", "immediate")),
        ("TABLET", "SUBLINGUAL", "X", ("sublingual tablet", "immediate")),
        ("VAGINAL TABLET", "VAGINAL", "X", ("vaginal tablet", "immediate")),
        ("SOLUTION", "OPHTHALMIC", "X", ("ophthalmic solution", "immediate")),
        ("SOLUTION", "OTIC", "X", ("otic solution", "immediate")),
        ("SOLUTION", "INTRAVENOUS; SUBCUTANEOUS", "X", ("solution for injection", "immediate")),
        ("DROPS", "OTIC; OPHTHALMIC", "X", ("ophthalmic/otic drops", "immediate")),
        ("POWDER FOR SOLUTION; KIT", "INTRAVENOUS", "X", ("powder for solution kit", "immediate")),
        ("KIT; POWDER FOR SOLUTION", "INTRAVENOUS", "X", ("powder for solution kit", "immediate")),
        ("METERED-DOSE AEROSOL", "INHALATION", "X", ("inhaler", "immediate")),
        ("POWDER FOR SUSPENSION, SUSTAINED-RELEASE", "INTRAMUSCULAR", "X",
         ("powder for suspension for injection", "extended")),
        ("HOVERCRAFT (BLUE)", "ORAL", "X", ("oral hovercraft (blue)", "immediate")),
        ("", "ORAL", "X", ("", "immediate")),
    ],
)  # fmt: skip
def test_forms_routes_and_brands_give_form_and_release(
    forms: str, routes: str, brand: str, expected: tuple[str, str]
) -> None:
    assert form_read(forms, routes, brand) == expected


@pytest.mark.parametrize(
    ("brand", "name"),
    [
        ("TYLENOL EXTRA STRENGTH", "Tylenol Extra Strength"),
        ("PMS-VENLAFAXINE XR", "PMS-Venlafaxine XR"),
        ("APO-LISINOPRIL/HCTZ", "Apo-Lisinopril/HCTZ"),
        ("CHILDREN'S TYLENOL", "Children's Tylenol"),
        ("PENICILLIN G SODIUM FOR INJECTION, USP", "Penicillin G Sodium for Injection, USP"),
        ("ESTALIS 250/50 MCG", "Estalis 250/50 MCG".replace("MCG", "mcg")),
        ("APO-HALOPERIDOL TAB 10MG", "Apo-Haloperidol Tab 10mg"),
        ("SPF 45 SPORT", "SPF 45 Sport"),
        ("ACID CONCENTRATE A1265", "Acid Concentrate A1265"),
        ("KWELLADA-P CRÈME RINSE", "Kwellada-P Crème Rinse"),
        ("OF MICE", "Of Mice"),
        ("IbuTabs", "IbuTabs"),
        ("אקמול", "אקמול"),
    ],
)
def test_names_in_capitals_get_ordinary_spelling(brand: str, name: str) -> None:
    assert display_name(brand) == name


def test_hostile_text_is_cleaned() -> None:
    product = product_read(row(brand_name="TY\u202eLENOL\x00\n  FORTE"))
    assert product.name == "Tylenol Forte"


def _length(model: Any, field: str) -> int:
    return int(model._meta.get_field(field).max_length)


def test_the_limits_fit_the_columns() -> None:
    assert _length(Medication, "name") >= import_meaning.NAME_LENGTH
    assert _length(Medication, "generic_name") >= import_meaning.GENERIC_LENGTH
    assert _length(Medication, "form") >= import_meaning.FORM_LENGTH
    assert _length(Medication, "strength") >= import_meaning.STRENGTH_LENGTH
    assert _length(Medication, "external_id") >= import_meaning.EXTERNAL_ID_LENGTH
    assert _length(Medication, "company") >= import_meaning.COMPANY_LENGTH
    assert _length(MedicationIngredient, "strength") >= import_meaning.PART_LENGTH
    assert _length(Ingredient, "key") >= import_meaning.INGREDIENT_LENGTH


def test_a_long_list_of_ingredients_is_cut_between_two_of_them() -> None:
    names = "; ".join(f"substance number {number}" for number in range(30))
    product = product_read(
        row(ingredients=names.upper(), ingredients_canonical=names, strengths="; ".join(["12.5 MG/N"] * 30))
    )
    assert len(product.parts) == 30
    assert len(product.generic_name) <= import_meaning.GENERIC_LENGTH
    assert product.generic_name.endswith(" + …")
    assert len(product.strength) <= import_meaning.STRENGTH_LENGTH
