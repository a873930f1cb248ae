"""What a search finds, what is offered after a typo, and which names stand in a message."""

from collections.abc import Callable

import pytest
from pytest_django import DjangoAssertNumQueries

from inventory.catalog import Mention, medications_search, medications_suggest, mentions_in
from inventory.index import index_forget, index_rebuild
from inventory.models import (
    Category,
    CategoryAlias,
    Medication,
    MedicationAlias,
    MedicationTerm,
    SearchTerm,
    SearchWord,
    StockLevel,
    WordDeletion,
)
from pharmacy_site.lib.text import deletions, fold

pytestmark = pytest.mark.django_db
Cast = Callable[..., Medication]


@pytest.fixture
def categories(shelf: None) -> None:
    for slug, en, he, aliases, ids in (
        ("pain", "Pain relievers", "משככי כאבים", ("painkillers", "משכך כאבים"), (1, 6, 7, 8)),
        ("antibiotics", "Antibiotics", "אנטיביוטיקה", (), (2,)),
    ):
        category = Category.objects.create(slug=slug, name_en=en, name_he=he)
        for alias in aliases:
            CategoryAlias.objects.create(category=category, text=alias)
        Medication.objects.filter(pk__in=ids).update(category=category)


def ids(medications: list[Medication]) -> list[int]:
    return [medication.pk for medication in medications]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("PainAway 200 mg tablets", [7]),
        ("painaway", [7]),
        ("Advil", [1]),
        ("ibuprofen", [1, 8, 7]),  # its name first, then who contains it, stocked before not
        ("ibuprofen 200mg", [1, 8, 7]),
        ("ibuprofen 400 mg", [1, 8, 7]),  # no such strength: shown all the same
        ('איבופרופן 200 מ"ג', [1, 8, 7]),
        ("כדורים איבופרופן", [1, 8, 7]),
        ("amoxicillin capsules 500", [2]),
        ("קפסולות אמוקסיצילין", [2]),
        ("paracetamol", [6, 40]),
        ("paracetamol syrup", [40]),
        ("סירופ פרצטמול", [40]),
        ("טבליות אקמול", [6]),
        ("acetaminophen", [6]),
        ("pain relievers", [1, 6, 8, 7]),  # in stock first
        ("painkillers", [1, 6, 8, 7]),
        ("pain reliever", [1, 6, 8, 7]),
        ("משככי כאבים", [1, 6, 8, 7]),
        ("למשככי כאבים", [1, 6, 8, 7]),
        ("antibiotics", [2]),
        ("antibiotic capsules", [2]),
        ("אנטיביוטיקה", [2]),
        ("omepra", [3]),
        ("do you have losec please", [3]),
        ("advil and losec", [1, 3]),
        ("good antibiotics for children", [2]),
        ("zzzz", []),
        ("", []),
        ("200 mg tablets", []),
        ("%", []),
        ("x" * 5000, []),
        ("🙂\x00", []),
    ],
)
def test_a_search_returns_the_products_that_the_query_names(
    categories: None, query: str, expected: list[int]
) -> None:
    assert ids(medications_search(query)) == expected


def test_listed_products_are_found_if_none_is_carried_or_the_strength_requires_it(
    categories: None, cast: Cast
) -> None:
    cast(500, "IBUPROFEN", ingredient="ibuprofen", strength="400 mg", packs=None)
    cast(501, "SERTRALINE", strength="50 mg", packs=None)
    cast(502, "Ibuprofen 200 mg", ingredient="ibuprofen", strength="200 mg", packs=None)
    index_rebuild([500, 501, 502])
    assert ids(medications_search("ibuprofen")) == [1, 8, 7]
    assert ids(medications_search("ibuprofen 200 mg")) == [1, 8, 7]
    assert ids(medications_search("ibuprofen 400 mg")) == [500]
    assert ids(medications_search("sertraline")) == [501]


