"""What a model may show of stored answers: whole ones or whole sentences, with what must not be left out."""

from typing import Any

import pytest

from agent.knowledge.flow.quoting import Quotable, quotes_named, sentences

LONG = (
    "Insulin is kept in the refrigerator. It must not freeze. The pen in use may stay in the room. That is for four weeks. "
    "Most pens have a window. Ask a pharmacist if it looks cloudy. Needles are sold apart."
)


def quotable(answer: str = "Cold.", language: str = "en", explanation: str = "", **fields: Any) -> Quotable:
    qa: Any = {
        "id": "A1",
        "DEMUC": "Storage",
        "CHU_DE_CON": "",
        "CAUHOI": "Where?",
        "CAUTRALOI": answer,
        "GIAITHICH": explanation,
        "source": "A leaflet",
        "version": 2,
        **fields,
    }
    return Quotable(qa, language)


def texts(explanation: str, *entries: Quotable) -> list[str]:
    return [quote.text for quote in quotes_named(explanation, entries)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two! Three? Four… Five", ["One.", "Two!", "Three?", "Four…", "Five"]),
        ("Below 2.5 mg, e.g. a tablet. Dr. Cohen and the U.S. FDA say so.", ["Below 2.5 mg, e.g. a tablet.", "Dr. Cohen and the U.S. FDA say so."]),
        ("First line\n- second\n\n- third", ["First line", "- second", "- third"]),
        ("שומרים במקרר. לא מקפיאים!", ["שומרים במקרר.", "לא מקפיאים!"]),
        ("", []),
    ],
)  # fmt: skip
def test_sentences(text: str, parts: list[str]) -> None:
    assert list(sentences(text)) == parts


def test_a_marker_quotes_a_whole_answer_with_its_source_and_version() -> None:
    (quote,) = quotes_named("[q1]", [quotable(LONG)])
    assert (quote.entry_id, quote.version, quote.question, quote.text, quote.source) == (
        "A1", 2, "Where?", LONG, "A leaflet",
    )  # fmt: skip


@pytest.mark.parametrize(
    "written",
    ["[q2] [q1]", "[q2,q1]", "[Q2] and then [q1] [q2]", "Take ten. [q2][q1]", "[q2]. [q9] [q0] [x] [f1] [q1.99] [q1]", "[q2] [q1] [q1.1]"],
)  # fmt: skip
def test_answers_come_once_in_the_order_named_and_nothing_else_is_shown(written: str) -> None:
    assert texts(written, quotable("One."), quotable("Two.")) == ["Two.", "One."]


@pytest.mark.parametrize(
    "written",
    [
        "",
        "Take ten tablets.",
        "q1",
        "(q1)",
        "[[]]",
        "[q1.0]",
        "[q-1]",
        "[q1.1.1]",
        "[q99999999999]",
        "[" * 500,
    ],
)
def test_what_is_no_marker_shows_nothing(written: str) -> None:
    assert texts(written, quotable(LONG)) == []


def test_four_answers_are_quoted_at_most() -> None:
    assert len(texts("[q1] [q2] [q3] [q4] [q5]", *(quotable(f"{number}.") for number in range(5)))) == 4


def test_a_sentence_brings_warnings_and_what_it_leans_on() -> None:
    # "That is for four weeks" says nothing without the sentence before it; "must not" and "Ask" are always said.
    assert texts("[q1.4]", quotable(LONG)) == [
        "Insulin is kept in the refrigerator. It must not freeze. The pen in use may stay in the room. That is for four weeks. […] "
        "Ask a pharmacist if it looks cloudy."
    ]


def test_sentences_of_a_short_answer_bring_the_whole_of_it() -> None:
    assert texts("[q1.2]", quotable("One. Two. Three.")) == ["One. Two. Three."]


def test_an_answer_in_a_language_without_rules_is_quoted_whole() -> None:
    assert texts("[q1.1]", quotable("Un. Deux. Trois. Quatre. Cinq.", language="fr")) == [
        "Un. Deux. Trois. Quatre. Cinq."
    ]


def test_hebrew_sentences() -> None:
    answer = "שומרים את התרופה במקרר. אסור להקפיא. העט עשוי פלסטיק. לעט יש חלון. הצבע כחול."
    assert texts("[q1.4]", quotable(answer, language="he")) == ["אסור להקפיא. […] לעט יש חלון."]


def test_a_sentence_of_the_explanation_stands_below() -> None:
    entry = quotable("One. Two.", explanation="Because of heat. And of light.")
    assert texts("[q1.3]", entry) == ["One. Two.\n\nBecause of heat."]
