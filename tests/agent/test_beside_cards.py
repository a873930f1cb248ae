"""Text and cards do not repeat each other, and whoever shows no cards is told everything in the text."""

import asyncio
import re
from typing import Any

import pytest
from talking import Talk
from websockets.asyncio.client import connect

from agent.answers.answer import text_beside
from agent.answers.card_texts import card_lines, texts_shown, without_repeats
from agent.answers.card_types import Card
from agent.answers.facts.fact import Fact
from agent.chat.client_view import delta_shown, event_shown, progress_shown
from evaluation.chat import Chat, text_message
from evaluation.scenario import scenarios_all

STOCK: Card = {
    "kind": "stock",
    "data": {
        "title": "Stock: Advil",
        "stores": [{"name": "Jaffa", "stock": "3 units"}, {"name": "Haifa", "stock": "5 units"}],  # type: ignore[typeddict-item]
        "note": "As of 9:00.",
    },
}
AS_OF = Fact("as_of", "", "As of 9:00.", brief="", on_card=("As of 9:00.",))


def _row(store: str, units: str) -> Fact:
    on_card = ("Stock: Advil", store, units)
    return Fact("stock", store, f"{store} has {units}.", polarity=True, brief="", on_card=on_card)


JAFFA, HAIFA = _row("Jaffa", "3 units"), _row("Haifa", "5 units")
QUESTIONS = [
    ("en", "Do you have Advil in Jaffa?"),
    ("en", "Which branches have Advil?"),
    ("en", "Are there equivalents of Advil?"),
    ("en", "Which pain relievers do you have?"),
    ("en", "Tell me about Nurofen"),
    ("en", "Can I take warfarin with ibuprofen?"),
    ("en", "What prescriptions do I have?"),
    ("he", "יש לכם אדוויל ביפו?"),
    ("he", "יש תחליף זהה לאדוויל?"),
    ("he", "אילו משככי כאבים יש לכם?"),
    ("he", "ספרו לי על נורופן"),
    ("he", "אפשר לקחת וורפרין עם איבופרופן?"),
    ("he", "אילו מרשמים יש לי?"),
]


def _bare(text: str) -> str:
    return re.sub("[\u2066-\u2069]", "", text)


def _event(payload: dict[str, Any], *, cards: bool) -> dict[str, Any]:
    event: Any = {"v": 1, "type": "message.completed", "seq": 2, "at": "", **payload}
    return dict(event_shown(event, cards=cards))


# -- The composer ----------------------------------------------------------------------------------------------
def test_of_several_stores_of_a_product_the_first_is_said() -> None:
    assert text_beside([JAFFA, " ", HAIFA, "\n\n", AS_OF], [STOCK]) == JAFFA.text
    assert text_beside([JAFFA, " ", HAIFA], []) == f"{JAFFA.text} {HAIFA.text}"


def test_a_store_that_no_card_shows_is_said() -> None:
    far = _row("Eilat", "1 unit")
    assert text_beside([JAFFA, " ", far], [STOCK]) == f"{JAFFA.text} {far.text}"


def test_that_a_place_has_none_does_not_stand_for_where_there_is_some() -> None:
    none = Fact("stock", "Eilat", "Eilat has none.", polarity=False)
    assert text_beside([none, " ", JAFFA, " ", HAIFA], [STOCK]) == f"{none.text} {JAFFA.text}"


def test_an_announcement_keeps_what_it_announces() -> None:
    assert text_beside(["And the time:", " ", AS_OF], [STOCK]) == "And the time: As of 9:00."


# -- What is left out of cards ---------------------------------------------------------------------------------
def test_a_card_leaves_out_only_what_the_text_says_in_the_same_words() -> None:
    pair = {"names": ["A", "B"], "level": "avoid", "label": "Not together", "text": "A and B: ask first."}
    card: Any = {"kind": "interactions", "data": {"title": "On file", "pairs": [pair], "note": "Ask."}}
    [left] = without_repeats([card], "A and B: ask first.")
    assert texts_shown(left) == {"On file", "A", "B", "Not together", "Ask."}
    assert without_repeats([card], "Something else.") == [card]


def test_refills_are_left_out_of_the_prescription_that_the_text_has_them_of() -> None:
    items = [
        {"name": name, "status": "Active", "refills": "2 refills remaining", "refill": "Yes", "rows": []}
        for name in ("Amoxicillin", "Metformin")
    ]
    card: Any = {"kind": "prescriptions", "data": {"title": "Yours", "prescriptions": items}}
    [left] = without_repeats([card], "Amoxicillin - 2 refills remaining (active).")
    assert ["refills" in item for item in left["data"]["prescriptions"]] == [False, True]
    assert ["status" in item for item in left["data"]["prescriptions"]] == [False, True]


