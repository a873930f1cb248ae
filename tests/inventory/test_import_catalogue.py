"""Importing a register: all or nothing, idempotent, and careful with what staff know better."""

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils.translation import override

from inventory.importers import FIRST_IMPORTED_ID, catalogue_import
from inventory.models import (
    Category,
    Ingredient,
    IngredientAlias,
    Medication,
    MedicationIngredient,
    SearchTerm,
)
from pharmacy_site.lib.importing import ImportRefused

pytestmark = pytest.mark.django_db

HEADER = (
    "din,drug_code,extract,class,brand_name,descriptor,ingredients,strengths,forms,routes,rx_required,controlled,"
    "schedules,atc,atc_name,company,upc,ingredients_canonical"
)
TYLENOL = (
    "00559407,1,marketed,Human,TYLENOL EXTRA STRENGTH,,ACETAMINOPHEN,500 MG/N,TABLET,ORAL,False,,"
    "NON-PRESCRIPTION DRUGS,N02BE01,ACETAMINOPHEN,MCNEIL,,acetaminophen"
)
CLAVULIN = (
    "01916858,2,marketed,Human,CLAVULIN-500F,,AMOXICILLIN (AMOXICILLIN TRIHYDRATE); CLAVULANIC ACID,"
    "500 MG/N; 125 MG/N,TABLET,ORAL,True,,PRESCRIPTION,J01CR02,AMOXICILLIN,GSK,,amoxicillin; clavulanic acid"
)
OXY = (
    "00000003,3,marketed,Human,OXY-IR,,OXYCODONE HYDROCHLORIDE,5 MG/N,TABLET,ORAL,True,narcotic,"
    "NARCOTICS (CDSA I),N02AA05,OXYCODONE,PURDUE,,oxycodone"
)
DOG = "00000004,4,marketed,Veterinary,REX,,WARFARIN,5 MG/N,TABLET,ORAL,whatever,,,,,VET,,warfarin"

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(*rows: str, name: str = "catalogue.csv", header: str = HEADER) -> Path:
        path = tmp_path / name
        data = "\n".join([header, *rows, ""]).encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return written


def everything() -> list[list[tuple[object, ...]]]:
    models = (Medication, MedicationIngredient, Ingredient, IngredientAlias, Category, SearchTerm)
    return [list(model._default_manager.order_by("pk").values_list()) for model in models]


@pytest.mark.parametrize("name", ["catalogue.csv", "catalogue.csv.gz", "no_ending.gz"])
def test_an_import_creates_products_with_their_ingredients(write: Write, name: str) -> None:
    report = catalogue_import(write(TYLENOL, CLAVULIN, OXY, DOG, name=name))
    assert (report.created, report.updated, report.unchanged, report.skipped) == (3, 0, 0, 1)
    assert not Medication.objects.filter(name_en="Rex").exists()
    tylenol, clavulin, oxy = Medication.objects.order_by("pk")
    assert tylenol.pk >= FIRST_IMPORTED_ID
    assert (tylenol.name_en, tylenol.generic_name_en, tylenol.strength) == (
        "Tylenol Extra Strength",
        "Paracetamol",
        "500 mg",
    )
    assert (tylenol.external_id, tylenol.company, tylenol.rx_required) == ("00559407", "MCNEIL", False)
    assert tylenol.category is not None and tylenol.category.slug == "pain-relievers"
    assert oxy.schedule == "II"
    assert clavulin.strength == "500 mg + 125 mg"
    assert [(part.ingredient.key, part.position) for part in clavulin.contents.order_by("position")] == [
        ("amoxicillin", 0),
        ("clavulanic acid", 1),
    ]
    assert not Ingredient.objects.filter(assessed=True).exists()


def test_a_missing_hebrew_name_falls_back_to_the_english_one(write: Write) -> None:
    catalogue_import(write(TYLENOL))
    tylenol = Medication.objects.get()
    assert tylenol.name_he is None
    with override("he"):
        assert tylenol.name == "Tylenol Extra Strength"


def test_imported_products_are_found_by_name(write: Write) -> None:
    catalogue_import(write(TYLENOL))
    folded = set(SearchTerm.objects.values_list("folded", flat=True))
    assert {"tylenol extra strength", "paracetamol", "acetaminophen"} <= folded


def test_importing_the_same_file_again_changes_nothing(write: Write) -> None:
    path = write(TYLENOL, CLAVULIN, OXY, DOG)
    catalogue_import(path)
    before = everything()
    report = catalogue_import(path)
    assert (report.created, report.updated, report.unchanged) == (0, 0, 3)
    assert everything() == before


def test_json_and_csv_give_the_same_products(write: Write, tmp_path: Path) -> None:
    path = write(TYLENOL, CLAVULIN)
    catalogue_import(path)
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    packed = tmp_path / "catalogue.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(rows).encode()))
    report = catalogue_import(packed)
    assert (report.created, report.updated, report.unchanged) == (0, 0, 2)


