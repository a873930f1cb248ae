"""Names as people write them, and the medication that each means."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from pytest_django import DjangoAssertNumQueries

from inventory.catalog import (
    medication_first_partial,
    medication_get,
    medication_resolve,
    medications_search,
)
from inventory.errors import MedicationAmbiguous, MedicationNotFound
from inventory.index import index_rebuild
from inventory.labels import suggestion_label, suggestion_labels
from inventory.models import Medication, StockLevel

pytestmark = pytest.mark.django_db

IBUPROFEN, AMOXICILLIN, OMEPRAZOLE, METFORMIN, PARACETAMOL, PAINAWAY, SYRUP = 1, 2, 3, 4, 6, 7, 40
Cast = Callable[..., Medication]


@pytest.mark.parametrize(
    ("query", "pk", "by"),
    [
        ("Ibuprofen", IBUPROFEN, "name"),
        ("IBUPROFEN", IBUPROFEN, "name"),
        ("  ibuprofen  ", IBUPROFEN, "name"),
        ("איבופרופן", IBUPROFEN, "name"),
        ("אִיבּוּפְּרוֹפֵן", IBUPROFEN, "name"),  # niqqud
        ("לאיבופרופן", IBUPROFEN, "name"),
        ("Advil", IBUPROFEN, "alias"),
        ("advil®", IBUPROFEN, "alias"),
        ("אדוויל", IBUPROFEN, "alias"),
        ("אדויל", IBUPROFEN, "alias"),
        ("גלוקופאג'", METFORMIN, "alias"),
        ("גלוקופאג׳", METFORMIN, "alias"),  # geresh
        ("גלוקופאג", METFORMIN, "alias"),
        ("pain away", PAINAWAY, "name"),
        ("Pain-Away", PAINAWAY, "name"),
        ("אקמול", PARACETAMOL, "alias"),
        ("לאקמול", PARACETAMOL, "alias"),
        ("ולאקמול", PARACETAMOL, "alias"),
        ("שהאקמול", PARACETAMOL, "alias"),
        ("מטפורמינ", METFORMIN, "name"),  # without the final letter
        # The first letters of these are no prefix ...
        ("לוסק", OMEPRAZOLE, "alias"),
        ("מטפורמין", METFORMIN, "name"),
        # ... and these have one before them.
        ("ללוסק", OMEPRAZOLE, "alias"),
        ("במטפורמין", METFORMIN, "name"),
        # The children's syrup and its elder never stand in for one another.
        ("אקמולי", SYRUP, "name"),
        ("לאקמולי", SYRUP, "name"),
        ("acamol", PARACETAMOL, "alias"),
        ("acamoli", SYRUP, "name"),
        # Parts of names.
        ("ibut", 8, "partial"),
        ("omepra", OMEPRAZOLE, "partial"),
        ("מוקסיצ", AMOXICILLIN, "partial"),
        ("mo", AMOXICILLIN, "partial"),  # two letters: the beginning of an alias
        ("cafe", 41, "partial"),
        ("100%", 41, "partial"),
        # A label that was offered is understood when it comes back.
        ("Ibuprofen (איבופרופן)", IBUPROFEN, "name"),
        ("Ibuprofen, tablet 200 mg (איבופרופן)", IBUPROFEN, "name"),
        ("Ibuprofen, tablet 200 mg", IBUPROFEN, "name"),
    ],
)
def test_each_spelling_resolves_to_one_medication(shelf: None, query: str, pk: int, by: str) -> None:
    resolved = medication_resolve(query)
    assert (resolved.medication.pk, resolved.by) == (pk, by)


@pytest.mark.parametrize(
    "query",
    [
        "",
        " ",
        "%",
        "_",
        "%%%",
        "___",
        "ibu%fen",
        "ibuprofe_",
        "%profen",
        "ibuprofin",  # a near miss is no match
        "vibuprofen",
        "אקמולית",
        "ibuprofenum",  # an ingredient, which was not asked for
        "x" * 5000,
        "ibuprofen " * 500,
        "🙂",
        "🙂" * 500,
        "a\x00b\x00",
        "\ud800",
        '"',
        "'; drop table",
        '" OR "a',
        "folded:ibuprofen*",
        "NEAR(ibuprofen, omeprazole)",
        "\\",
        "\u202e\u200f",
    ],
)
def test_a_query_that_names_nothing_is_not_found(shelf: None, query: str) -> None:
    with pytest.raises(MedicationNotFound) as error:
        medication_resolve(query)
    assert error.value.query == query
    with pytest.raises(MedicationNotFound):
        medication_first_partial(query)


def test_sql_wildcards_in_a_name_are_ordinary_letters(shelf: None) -> None:
    assert medication_resolve("50_50").medication.pk == 42
    assert medication_resolve("00%").medication.pk == 41
    for query in ("50%50", "5%_50", "100_", "1%"):
        with pytest.raises(MedicationNotFound):
            medication_resolve(query)


def test_with_ingredients_an_exact_ingredient_outranks_a_partial_name(shelf: None) -> None:
    with pytest.raises(MedicationAmbiguous) as error:
        medication_resolve("ibuprofenum", ingredients=True)
    assert {item.pk for item in error.value.candidates} == {IBUPROFEN, 8}  # in stock, unlike PainAway
    assert medication_resolve("ibuprofen", ingredients=True).by == "name"
    assert medication_resolve("omepra", ingredients=True).by == "partial"


def test_a_part_of_several_names_is_ambiguous_and_stocked_products_come_first(
    shelf: None, cast: Cast
) -> None:
    with pytest.raises(MedicationAmbiguous) as error:
        medication_resolve("ibu")
    assert [item.pk for item in error.value.candidates] == [IBUPROFEN, 8]
    assert medication_first_partial("ibu").pk == IBUPROFEN
    StockLevel.objects.filter(medication_id=8).update(quantity=0)
    assert medication_resolve("ibu").medication.pk == IBUPROFEN


def test_a_whole_word_outranks_a_part_of_a_word(cast: Cast) -> None:
    cast(1, "Coldex", packs=3)
    cast(2, "Advil Cold", packs=3)
    index_rebuild(None)
    resolved = medication_resolve("cold")
    assert (resolved.medication.pk, resolved.whole_word) == (2, True)
    assert medication_resolve("olde").whole_word is False


def test_products_with_the_same_name_get_distinct_labels_that_resolve(cast: Cast) -> None:
    for pk in range(100, 129):
        strength = f"{25 * (1 + pk % 8)} mg"
        cast(pk, "PREGABALIN", strength=strength, form="capsule", company=f"Company {pk}", packs=None)
    index_rebuild(None)
    with pytest.raises(MedicationAmbiguous) as error:
        medication_resolve("pregabalin")
    labels = suggestion_labels(error.value.candidates)
    assert len(labels) == len(set(labels)) == 8  # one for each strength, never the same label twice
    assert labels[0].startswith("PREGABALIN, capsule ")
    assert error.value.more
    # What was offered can be chosen; there the companies differ.
    with pytest.raises(MedicationAmbiguous) as again:
        medication_resolve(labels[0])
    chosen = suggestion_labels(again.value.candidates)
    assert len(set(chosen)) == len(chosen) >= 3
    assert medication_resolve(chosen[1]).medication == again.value.candidates[1]


def test_an_imported_catalogue_does_not_make_carried_products_ambiguous(shelf: None, cast: Cast) -> None:
    for pk, name in enumerate(
        ("IBUPROFEN", "ADVIL", "ADVIL", "AMOXICILLIN", "TYLENOL", "IBUTABS EXTRA"), start=1000
    ):
        cast(pk, name, packs=None)
    index_rebuild(None)
    assert medication_resolve("ibuprofen").medication.pk == IBUPROFEN
    assert (
        medication_resolve("advil").medication.pk == IBUPROFEN
    )  # though two listed products have it as name
    assert medication_resolve("amoxicillin").medication.pk == AMOXICILLIN  # carried, none left
    assert medication_resolve("tylenol").medication.pk == PARACETAMOL
    assert medication_resolve("ibut").medication.pk == 8
    assert medication_resolve("ibutabs extra").medication.pk == 1005


def test_an_ambiguous_name_offers_at_most_ten_candidates(cast: Cast) -> None:
    for pk in range(1, 31):
        cast(pk, f"Vitamin {chr(64 + pk % 26)}{pk}", packs=1)
    index_rebuild(None)
    with pytest.raises(MedicationAmbiguous) as error:
        medication_resolve("vitamin")
    assert len(error.value.candidates) == 10
    assert error.value.more


def test_an_inactive_product_is_not_found(shelf: None) -> None:
    Medication.objects.filter(pk=OMEPRAZOLE).update(is_active=False)
    for query in ("Omeprazole", "omepra", "לוסק"):
        with pytest.raises(MedicationNotFound):
            medication_resolve(query)
    with pytest.raises(MedicationNotFound):
        medication_get(OMEPRAZOLE)


@pytest.mark.parametrize("ref", [2, "2", "med-2"])
def test_medication_get_accepts_each_spelling_of_an_id(shelf: None, ref: int | str) -> None:
    assert medication_get(ref).pk == AMOXICILLIN


@pytest.mark.parametrize(
    "ref",
    [
        0,
        -1,
        2**63,
        2**70,
        True,
        "",
        "0",
        "-2",
        "+2",
        " 2",
        "2 ",
        "02",
        "2.0",
        "med-",
        "med-0",
        "MED2",
        "med-2x",
        "٢",
        "²",
        "9" * 30,
        "x",
    ],
)
def test_medication_get_refuses_everything_else(shelf: None, ref: int | str) -> None:
    with pytest.raises(MedicationNotFound):
        medication_get(ref)


def test_a_label_has_the_hebrew_name_and_in_detail_form_and_strength(shelf: None, cast: Cast) -> None:
    ibuprofen = Medication.objects.get(pk=IBUPROFEN)
    assert suggestion_label(ibuprofen, detailed=False) == "Ibuprofen (איבופרופן)"
    assert suggestion_label(ibuprofen, detailed=True) == "Ibuprofen, tablet 200 mg (איבופרופן)"
    listed = cast(900, "METFORMIN", form="tablet", strength="1000 mg", release="extended", packs=None)
    assert suggestion_label(listed, detailed=True) == "METFORMIN, extended-release tablet 1000 mg"


def test_narrowing_by_what_the_customer_adds(cast: Cast) -> None:
    small = cast(1, "X", strength="250 mg", form="capsule")
    big = cast(2, "X", strength="500 mg", form="capsule")
    syrup = cast(3, "X", strength="250 mg/5 mL", form="syrup")
    index_rebuild(None)
    assert medications_search("X capsules 500", limit=5) == [big]
    assert medications_search('X 500 מ"ג', limit=5) == [big]
    assert medications_search("X 0.5 g", limit=5) == [big]
    assert medications_search("X סירופ", limit=5) == [syrup]
    assert medications_search("X כדורים 250", limit=5) == [small]
    assert medications_search("X", limit=5) == [small, big, syrup]


@pytest.mark.parametrize(
    "query", ["advil", "ibu", "nothing of the kind", "Ibuprofen, tablet 200 mg", "לאקמול"]
)
def test_resolving_takes_few_queries(
    shelf: None, query: str, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(4):
        _finds_any(query)


def _finds_any(query: str) -> None:
    with suppress(MedicationNotFound, MedicationAmbiguous):
        medication_resolve(query, ingredients=True)