def test_a_strength_in_a_dosage_is_not_the_strength() -> None:
    rows = [["Strength", "200 mg"], ["Price on file", "₪24.90"]]
    card: Any = {"kind": "medication", "data": {"title": "Advil", "rows": rows}}
    [left] = without_repeats([card], "Take 200 mg. The price on file for Advil is ₪24.90.")
    assert left["data"]["rows"] == rows[:1]
    [left] = without_repeats([card], "The strength of Advil is 200 mg.")
    assert left["data"]["rows"] == rows[1:]


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("The price on file for Nurofen is ₪24.90.", ["Active ingredient", "Price on file"]),
        ("The price on file for Advil is ₪24.90.", ["Active ingredient"]),
        ("Nurofen contains the active ingredient Ibuprofen.", ["Active ingredient", "Price on file"]),
        ("Advil contains the active ingredient Ibuprofen.", ["Price on file"]),
    ],
)
def test_another_products_sentence_takes_no_row_from_a_card(text: str, labels: list[str]) -> None:
    rows = [["Active ingredient", "Ibuprofen"], ["Price on file", "₪24.90"]]
    card: Card = {"kind": "medication", "data": {"title": "Advil", "rows": rows}}
    [left] = without_repeats([card], text)
    assert [row[0] for row in left["data"]["rows"]] == labels


def test_the_lines_of_several_stores_are_numbered() -> None:
    assert card_lines(STOCK) == ["Stock: Advil", "1. Jaffa – 3 units", "2. Haifa – 5 units", "As of 9:00."]


# -- Whole answers ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("language", "question"), QUESTIONS)
def test_no_sentence_of_the_text_is_on_a_card(language: str, question: str, demo_committed: None) -> None:
    payload = Talk(language, patient="10000101").ask(question)
    shown = _event(payload, cards=True)
    assert shown["cards"] and "brief" not in shown
    text, whole = _bare(shown["text"]), _event(payload, cards=False)["text"]
    assert whole == payload["text"]
    for card in shown["cards"]:
        for line in {*texts_shown(card)} - {card["data"]["title"]}:
            assert len(line) < 30 or line not in text, line
    # What the whole text has and the brief one has not, a card shows; a total of all stores is said in words.
    whole = re.sub(r"; \d+ (units|יחידות)[^\n]*", "", _bare(whole))
    seen = _bare("\n".join([text, *(line for card in shown["cards"] for line in card_lines(card))]))
    # "August 2" is 2026-08-02 on a card.
    assert {int(number) for number in re.findall(r"\d+", _bare(whole))} <= {
        int(number) for number in re.findall(r"\d+", seen)
    }


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Can I take warfarin with ibuprofen?", "cannot be taken together according to our data"),
        ("Do you have Amoxicillin?", "requires a prescription"),
        ("Do you have PainAway?", "no prescription needed"),
        ("Please reserve Advil for me in Florentin", "can't order or reserve"),
    ],
)
def test_what_must_be_said_stays_in_the_text(question: str, said: str, demo_committed: None) -> None:
    assert said in _event(Talk().ask(question), cards=True)["text"]


def test_the_disclosure_is_left_to_a_card_that_shows_it_whole(demo_committed: None) -> None:
    shown = _event(Talk().ask("Do you have PainAway?"), cards=True)
    disclosure = "Possible differences: price, inactive ingredients, packaging."
    assert disclosure not in shown["text"]
    assert any(disclosure in text for text in texts_shown(shown["cards"][0]))


# -- On its way to a client ------------------------------------------------------------------------------------
def test_pieces_and_progress_have_the_form_of_the_client() -> None:
    piece: Any = {"type": "message.delta", "run_id": "r", "offset": 9, "text": "long one"}
    piece |= {"brief": {"offset": 4, "text": "one"}}
    head = {"type": "message.delta", "run_id": "r"}
    assert delta_shown(piece, cards=True) == {**head, "offset": 4, "text": "one"}
    assert delta_shown(piece, cards=False) == {**head, "offset": 9, "text": "long one"}
    progress: Any = {"run_id": "r", "attempt": 1, "calls": [], "text": "a long one", "brief": "one"}
    assert progress_shown(progress, cards=True)["text"] == "one"
    assert progress_shown(progress, cards=False)["text"] == "a long one"


async def _asked(site: Any, text: str, **hello: Any) -> tuple[str, str]:
    """What a client that says this hello is sent as the answer: whole at the end, and in pieces."""
    chat = Chat(site.ws_url, site.url, "en")
    async with chat:
        if hello:
            await chat.socket.close()
            chat.socket = await connect(site.ws_url, origin=site.url)
            await chat.send({"type": "hello", "lang": "en", "conversation": chat.secret, **hello})
            await chat.receive("hello.ok")
        await chat.send(text_message(scenarios_all()[0], text))
        pieces = ""
        while True:
            got = await chat.receive()
            if got["type"] == "message.delta":
                pieces = pieces[: got["offset"]] + got["text"]
            if got["type"] == "message.completed" and got["role"] == "assistant":
                assert "brief" not in got
                return got["text"], pieces


def test_a_client_without_cards_gets_the_whole_answer_as_text(chat_server: Any) -> None:
    question = "Which branches have Advil?"
    whole, whole_pieces = asyncio.run(_asked(chat_server, question, cards=False))
    brief, brief_pieces = asyncio.run(_asked(chat_server, question))
    assert "1. " in whole and "not reserved" in whole and whole_pieces in ("", whole)
    assert "1. " not in brief and "not reserved" not in brief and brief_pieces in ("", brief)