def test_a_changed_row_updates_that_product_only(write: Write) -> None:
    catalogue_import(write(TYLENOL, CLAVULIN))
    changed = CLAVULIN.replace("500 MG/N; 125 MG/N", "875 MG/N; 125 MG/N").replace(
        "CLAVULIN-500F", "CLAVULIN-875"
    )
    report = catalogue_import(write(TYLENOL, changed))
    assert (report.created, report.updated, report.unchanged) == (0, 1, 1)
    clavulin = Medication.objects.get(external_id="01916858")
    assert (clavulin.name_en, clavulin.name, clavulin.strength) == (
        "Clavulin-875",
        "Clavulin-875",
        "875 mg + 125 mg",
    )
    assert sorted(clavulin.contents.values_list("strength", flat=True)) == ["125 mg", "875 mg"]
    folded = set(SearchTerm.objects.values_list("folded", flat=True))
    assert "clavulin 875" in folded
    assert "clavulin 500 f" not in folded


def test_fields_that_the_register_lacks_keep_the_staffs_values(write: Write) -> None:
    catalogue_import(write(TYLENOL))
    own = Category.objects.create(slug="own", name_en="Our own")
    Medication.objects.update(
        name_he="טיילנול",
        price="12.50",
        substitution="pharmacist_only",
        prior_authorization=True,
        category=own,
    )
    before = everything()
    assert catalogue_import(write(TYLENOL)).updated == 0
    assert everything() == before


def test_names_are_mapped_by_the_aliases_on_file(write: Write) -> None:
    paracetamol = Ingredient.objects.create(key="paracetamol", name_en="Paracetamol", assessed=True)
    house = Ingredient.objects.create(key="house clavulanate", name_en="House clavulanate")
    IngredientAlias.objects.create(ingredient=house, text="Clavulanic Acid")
    catalogue_import(write(TYLENOL, CLAVULIN))
    assert Medication.objects.get(external_id="00559407").contents.get().ingredient == paracetamol
    assert Medication.objects.get(external_id="01916858").ingredients.filter(pk=house.pk).exists()
    paracetamol.refresh_from_db()
    assert paracetamol.assessed
    assert IngredientAlias.objects.get(folded="acetaminophen").ingredient == paracetamol


def test_imported_products_get_ids_above_those_of_the_demo(write: Write) -> None:
    catalogue_import(write(TYLENOL))
    Medication.objects.create(id=1, name_en="Ibuprofen", form="tablet")
    report = catalogue_import(write(TYLENOL, CLAVULIN))
    assert report.created == 1
    assert Medication.objects.get(external_id="01916858").pk > FIRST_IMPORTED_ID


def test_a_dry_run_counts_but_changes_nothing(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    before = everything()
    call_command("import_catalogue", str(write(TYLENOL, CLAVULIN, DOG)), "--dry-run")
    assert everything() == before
    shown = capsys.readouterr()
    assert shown.out == (
        "Dry run, nothing was changed: 2 created, 0 updated, 0 unchanged, 1 skipped (not for people)\n"
    )
    assert "checking: 100%" in shown.err


@pytest.mark.parametrize(
    ("rows", "problems"),
    [
        (
            [TYLENOL, OXY.replace("OXY-IR", "")],
            [(3, "brand_name: empty")],
        ),
        ([TYLENOL, OXY, TYLENOL], [(4, "din: 00559407 stands on line 2 already")]),
        (
            [TYLENOL.replace("False", "perhaps"), CLAVULIN + ",surplus"],
            [(2, "rx_required"), (3, "19 columns")],
        ),
        (
            [OXY.replace("narcotic", "nuclear"), TYLENOL.replace("TYLENOL", "T" * 130)],
            [(2, "controlled"), (3, "120")],
        ),
        ([], [(0, "no rows")]),
    ],
)
def test_a_broken_file_changes_nothing_and_names_line_and_reason(
    write: Write, rows: list[str], problems: list[tuple[int, str]]
) -> None:
    before = everything()
    with pytest.raises(ImportRefused) as refused:
        catalogue_import(write(*rows))
    assert everything() == before
    found = [(problem.line, problem.reason) for problem in refused.value.problems]
    assert [line for line, _ in found] == [line for line, _ in problems]
    assert all(part in reason for (_, part), (_, reason) in zip(problems, found, strict=True)), found


@pytest.mark.parametrize("damage", ["column", "bytes", "archive"])
def test_a_file_broken_near_its_end_changes_nothing(write: Write, damage: str) -> None:
    rows = [TYLENOL.replace("00559407", f"{number:08}") for number in range(1_500)]
    path = write(*rows)
    data = path.read_bytes()
    if damage == "column":
        path.write_bytes(data.replace(b"atc,atc_name", b"act,atc_name", 1))
    elif damage == "bytes":
        path.write_bytes(data[:-40] + b"\xff\xfe" + data[-40:])
    else:
        path.write_bytes(gzip.compress(data)[:-300])
    with pytest.raises(CommandError, match="Nothing was changed") as refused:
        call_command("import_catalogue", str(path))
    expected = {
        "column": "line 1: missing column: atc",
        "bytes": "line 1501: not UTF-8",
        "archive": "archive is damaged",
    }
    assert expected[damage] in str(refused.value)
    assert not Medication.objects.exists()


def test_an_error_in_the_middle_of_writing_changes_nothing(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise RuntimeError("disk full")

    monkeypatch.setattr("inventory.importers.index_rebuild", fail)
    before = everything()
    with pytest.raises(RuntimeError):
        catalogue_import(write(TYLENOL, CLAVULIN))
    assert everything() == before
