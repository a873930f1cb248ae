"""A language model's text becomes an answer: facts in place of ids, connecting sentences in place of names, no words of its own."""

import asyncio
import re
from dataclasses import replace

import pytest

from agent.answers.card_types import Card
from agent.answers.composition import LONGEST_SENTENCE, Composition
from agent.answers.connecting_sentences import BEFORE_KINDS, CONNECTING
from agent.answers.facts.fact import MARKER, Fact, Menu
from agent.inference.base import Withheld
from pharmacy_site.lib.text import Language

HERE = Fact("stock", "Jaffa", "Advil is in stock at Jaffa.", polarity=True)
GONE = Fact("stock", "Florentin", "Advil is out of stock at Florentin.", polarity=False)
LEAFLET = Fact(
    "leaflet.driving", "Advil", "Advil – driving. According to the leaflet: Not expected to matter."
)
WARNING = Fact("interaction", "A and B", "A and B: our data lists a caution.", is_required=True)
NOTE = Fact("prescription", "Lisinopril", "Lisinopril requires a prescription.")
PRICED = Fact("price", "Lisinopril", "The price is ₪22.40.", companion=NOTE)


def composed(text: str, *facts: Fact, pieces: int = 7, language: Language = "en") -> Composition:
    """Compose a text that comes in small pieces."""

    async def play() -> None:
        for start in range(0, len(text), pieces):
            await answer.hear(text[start : start + pieces])
        await answer.end()

    menu = Menu([], language)
    menu.add(facts)
    shown: list[str] = []
    answer = Composition(menu, shown.append)
    asyncio.run(play())
    assert "".join(shown) == answer.text
    return answer


@pytest.mark.parametrize("pieces", [1, 5, 500])
def test_facts_stand_where_their_ids_are(pieces: int) -> None:
    answer = composed("[hello] [f1] [f2] [offer_stock]", HERE, GONE, pieces=pieces)
    assert answer.text == f"Hello! {HERE.text} {GONE.text} Shall I check where it is in stock?"
    assert answer.is_answer and not answer.dropped


def test_lines_and_paragraphs_of_the_model_stay() -> None:
    answer = composed("[stock]\n- [f1]\n- [f2]\n\n[anything_else]", HERE, GONE)
    assert answer.text == f"Stock:\n{HERE.text}\n{GONE.text}\n\nIs there anything else?"


def test_a_sentence_of_its_own_is_dropped_and_the_rest_stays() -> None:
    answer = composed("[hello] It is gentle. [f1] One\nis enough. [anything_else]", HERE)
    assert answer.text == f"Hello! {HERE.text} Is there anything else?"
    assert [one.text for one in answer.dropped] == ["It is gentle.", "One is enough."]


def test_marks_and_fragments_around_a_fact_are_dropped() -> None:
    answer = composed("It says [f1], which is close. [f2].", HERE, GONE)
    assert answer.text == f"{HERE.text} {GONE.text}"


@pytest.mark.parametrize(
    ("language", "own"),
    [
        ("en", "Yes!"),
        ("en", "No."),
        ("en", "We do."),
        ("en", "Enjoy the rest of that old pack too!"),
        ("en", "Which one do you mean, the stronger one?"),
        ("en", "Shall I look in other branches and keep one for you?"),
        ("en", "שלום!"),
        ("he", "שיש!"),
        ("he", "Hello!"),
    ],
)
def test_own_words_are_dropped_whatever_they_say(language: Language, own: str) -> None:
    answer = composed(f"{own} [f1] {own}", HERE, language=language)
    assert answer.text == HERE.text and [one.fault for one in answer.dropped] == ["own_words"] * 2


def test_the_words_of_a_connecting_sentence_are_that_sentence() -> None:
    answer = composed("hello, [f1] Shall I look in other branches", HERE)
    assert answer.text == f"Hello! {HERE.text} Shall I look in other branches?"
    assert answer.connecting == ["hello", "offer_other_branches"] and not answer.dropped


def test_an_announcement_stands_before_what_it_announces_or_not_at_all() -> None:
    assert composed("[from_leaflet] [f1]", LEAFLET).text == f"From the leaflet: {LEAFLET.text}"
    for name in BEFORE_KINDS:
        assert composed(f"[{name}] [f1]", replace(HERE, kind="interaction")).text == HERE.text