def test_a_search_is_limited_and_loads_ingredients(
    categories: None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    found = medications_search("ibuprofen", limit=2)
    with django_assert_num_queries(0):
        assert [row.ingredient.key for item in found for row in item.contents.all()] == ["ibuprofen"] * 2


def test_a_search_takes_few_queries(
    categories: None, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for query in ("ibuprofen", "antibiotics", "nothing like it at all", "good antibiotics for children"):
        with django_assert_max_num_queries(12):
            medications_search(query)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("ibuprofin", [1]),  # another letter
        ("ibuprofn", [1]),  # one missing
        ("ibupprofen", [1]),  # one too many
        ("ibuporfen", [1]),  # two swapped
        ("bIuprofen", [1]),
        ("ibuprofeni", [1]),
        ("IBUPROFIN 200 mg", [1]),
        ("איבופרופאן", [1]),
        ("איבורפופן", [1]),  # swapped, in Hebrew
        ("איבפרופן", [1]),
        ("לאיבפרופן", [1]),  # behind a prefix
        ("advli", [1]),
        ("amoxicilin", [2]),
        ("אמוקסצילין", [2]),
        ("metfromin", [4]),
        ("panaway", [7]),
        ("pain awya", [7]),
        ("cafe 100% fotre", [41]),
        ("fotre", [41]),  # one word of a longer name
        # Two typos, too short, or right as it is: nothing to offer.
        ("ibuproffin s", []),
        ("ibprofin", []),
        ("adv", []),
        ("ibuprofen", []),
        ("אקמול", []),
        ("אקמולי", []),
        ("לאקמול", []),
        ("acamol", []),
        ("", []),
        ("12345", []),
        ("x" * 5000, []),
        ("🙂🙂🙂🙂🙂", []),
        ("a b c d e f g h i j k", []),
    ],
)
def test_a_misspelt_name_suggests_the_right_one(shelf: None, query: str, expected: list[int]) -> None:
    assert ids(medications_suggest(query)) == expected


def test_every_single_typo_is_found(shelf: None) -> None:
    """Recall over all deletions, swaps and some substitutions and insertions of one Latin and one Hebrew name."""
    for name, pk in (("omeprazole", 3), ("מטפורמין", 4)):
        typos = deletions(name)
        typos |= {name[:at] + name[at + 1] + name[at] + name[at + 2 :] for at in range(len(name) - 1)}
        for letter in (name[0], name[3]):
            typos |= {name[:at] + letter + name[at:] for at in range(len(name) + 1)}
            typos |= {name[:at] + letter + name[at + 1 :] for at in range(len(name))}
        typos = {typo for typo in typos if fold(typo) != fold(name)}  # a doubled vav is no typo
        missed = [typo for typo in typos if ids(medications_suggest(typo)) != [pk]]
        # "למטפורמין" and the like are the name behind a prefix, and so no typo.
        assert [typo for typo in missed if not typo.endswith(name)] == []
        assert len(typos) > 30


def test_suggestions_are_limited_and_each_name_comes_once(cast: Cast) -> None:
    for pk in range(1, 9):
        cast(pk, "Sertralin" + "eaiouy"[pk % 6], packs=1)
    index_rebuild(None)
    found = medications_suggest("sertralinx")
    assert len(found) == len({item.name_en for item in found}) == 3


def short(mention: Mention) -> tuple[str, list[int], str]:
    return mention.text, ids(mention.medications), mention.by


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Do you have Advil in Jaffa?", [("Advil", [1], "alias")]),
        ("יש לכם אקמול בפלורנטין?", [("אקמול", [6], "alias")]),
        ("כמה עולה לאקמול", [("אקמול", [6], "alias")]),
        ("כמה עולה אקמולי", [("אקמולי", [40], "name")]),
        ("can I take ibuprofen with omeprazole?", [("ibuprofen", [1], "name"), ("omeprazole", [3], "name")]),
        ("is pain away the same as Ibuprofen?", [("pain away", [7], "name"), ("Ibuprofen", [1], "name")]),
        ("לוסק", [("לוסק", [3], "alias")]),
        ("ללוסק", [("לוסק", [3], "alias")]),
        ("something with ibuprofenum", [("ibuprofenum", [1, 8], "ingredient")]),
        ("Café 100% Forte, please", [("Café 100% Forte", [41], "name")]),
        ("I want pain, away from here", []),  # no name reaches over a comma
        ("what about ibuprofin", []),
        ("omepra", []),
        ("", []),
        ("🙂\x00\ud800", []),
    ],
)
def test_names_inside_a_message_are_mentions(
    shelf: None, message: str, expected: list[tuple[str, list[int], str]]
) -> None:
    assert [short(mention) for mention in mentions_in(message)] == expected


