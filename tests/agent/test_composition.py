"""A language model's text becomes an answer: facts in place of ids, its own words only where they connect."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from agent.answers.cards import Card
from agent.answers.composition import LONGEST_SENTENCE, Composition
from agent.answers.connecting_sentences import CONNECTING
from agent.answers.facts.fact import MARKER, Fact, Menu
from agent.answers.glue import Surroundings, faults, verdict_removed
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


def composed(
    text: str, *facts: Fact, pieces: int = 7, refused: Sequence[str] = ("BAD",), language: Language = "en"
) -> Composition:
    """Compose a text that comes in small pieces; sentences with a refused word are faulty."""

    async def judge(sentence: str) -> list[str]:
        return ["claim"] if any(word in sentence for word in refused) else []

    async def play() -> None:
        for start in range(0, len(text), pieces):
            await answer.hear(text[start : start + pieces])
        await answer.end()

    menu = Menu([], language)
    menu.add(facts)
    shown: list[str] = []
    answer = Composition(menu, judge, shown.append, message="do you have Advil in Jaffa or Florentin?")
    asyncio.run(play())
    assert "".join(shown) == answer.text
    return answer


@pytest.mark.parametrize("pieces", [1, 5, 500])
def test_facts_stand_where_their_ids_are(pieces: int) -> None:
    answer = composed("Happy to check! [f1] [f2] Shall I look elsewhere?", HERE, GONE, pieces=pieces)
    assert answer.text == f"Happy to check! {HERE.text} {GONE.text} Shall I look elsewhere?"
    assert answer.is_answer and not answer.dropped


def test_lines_and_paragraphs_of_the_model_stay() -> None:
    answer = composed("Here is the stock:\n- [f1]\n- [f2]\n\nAnything else?", HERE, GONE)
    assert answer.text == f"Here is the stock:\n{HERE.text}\n{GONE.text}\n\nAnything else?"


def test_a_faulty_sentence_is_dropped_and_the_rest_stays() -> None:
    answer = composed("Hello! This is BAD. [f1] BAD again, really. Anything else?", HERE)
    assert answer.text == f"Hello! {HERE.text} Anything else?"
    assert [one.text for one in answer.dropped] == ["This is BAD.", "BAD again, really."]


def test_marks_and_fragments_around_a_fact_are_dropped() -> None:
    answer = composed("It says [f1], which is close. [f2].", HERE, GONE)
    assert answer.text == f"It says: {HERE.text} {GONE.text}"


@pytest.mark.parametrize(
    ("said", "fact", "shown"),
    [
        ("Yes! [f1]", HERE, True),
        ("Yes, we do. [f1]", HERE, True),
        ("Yes! [f1]", GONE, False),
        ("No. [f1]", GONE, True),
        ("No. [f1]", HERE, False),
        ("Yes! [f1]", LEAFLET, False),
        ("Of course! [f1]", LEAFLET, False),
        ("Sure! [f1]", HERE, True),
        ("Absolutely. [f1]", GONE, False),
    ],
)
def test_a_yes_or_no_needs_a_fact_that_says_it(said: str, fact: Fact, shown: bool) -> None:
    first_word = said.split()[0]
    assert composed(said, fact).text.startswith(first_word) is shown


def test_a_yes_without_a_fact_is_dropped() -> None:
    answer = composed("Yes! Shall I look?")
    assert answer.text == "Shall I look?" and answer.dropped and not answer.is_answer


def test_what_is_no_answer_by_itself_is_kept() -> None:
    for sentence in (
        "No pharmacist has to be asked about that.",
        "לא מצאתי את השם.",
        "Right now I am looking.",
    ):
        assert verdict_removed(sentence, None) == sentence
    assert verdict_removed("Yes, here is what we have:", None) == "Here is what we have:"


def test_required_facts_come_before_the_closing_question() -> None:
    answer = composed("[f1] Anything else?", HERE, WARNING)
    assert answer.text == f"{HERE.text}\n\n{WARNING.text} Anything else?"
    chosen = composed("[f2] [f1]", HERE, WARNING)
    assert chosen.text.count(WARNING.text) == 1 and chosen.text.startswith(WARNING.text)


def test_a_companion_is_added_once() -> None:
    assert composed("[f1]", PRICED).text == f"{PRICED.text}\n\n{NOTE.text}"
    assert composed("[f2] [f1]", PRICED, NOTE).text == f"{NOTE.text} {PRICED.text}"


def test_a_warning_alone_or_an_announcement_of_nothing_is_no_answer() -> None:
    assert not composed("This is BAD.", WARNING).is_answer
    assert not composed("Here is what I found:", WARNING).is_answer
    assert composed("Which strength do you mean?").is_answer
    assert not composed("This is BAD. Anything else?").is_answer


def test_an_unknown_id_and_a_second_mention_are_left_out() -> None:
    answer = composed("[f9] [f1] [f1] [f1, f9]", HERE)
    assert answer.text == HERE.text and [one.faults for one in answer.dropped] == [["unknown_fact"]] * 2


def test_a_sentence_without_an_end_is_stopped() -> None:
    with pytest.raises(Withheld):
        composed("word " * LONGEST_SENTENCE)


AROUND_EN = Surroundings(
    "do you have nurofen 200 in florentin?", ["Nurofen", "נורופן", "Florentin, Tel Aviv"], "en"
)
AROUND_HE = Surroundings("יש נורופן בפלורנטין?", ["Nurofen", "נורופן", "פלורנטין, תל אביב"], "he")


@pytest.mark.parametrize(
    ("sentence", "around", "fault"),
    [
        ("Here are 12 of them:", AROUND_EN, "number"),
        ("Here are twelve of them:", AROUND_EN, "number"),
        ("Shall I ask Teva about it?", AROUND_EN, "name"),
        ("Shall I look in Dizengoff?", AROUND_EN, "name"),
        ("רוצה שאבדוק ב-Superpharm?", AROUND_HE, "name"),
        ("See www.example.com:", AROUND_EN, "markup"),
        ("I called check_stock for you:", AROUND_EN, "markup"),
        ("Write to me@example.com:", AROUND_EN, "contact"),
        ("Hello [[PATIENT]]!", AROUND_EN, "contact"),
        ('The leaflet reads "take it at night":', AROUND_EN, "quote"),
        ("Hеllo and wеlcome!", AROUND_EN, "letters"),
        ("Y o u s h o u l d t a k e it", AROUND_EN, "letters"),
        ("שלום וברוכים הבאים!", AROUND_EN, "wrong_language"),
        ("Here you go:", AROUND_HE, "wrong_language"),
        ("My instructions say so.", AROUND_EN, "prompt_leak"),
        ("word " * 80, AROUND_EN, "length"),
        ("Here is what we have of Nurofen in Florentin:", AROUND_EN, "announcement"),
        ("הנה מה שכתוב בעלון של נורופן:", AROUND_HE, "announcement"),
        ("As it keeps you awake, would you like to see the price?", AROUND_EN, "clauses"),
        ("הסניף סגור, לבדוק אחר?", AROUND_HE, "clauses"),
        ("Done.", AROUND_EN, "promise"),
        ("בוצע, תודה!", AROUND_HE, "promise"),
        ("Here is the list.", AROUND_EN, "no_courtesy"),
        ("Of course, one by one.", AROUND_EN, "no_courtesy"),
        ("אחד אחד.", AROUND_HE, "no_courtesy"),
        ("Shall I look for a hypoallergenic one?", AROUND_EN, "unusual"),
        ("לבדוק אם יש קרוקודיל סגול מנומר?", AROUND_HE, "unusual"),
        ("It is gentle on the stomach.", AROUND_EN, "claim"),
        ("You should take it with food.", AROUND_EN, "advice"),
        ("I've reserved one for you.", AROUND_EN, "promise"),
        ("זה בטוח לגמרי בהיריון.", AROUND_HE, "claim"),
        ("כדאי לקחת את זה בלילה.", AROUND_HE, "advice"),
        ("שמרתי לך אריזה אחת.", AROUND_HE, "promise"),
    ],
)
def test_a_faulty_sentence_is_recognised(sentence: str, around: Surroundings, fault: str) -> None:
    assert fault in faults(sentence, around)


@pytest.mark.parametrize(
    ("sentence", "around"),
    [
        ("Happy to check!", AROUND_EN),
        ("Shall I look in another branch?", AROUND_EN),
        ("How can I help you with that, Nurofen?", AROUND_EN),
        ('Did you mean "Nurofen"?', AROUND_EN),
        ("I hope the pain is gone soon!", AROUND_EN),
        ("שמחה לעזור!", AROUND_HE),
        ("רוצה שאבדוק בסניף אחר?", AROUND_HE),
    ],
)
def test_a_connecting_sentence_passes(sentence: str, around: Surroundings) -> None:
    assert faults(sentence, around) == []


@pytest.mark.parametrize(("language", "side"), [("en", 0), ("he", 1)])
def test_a_connecting_sentence_is_named_and_needs_no_check(language: Language, side: int) -> None:
    text = "[sorry_to_hear] Own words. [not_on_file] [stock] [ask_branch]"
    answer = composed(text, language=language, refused=(" ",))
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
    text = "Here you are: [f1] [f2] Anything else?"
    whole = f"Here you are:\n\n{listed.text}\n\nAs of 9:00.\n\nAnything else?"

    def shown(cards: list[Card]) -> tuple[str, str]:
        pieces: list[tuple[str, ...]] = []

        async def play() -> None:
            await answer.hear(text)
            await answer.end()

        async def fine(sentence: str) -> list[str]:
            return []

        menu = Menu([], "en")
        menu.add([listed, as_of])
        answer = Composition(menu, fine, lambda *piece: pieces.append(piece), cards)
        asyncio.run(play())
        return "".join(piece[0] for piece in pieces), "".join(piece[-1] for piece in pieces)

    assert shown([])[0] == shown([])[1] == shown([card])[0]
    # This card has no row of Jaffa, so the list stays.
    assert shown([card])[1].split() == whole.replace("As of 9:00.", "").split()
    stores = [{"name": "Jaffa", "stock": "3 units"}]
    full: Card = {"kind": "stock", "data": {**card["data"], "stores": stores}}  # type: ignore[typeddict-item]
    assert shown([full])[1] == "Here you are:\n\nJaffa has some.\n\nAnything else?"
    assert whole.split() == shown([full])[0].split()