def test_only_an_offer_of_a_pharmacist_offers_a_person() -> None:
    assert composed("[f1] [offer_pharmacist]", HERE).offers_person
    assert not composed("[f1] [offer_stock]", HERE).offers_person


def test_required_facts_come_before_the_closing_question() -> None:
    answer = composed("[f1] [anything_else]", HERE, WARNING)
    assert answer.text == f"{HERE.text}\n\n{WARNING.text} Is there anything else?"
    chosen = composed("[f2] [f1]", HERE, WARNING)
    assert chosen.text.count(WARNING.text) == 1 and chosen.text.startswith(WARNING.text)


def test_a_companion_is_added_once() -> None:
    assert composed("[f1]", PRICED).text == f"{PRICED.text}\n\n{NOTE.text}"
    assert composed("[f2] [f1]", PRICED, NOTE).text == f"{NOTE.text} {PRICED.text}"


def test_a_warning_alone_or_an_announcement_of_nothing_is_no_answer() -> None:
    assert not composed("It is gentle.", WARNING).is_answer
    assert not composed("[found]", WARNING).is_answer
    assert composed("[ask_strength]").is_answer
    assert not composed("It is gentle. [anything_else]").is_answer


def test_an_unknown_id_and_a_second_mention_are_left_out() -> None:
    answer = composed("[f9] [f1] [f1] [f1, f9]", HERE)
    assert answer.text == HERE.text and [one.fault for one in answer.dropped] == ["unknown_fact"] * 2


def test_a_sentence_without_an_end_is_stopped() -> None:
    with pytest.raises(Withheld):
        composed("word " * LONGEST_SENTENCE)


@pytest.mark.parametrize(("language", "side"), [("en", 0), ("he", 1)])
def test_a_connecting_sentence_is_named_and_needs_no_check(language: Language, side: int) -> None:
    text = "[sorry_to_hear] Own words. [not_on_file] [stock] [ask_branch]"
    answer = composed(text, language=language)
    said = [CONNECTING[name][side] for name in ("sorry_to_hear", "not_on_file", "ask_branch")]
    assert answer.text == " ".join(said)  # the announcement "[stock]" announces nothing
    assert [one.text for one in answer.dropped] == ["Own words."]


def test_connecting_sentences_have_both_languages_and_a_name_that_a_model_can_write() -> None:
    for name, (english, hebrew) in CONNECTING.items():
        assert re.fullmatch(r"[a-z_]{4,21}", name) and MARKER.fullmatch(f"[{name}]")
        assert re.search("[א-ת]", hebrew) and not re.search("[א-ת]", english)


def test_beside_a_card_a_fact_is_brief_and_both_forms_are_shown_as_they_come() -> None:
    listed = replace(HERE, kind="list", text="Branches:\n1. Jaffa – 3 units", brief="Jaffa has some.")
    listed = replace(listed, on_card=("Jaffa", "3 units"))
    as_of = Fact("as_of", "", "As of 9:00.", brief="", on_card=("As of 9:00.",))
    card: Card = {"kind": "stock", "data": {"title": "Stock", "note": "As of 9:00."}}
    text = "[found] [f1] [f2] [anything_else]"
    whole = f"Here is what I found:\n\n{listed.text}\n\nAs of 9:00.\n\nIs there anything else?"

    def shown(cards: list[Card]) -> tuple[str, str]:
        pieces: list[tuple[str, ...]] = []

        async def play() -> None:
            await answer.hear(text)
            await answer.end()

        menu = Menu([], "en")
        menu.add([listed, as_of])
        answer = Composition(menu, lambda *piece: pieces.append(piece), cards)
        asyncio.run(play())
        return "".join(piece[0] for piece in pieces), "".join(piece[-1] for piece in pieces)

    assert shown([])[0] == shown([])[1] == shown([card])[0]
    # This card has no row of Jaffa, so the list stays.
    assert shown([card])[1].split() == whole.replace("As of 9:00.", "").split()
    stores = [{"name": "Jaffa", "stock": "3 units"}]
    full: Card = {"kind": "stock", "data": {**card["data"], "stores": stores}}  # type: ignore[typeddict-item]
    assert shown([full])[1] == "Here is what I found:\n\nJaffa has some.\n\nIs there anything else?"
    assert whole.split() == shown([full])[0].split()