def test_a_mention_has_its_position_and_its_text(shelf: None) -> None:
    [mention] = mentions_in("hello, is Pain-Away 200mg sold?")
    assert (mention.start, mention.end) == (2, 4)


def test_an_ignored_word_alone_is_not_a_mention(cast: Cast) -> None:
    cast(1, "Relief", packs=1)
    cast(2, "Relief Plus", packs=1)
    index_rebuild(None)
    assert [short(mention)[1] for mention in mentions_in("relief")] == [[1]]
    assert mentions_in("relief", ignore={"relief"}) == []
    assert [short(mention)[1] for mention in mentions_in("relief plus", ignore={"relief"})] == [[2]]


def test_the_first_word_of_a_longer_name_is_a_mention_only_on_request(cast: Cast) -> None:
    cast(1, "Ventolin HFA", packs=1)
    cast(2, "Ventolin Diskus", packs=None)
    index_rebuild(None)
    assert mentions_in("do you have ventolin?") == []
    [mention] = mentions_in("do you have ventolin?", brands=True)
    assert short(mention) == ("ventolin", [1], "partial")


def test_mentions_take_three_queries(
    shelf: None, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(3):
        found = mentions_in("Advil, losec and אקמול " * 100)
    assert len(found) > 100


def test_a_candidate_list_is_never_longer_than_ten(cast: Cast) -> None:
    for pk in range(1, 31):
        cast(pk, "Pregabalin", strength=f"{pk} mg", packs=None)
    index_rebuild(None)
    [mention] = mentions_in("pregabalin")
    assert len(mention.medications) == 10


# -- The index itself -----------------------------------------------------------------------------------------------


def index_rows() -> tuple[set[object], ...]:
    return (
        set(SearchTerm.objects.values_list("folded", "compact")),
        set(MedicationTerm.objects.values_list("medication_id", "term__folded", "kind")),
        set(SearchWord.objects.values_list("text", flat=True)),
        set(WordDeletion.objects.values_list("word__text", "variant")),
    )


def test_rebuilding_all_or_some_products_gives_the_same_index(shelf: None) -> None:
    before = index_rows()
    assert all(before)
    index_rebuild([1, 3, 40])
    assert index_rows() == before
    index_rebuild(None)
    assert index_rows() == before
    assert WordDeletion.objects.count() == len(before[3])


def test_a_renamed_product_is_found_by_its_new_name_only(shelf: None) -> None:
    Medication.objects.filter(pk=3).update(name_en="Ulcerin", name_he=None)
    MedicationAlias.objects.filter(medication_id=3).delete()
    index_rebuild([3])
    assert ids(medications_search("ulcerin")) == [3]
    assert ids(medications_suggest("ulecrin")) == [3]
    assert medications_search("losec") == []
    assert medications_suggest("loesc") == []
    assert not SearchWord.objects.filter(text__in=["losec", "לוסק"]).exists()
    assert not WordDeletion.objects.filter(variant="lsec").exists()
    full = index_rows()
    index_rebuild(None)
    assert index_rows() == full


def test_a_removed_product_removes_only_words_that_no_other_has(shelf: None) -> None:
    index_forget([7])  # PainAway
    assert medications_search("painaway") == []
    assert ids(medications_search("ibuprofen")) == [1, 8]
    StockLevel.objects.filter(medication_id=7).delete()
    Medication.objects.get(pk=7).delete()
    full = index_rows()
    index_rebuild(None)
    assert index_rows() == full
