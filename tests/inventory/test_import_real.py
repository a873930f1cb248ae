"""The importers on the real files, which are no part of this project: skipped where they are absent.

Set PHARMACY_DATA to their folder; CI also finds it beside the project as `shared/data`.
"""

import os

import pytest
from real_data import FOLDER, WHY
from served_site import IN_CI

from inventory.equivalents import equivalents_find
from inventory.importers import catalogue_import
from inventory.interactions import interactions_check
from inventory.interactions_importer import interactions_import
from inventory.models import Ingredient, Interaction, Medication

CATALOGUE, INTERACTIONS = FOLDER / "catalogue_ca.csv.gz", FOLDER / "interactions_open.csv.gz"

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.proof,
    pytest.mark.skipif(
        not (CATALOGUE.exists() and INTERACTIONS.exists()),
        reason=WHY,
    ),
    pytest.mark.skipif(
        not (IN_CI or "PHARMACY_DATA" in os.environ),
        reason="imports everything twice, for half a minute: runs in CI, and when PHARMACY_DATA is set",
    ),
]


def test_the_whole_register_and_all_interactions_can_be_imported() -> None:
    report = catalogue_import(CATALOGUE)
    assert (report.created, report.updated, report.unchanged, report.skipped) == (16_580, 0, 0, 3_228)
    assert not Ingredient.objects.filter(assessed=True).exists()
    _look_at_products()

    interactions = interactions_import(INTERACTIONS)
    assert interactions.created == Interaction.objects.count()
    assert interactions.created > 37_000
    assert Medication.objects.exclude(contents__ingredient__assessed=False).count() > 11_000
    _look_at_interactions()

    again = catalogue_import(CATALOGUE)
    assert (again.created, again.updated, again.unchanged) == (0, 0, 16_580)
    again = interactions_import(INTERACTIONS)
    assert (again.created, again.updated) == (0, 0)


def _look_at_products() -> None:
    tylenol = Medication.objects.get(external_id="00559407")
    assert (tylenol.name_en, tylenol.generic_name_en, tylenol.form, tylenol.strength) == (
        "Tylenol Extra Strength",
        "Paracetamol",
        "tablet",
        "500 mg",
    )
    assert len(equivalents_find(tylenol)) > 40
    syrup = Medication.objects.get(external_id="00023485")
    assert (syrup.form, syrup.strength) == ("syrup", "250 mg/5 mL")
    assert not Medication.objects.filter(name_en="").exists()
    assert not Medication.objects.filter(contents__isnull=True).exists()
    assert not Medication.objects.filter(contents__ingredient__key__in=["inactivated", "human"]).exists()
    assert set(Medication.objects.values_list("schedule", flat=True)) == {"", "II", "III", "IV"}
    warfarin = Medication.objects.filter(contents__ingredient__key="warfarin")
    assert warfarin.exists()
    assert not warfarin.exclude(substitution="pharmacist_only").exists()
    assert Medication.objects.filter(category__isnull=False).count() > 16_000


def _look_at_interactions() -> None:
    warfarin = Medication.objects.filter(generic_name_en="Warfarin").first()
    ibuprofen = Medication.objects.filter(generic_name_en="Ibuprofen").first()
    assert warfarin and ibuprofen
    assert interactions_check([warfarin, ibuprofen]).level in {"caution", "avoid"}
