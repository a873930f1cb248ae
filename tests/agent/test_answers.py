"""What an answer says: pieces in their order, nothing twice, the place that was asked about first."""

import re

import pytest
from talking import Talk

from agent.answers.answer import Answer, compose, joined, spaced
from agent.answers.facts.fact import Fact, chosen
from inventory.models import LeafletSection, StockLevel
from stores.models import Store

QUOTE = Fact("leaflet.use", "Advil", "Use: for pain.", quotes=("for pain.",))
PRICE = Fact("price", "Advil", "₪24.90.")


def _bare(text: str) -> str:
    return re.sub("[\u2066-\u2069]", "", text)


def test_pieces_are_paragraphs_unless_white_space_joins_them() -> None:
    assert Answer(["Hello.", QUOTE, PRICE]).text == "Hello.\n\nUse: for pain.\n\n₪24.90."
    assert Answer([*spaced([QUOTE, PRICE]), "More?"]).text == "Use: for pain. ₪24.90.\n\nMore?"
    assert Answer(["Both:", "\n• ", QUOTE, "\n• ", PRICE]).text == "Both:\n• Use: for pain.\n• ₪24.90."


def test_quotations_are_those_of_the_facts() -> None:
    answer = Answer(["Hello.", QUOTE, PRICE])
    assert answer.quoted == ["for pain."]
    assert compose([answer], "en", {}).quoted == ["for pain."]


def test_a_reply_says_what_answers_share_once_and_has_a_few_cards_and_suggestions() -> None:
    same = Answer(
        [PRICE], cards=[{"kind": "stock", "data": {}}] * 3, suggestions=["A", "B"], state={"misses": 1}
    )
    other = Answer([QUOTE], suggestions=["B", "C", "D"], state={"refusals": 2})
    reply = compose([same, same, other], "en", {"misses": 0, "pending": None})
    assert reply.text == "₪24.90.\n\nUse: for pain."
    assert (len(reply.cards), reply.suggestions) == (4, ["A", "B", "C"])
    assert reply.state == {"misses": 0}
    assert joined([same, other]).state == {"misses": 1, "refusals": 2}


def test_facts_are_chosen_by_kind_and_subject() -> None:
    other = Fact("price", "Nurofen", "₪32.90.")
    assert chosen([PRICE, QUOTE, other], "leaflet.use", "price") == [QUOTE, PRICE, other]
    assert chosen([PRICE, QUOTE, other], "price", about="Nurofen") == [other]


@pytest.mark.usefixtures("demo_committed")
class TestOnce:
    """A product that is called by its ingredient does not contain it."""

    @pytest.mark.parametrize(
        "question", ["What is Ibuprofen?", "what is Acamol", "מה זה איבופרופן?", "tell me about Metformin XR"]
    )
    def test_a_product_with_its_ingredients_name(self, question: str) -> None:
        text = _bare(Talk("en" if question.isascii() else "he").say(question))
        assert "contains the active ingredient" not in text and "מכיל את החומר הפעיל" not in text
        assert re.search(r"The strength of \w+( XR)? is \d+ mg|החוזק של \S+ הוא \d+ מ״ג", text)

    def test_a_brand_says_its_ingredient(self) -> None:
        assert "Nurofen contains the active ingredient Ibuprofen 200mg." in Talk().say("What is Nurofen?")

    def test_asked_for_the_ingredient_it_says_that_it_is_the_name(self) -> None:
        text = Talk().say("what's the active ingredient of ibuprofen?")
        assert "Ibuprofen is called by its active ingredient." in text and "contains" not in text


@pytest.mark.usefixtures("demo_committed")
class TestPlace:
    """The place that is talked about comes first, and a total is of no place."""

    @pytest.mark.parametrize(
        "messages",
        [
            ["Is there an equivalent of Advil in Jaffa?"],
            ["Do you have Advil in Jaffa?"],
            ["Do you have Advil in Jaffa?", "any equivalents of it?"],
        ],
    )
    def test_equivalents_begin_with_what_the_branch_has(self, messages: list[str]) -> None:
        talk = Talk()
        text = [talk.say(message) for message in messages][-1]
        first, second = re.findall(r"^\d\. (\w+, tablet .*)$", text, re.MULTILINE)
        assert first == "Nurofen, tablet 200 mg – Jaffa, Tel Aviv: 1 unit; 3 units in all our stores together"
        assert second == "IbuTabs, tablet 200 mg – Jaffa, Tel Aviv: none; 25 units in all our stores together"
        [card] = [card for card in talk.payload["cards"] if card["kind"] == "equivalents"]
        assert card["data"]["columns"] == ["Product", "In stock: Jaffa, Tel Aviv"]
        assert [row["stock"] for row in card["data"]["products"]] == ["Limited quantity: 1 unit", "None"]

    def test_a_category_begins_with_what_the_branch_has(self) -> None:
        text = Talk().say("What pain relievers do you have in Jaffa?")
        lines = re.findall(r"^\d\. .*$", text, re.MULTILINE)
        assert ["Jaffa, Tel Aviv: none" in line for line in lines].index(True) == 2
        assert "Jaffa, Tel Aviv: 2 units" in lines[0] and "Jaffa, Tel Aviv: 1 unit" in lines[1]

    def test_a_city_counts_its_branches(self) -> None:
        text = Talk().say("What pain relievers do you have in Tel Aviv?")
        stock = StockLevel.objects.filter(medication=1, store__kind=Store.Kind.BRANCH)
        packs = sum(stock.values_list("quantity", flat=True))
        assert f"Tel Aviv-Yafo: {packs} units; 158 units in all our stores together" in text

    @pytest.mark.parametrize(
        "question",
        ["What pain relievers do you have?", "Any equivalents of PainAway?", "PainAway 200 mg tablets"],
    )
    def test_a_total_is_said_to_be_of_all_stores(self, question: str) -> None:
        talk = Talk()
        lines = [line for line in talk.say(question).split("\n") if re.search(r"\d units?\b", line)]
        assert lines and all("in all our stores together" in line for line in lines)
        assert all(
            card["data"]["columns"][1] == "In stock: all stores"
            for card in talk.payload["cards"]
            if "columns" in card["data"]
        )

    def test_the_online_store_is_called_so(self) -> None:
        assert "Cetirizine is in stock in our online store (200 units)." in Talk().say(
            "Do you have cetirizine?"
        )
        assert "צטיריזין במלאי בחנות המקוונת (200 יחידות)." in _bare(Talk("he").say("יש לכם זירטק?"))


