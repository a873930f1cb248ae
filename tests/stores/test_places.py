"""What people write about a place, and which store, city or unserved town it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from pharmacy_site.lib.remembered import remembering
from pharmacy_site.lib.text import words
from pharmacy_site.lib.tokens import tokens
from stores.models import Locality, Store
from stores.places import CityPlace, Place, StorePlace, UnservedPlace, place_find, places_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("demo")]
BRANCHES = [101, 102, 103, 104]


def short(place: Place | None) -> object:
    """A place as something a table can hold: a store's number, a city's numbers, or the name of what is not served."""
    match place:
        case StorePlace(store):
            return store.pk
        case CityPlace(_locality, branches):
            return [store.pk for store in branches]
        case UnservedPlace(name, locality):
            return (name, locality.slug if locality else None)
    return None


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # Jaffa is store 104, whatever the words around it ...
        ("יפו", 104),
        ("ביפו", 104),
        ("מיפו", 104),
        ("Jaffa", 104),
        ("jafa", 104),
        ("JAFFA", 104),
        ("יפו, תל אביב", 104),
        ("יפו תל אביב", 104),
        ("Jaffa, Tel Aviv", 104),
        ("Jaffa in Tel Aviv", 104),
        ("ביפו בתל אביב", 104),
        ("Tel Aviv, Jaffa", 104),
        ("סניף יפו", 104),
        ("בסניף שביפו", 104),
        # ... but the city's official name is the city.
        ("תל אביב-יפו", BRANCHES),
        ("תל אביב - יפו", BRANCHES),
        ("תל אביב – יפו", BRANCHES),
        ("Tel Aviv-Yafo", BRANCHES),
        ("תל אביב", BRANCHES),
        ("תֵּל אָבִיב", BRANCHES),
        ("בתל אביב", BRANCHES),
        ("tel-aviv", BRANCHES),
        ("TLV", BRANCHES),
        ('ת"א', BRANCHES),
        ("בת״א", BRANCHES),
        # Other branches, by name, alias, number.
        ("Ramat Aviv", 101),
        ("ramat-aviv branch", 101),
        ("ברמת אביב", 101),
        ("Dizengoff", 102),
        ("Dizengoff street", 102),
        ("רחוב דיזנגוף", 102),
        ("florentin", 103),
        ("פלורנטין, תל אביב", 103),
        ("101", 101),
        ("104", 104),
        ("סניף 104", 104),
        ("branch number 103", 103),
        ("סניף מס' 102", 102),
        ("1", 1),
        ("online", 1),
        ("החנות המקוונת", 1),
        # Places without a store.
        ("Haifa", ("Haifa", "haifa")),
        ("in Haifa please", ("Haifa", "haifa")),
        ("חיפה", ("חיפה", "haifa")),
        ("בחיפה", ("חיפה", "haifa")),
        ("NYC", ("NYC", "new-york")),
        ("in NYC", ("NYC", "new-york")),
        ("Springfield", ("Springfield", None)),
        ("in Springfield", ("Springfield", None)),
        ("999", ("999", None)),
        ("9" * 30, ("9" * 30, None)),
        # Streets and words that only look like Jaffa.
        ("רחוב יפו", ("רחוב יפו", None)),
        ("ברחוב יפו", ("ברחוב יפו", None)),
        ("Jaffa Road", ("Jaffa Road", None)),
        ("רחוב יפו 97, ירושלים", ("ירושלים", "jerusalem")),
        ("שדרות ירושלים", ("שדרות ירושלים", None)),
        ("טיפות", ("טיפות", None)),
        ("%", ("%", None)),
        # Nothing was said.
        ("", None),
        ("  ?! ", None),
        ("סניף", None),
    ],
)
def test_a_query_means_a_store_a_city_or_an_unserved_place(query: str, expected: object) -> None:
    assert short(place_find(query)) == expected


def test_a_number_in_other_digits_is_the_same_store() -> None:
    assert short(place_find("١٠٤")) == 104  # digits fold to one form


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Dizengofff", 102),
        ("Haifaa", ("Haifaa", "haifa")),
        ("פלורטנין", 103),
        ("רמת אבבי", 101),
        ("qqqq", ("qqqq", None)),
    ],
)
def test_one_typo_is_forgiven_only_on_request(query: str, expected: object) -> None:
    assert isinstance(place_find(query), UnservedPlace)
    assert short(place_find(query, typo=True)) == expected


def test_a_closed_store_is_not_found() -> None:
    Store.objects.filter(pk=104).update(is_active=False)
    assert short(place_find("104")) == ("104", None)
    assert not isinstance(place_find("Jaffa"), StorePlace)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("יש לכם אדוויל ביפו?", [(104, 3, 4, "יפו")]),
        ("Do you have Advil in Jaffa?", [(104, 5, 6, "Jaffa")]),
        ("Do you have Advil in Jaffa, Tel Aviv?", [(104, 5, 6, "Jaffa")]),
        ("יש אקמול בתל אביב-יפו?", [(BRANCHES, 2, 5, "תל אביב-יפו")]),
        ("and in Ramat Aviv or Florentin", [(101, 2, 4, "Ramat Aviv"), (103, 5, 6, "Florentin")]),
        ("Is it in Haifa?", [(("Haifa", "haifa"), 3, 4, "Haifa")]),
        ("יש לכם טיפות עיניים?", []),
        ("אני גר ברחוב יפו", []),
        ("104", []),
        ("call 101 now", []),
        ("take 2 tablets", []),
        ("", []),
    ],
)
def test_places_inside_a_message_are_mentions(message: str, expected: list[object]) -> None:
    found = [
        (short(mention.place), mention.start, mention.end, mention.text) for mention in places_in(message)
    ]
    assert found == expected


def test_a_village_with_the_name_of_a_common_word_needs_a_preposition() -> None:
    Locality.objects.create(slug="import-il-1", name_en="Shani", name_he="שני", lat=31.35, lng=35.06)
    assert places_in("הסניף השני בבקשה") == []
    assert [mention.text for mention in places_in("אני ליד שני")] == ["שני"]
    assert short(place_find("שני")) == ("שני", "import-il-1")


def test_the_number_of_queries_does_not_grow_with_the_places(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_max_num_queries(1):
        places_in("Do you have something against headaches?")
    with django_assert_max_num_queries(4):
        places_in("Jaffa, Haifa, Ramat Aviv, Florentin, Jerusalem, Eilat and תל אביב " * 5)
    with django_assert_max_num_queries(3):
        place_find("Tel Aviv")


def test_a_town_of_the_message_is_not_read_again_in_the_same_turn_and_anew_in_the_next(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    with remembering():
        (mention,) = places_in("Is there any in Tel Aviv?")
        with django_assert_num_queries(0):
            assert place_find("Tel Aviv") == mention.place
    Store.objects.filter(pk=101).update(is_active=False)
    with remembering():
        assert short(place_find("Tel Aviv")) == BRANCHES[1:]


def test_only_the_beginning_of_a_very_long_message_is_read(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_max_num_queries(3):
        assert short(place_find("x" * 5000)) == ("x" * 5000, None)
        assert places_in("🙂\ud800 " * 2000) == []


@given(st.text(max_size=80) | st.text(alphabet="יפותאב ,.-־'\"()1,5½mg\n", max_size=80))
def test_tokens_are_the_words_of_the_message(message: str) -> None:
    assert [token.folded for token in tokens(message, 500)] == words(message)
