"""Importing interactions: names mapped, the worst level wins, nothing is ever lowered."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from inventory.interactions_importer import interactions_import
from inventory.models import Ingredient, IngredientAlias, Interaction
from pharmacy_site.lib.importing import ImportRefused

pytestmark = pytest.mark.django_db

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(*rows: str, header: str = "drug_a,drug_b,level,sources,message") -> Path:
        path = tmp_path / "interactions.csv"
        path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
        return path

    return written


def pairs() -> dict[tuple[str, str], str]:
    rows = Interaction.objects.values_list("ingredient_a__key", "ingredient_b__key", "level")
    return {(min(a, b), max(a, b)): level for a, b, level in rows}


def test_an_import_creates_pairs_by_ingredient_with_the_text_for_staff(write: Write) -> None:
    report = interactions_import(write("warfarin,Ibuprofen,avoid,ONC NDF-RT,Risque majoré", "a,b,Caution,,"))
    assert (report.created, report.updated, report.unchanged) == (2, 0, 0)
    assert pairs() == {("ibuprofen", "warfarin"): "avoid", ("a", "b"): "caution"}
    row = Interaction.objects.get(level="avoid")
    assert (row.source_text, row.sources) == ("Risque majoré", "ONC NDF-RT")
    assert row.ingredient_a_id < row.ingredient_b_id


def test_names_are_mapped_by_aliases_synonyms_and_salts(write: Write) -> None:
    paracetamol = Ingredient.objects.create(key="paracetamol", name_en="Paracetamol")
    warfarin = Ingredient.objects.create(key="warfarin", name_en="Warfarin")
    IngredientAlias.objects.create(ingredient=warfarin, text="coumarin anticoagulant")
    interactions_import(
        write("acetaminophen,Coumarin Anticoagulant,caution,,", "metformin hydrochloride,aspirin,avoid,,")
    )
    assert pairs() == {("paracetamol", "warfarin"): "caution", ("aspirin", "metformin"): "avoid"}
    paracetamol.refresh_from_db()
    assert paracetamol.assessed


def test_only_ingredients_in_the_file_become_assessed(write: Write) -> None:
    Ingredient.objects.create(key="known", name_en="Known")
    Ingredient.objects.create(key="other", name_en="Other")
    interactions_import(write("known,new,caution,,"))
    assert set(Ingredient.objects.filter(assessed=True).values_list("key", flat=True)) == {"known", "new"}
    interactions_import(write("third,fourth,caution,,"))
    assert Ingredient.objects.filter(assessed=True).count() == 4


def test_the_worst_level_of_a_pair_wins_whatever_the_order(write: Write) -> None:
    report = interactions_import(
        write("a,b,caution,one,mild", "b,a,avoid,two,grave", "a,b,caution,three,mild again")
    )
    assert report.created == 1
    row = Interaction.objects.get()
    assert (row.level, row.source_text, row.sources) == ("avoid", "grave", "two")


def test_an_import_raises_a_level_but_never_lowers_one(write: Write) -> None:
    interactions_import(write("a,b,avoid,old,grave", "c,d,caution,old,mild"))
    report = interactions_import(write("a,b,caution,new,mild", "c,d,avoid,new,grave"))
    assert (report.created, report.updated, report.unchanged) == (0, 1, 1)
    assert pairs() == {("a", "b"): "avoid", ("c", "d"): "avoid"}
    assert set(Interaction.objects.values_list("source_text", "sources")) == {
        ("grave", "old"),
        ("grave", "new"),
    }


def test_importing_the_same_file_again_changes_nothing(write: Write) -> None:
    path = write("a,b,caution,,x", "b,a,avoid,,y", "acetaminophen,c,caution,,z")
    interactions_import(path)
    models = (Interaction, Ingredient, IngredientAlias)
    before = [list(model._default_manager.order_by("pk").values_list()) for model in models]
    report = interactions_import(path)
    assert (report.created, report.updated, report.unchanged) == (0, 0, 2)
    assert [list(model._default_manager.order_by("pk").values_list()) for model in models] == before


def test_a_pair_of_two_names_of_one_ingredient_is_skipped_and_counted(write: Write) -> None:
    report = interactions_import(write("heparin,heparine sodique,caution,,", "a,b,caution,,"))
    assert str(report) == "1 created, 0 updated, 0 unchanged, 1 skipped (two names of one ingredient)"
    assert pairs() == {("a", "b"): "caution"}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("a,A,caution,,", "the same"),
        (",b,caution,,", "drug_a: empty"),
        ("a,,caution,,", "drug_b: empty"),
        ("a,b,deadly,,", "level: neither avoid nor caution: 'deadly'"),
        ("a,b,,,", "level"),
        (f"{'x' * 201},b,avoid,,", "drug_a: longer than 200"),
        ("a,b,avoid", "3 columns instead of 5"),
    ],
)
def test_a_broken_file_changes_nothing_and_names_line_and_reason(write: Write, row: str, reason: str) -> None:
    with pytest.raises(ImportRefused) as refused:
        interactions_import(write("c,d,avoid,,", row, "e,f,avoid,,"))
    assert [(problem.line, reason in problem.reason) for problem in refused.value.problems] == [(3, True)]
    assert not Interaction.objects.exists()
    assert not Ingredient.objects.exists()


def test_a_missing_column_is_named(write: Write) -> None:
    with pytest.raises(CommandError, match="line 1: missing column: level"):
        call_command(
            "import_interactions", str(write("a,b,avoid,,", header="drug_a,drug_b,severity,sources,message"))
        )


def test_a_dry_run_counts_but_changes_nothing(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("import_interactions", str(write("a,b,avoid,,")), "--dry-run")
    assert capsys.readouterr().out == "Dry run, nothing was changed: 1 created, 0 updated, 0 unchanged\n"
    assert not Interaction.objects.exists()
    assert not Ingredient.objects.exists()