@pytest.mark.usefixtures("demo_committed")
@pytest.mark.parametrize(
    ("messages", "branch"),
    [
        (["What are the opening hours of Jaffa?"], "Jaffa"),
        (["Do you have Advil in Florentin?", "when do they open?"], "Florentin"),
        (["Which branches have Advil?", "when is the second one open?"], "Florentin"),
        (["Is the Jaffa branch open?", "and tomorrow?"], "Jaffa"),
    ],
)
def test_hours_of_one_branch_are_of_that_branch_only(messages: list[str], branch: str) -> None:
    talk = Talk()
    text = [talk.say(message) for message in messages][-1]
    named = [store.name_en for store in Store.objects.all() if store.name_en in text]
    assert named == [f"{branch}, Tel Aviv"] and re.search(r"\d\d:\d\d|closed", text)


@pytest.mark.usefixtures("demo_committed")
@pytest.mark.parametrize(
    ("language", "first", "then", "says"),
    [
        ("en", "is there nurofen in jaffa", "no wait, haifa instead", "We don’t have stores in haifa"),
        ("en", "is there nurofen in jaffa", "ramat aviv instead please", "out of stock at Ramat Aviv"),
        (
            "en",
            "is there nurofen in jaffa",
            "what do you have instead in jaffa",
            "Products with the same active",
        ),
        (
            "en",
            "is there nurofen in jaffa",
            "something instead in ramat aviv",
            "Products with the same active",
        ),
        (
            "en",
            "is there nurofen in jaffa",
            "what can i use instead near dizengoff",
            "Products with the same active",
        ),
        ("en", "is there nurofen in jaffa", "in ramat aviv instead of jaffa", "out of stock at Ramat Aviv"),
        ("en", "is there nurofen in jaffa", "ramat aviv, and not jaffa", "out of stock at Ramat Aviv"),
        (
            "en",
            "hello",
            "is nurofen in ramat aviv instead of the jaffa branch?",
            "out of stock at Ramat Aviv",
        ),
        (
            "en",
            "is there nurofen in jaffa",
            "what is there instead of it in jaffa?",
            "Products with the same active",
        ),
        ("he", "יש נורופן ביפו?", "ברמת אביב במקום ביפו", "נורופן אינו במלאי ברמת אביב"),
        ("he", "שלום", "יש משהו בדיזנגוף במקום נורופן ביפו?", "תכשירים עם אותם חומרים פעילים"),
        ("he", "יש נורופן ביפו?", "משהו במקום ברמת אביב", "תכשירים עם אותם חומרים פעילים"),
        ("he", "יש נורופן ביפו?", "במקום זה ברמת אביב", "נורופן אינו במלאי ברמת אביב"),
        ("he", "יש נורופן ביפו?", "מה יש במקום בסניף דיזנגוף?", "תכשירים עם אותם חומרים פעילים"),
    ],
)
def test_instead_means_another_place_where_only_a_place_is_named(
    language: str, first: str, then: str, says: str
) -> None:
    talk = Talk(language)
    talk.say(first)
    assert says in _bare(talk.say(then)).split("\n")[0]


@pytest.mark.usefixtures("demo_committed")
def test_a_day_replaces_the_day_before_it() -> None:
    talk = Talk()
    talk.say("Is the Jaffa branch open?")
    talk.say("and tomorrow?")
    assert "Friday: 08:00–14:00" in talk.say("and on Friday?")


@pytest.mark.usefixtures("demo_committed")
def test_only_the_dosage_is_headed_for_adults() -> None:
    talk = Talk()
    for kind in ("pregnancy", "driving", "side effects", "storage"):
        assert "According to the leaflet: " in talk.say(
            f"What does the leaflet of Ibuprofen say about {kind}?"
        )
    assert "According to the leaflet (adults): " in talk.say(
        "What dosage does the leaflet of Ibuprofen give?"
    )
    LeafletSection.objects.filter(medication=1, kind="dosage").update(text_en="Children: ask a doctor.")
    assert "According to the leaflet: Children" in talk.say("What dosage does the leaflet of Ibuprofen give?")
