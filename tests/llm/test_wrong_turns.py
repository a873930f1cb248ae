"""Turns that once went wrong: a yes to something else, words taken for medicines, facts refused as advice."""

import re

import pytest
from scripted_model import ScriptedModel, calls, chooses
from talking import Talk

from agent.llm.offline.reading.recognise import recognise
from agent.safety.policy import InputVerdict, check_input
from prescriptions.models import Handoff

pytestmark = pytest.mark.usefixtures("demo_committed")
AVOID = "cannot be taken together according to our data"


@pytest.mark.parametrize(
    ("language", "asks", "goes_on", "shown"),
    [
        ("en", "should I take advil for my headache?", "ok ill take it, which branch", "Ramat Aviv"),
        ("en", "should I take advil for my headache?", "ok I'll take it. which branch has it", "Ramat Aviv"),
        ("en", "should I take advil for my headache?", "ok ill take it, where", "Ramat Aviv"),
        ("he", "כדאי לי לקחת אדוויל?", "טוב אקח את זה, באיזה סניף יש", "רמת אביב"),
        ("he", "כדאי לי לקחת אדוויל?", "כן, באיזה סניף יש", "רמת אביב"),
    ],
)
def test_a_yes_that_asks_for_a_branch_calls_no_person(
    language: str, asks: str, goes_on: str, shown: str
) -> None:
    talk = Talk(language)
    talk.say(asks)
    assert shown in talk.say(goes_on) and not Handoff.objects.exists()


@pytest.mark.parametrize(
    ("language", "yes"), [("en", "ok, yes please"), ("en", "yes, pass me on"), ("he", "כן בבקשה")]
)
def test_a_plain_yes_still_calls_one(language: str, yes: str) -> None:
    talk = Talk(language)
    talk.say("should I take advil for my headache?" if language == "en" else "כדאי לי לקחת אדוויל?")
    talk.say(yes)
    assert Handoff.objects.count() == 1


@pytest.mark.parametrize(
    "text",
    [
        "it started with a z",
        "the name started with a z",
        "זה התחיל ב-ז",
        "are you open fri?",
        "jaffa tues",
        "thurs and wed?",
    ],
)
def test_these_words_are_no_medicines(text: str) -> None:
    for clause in recognise(text).clauses:
        assert not clause.medicines and not clause.unknown


def test_short_weekdays_are_understood() -> None:
    for asks in ("are you open fri?", "opening hours fri jaffa", "jaffa opening times on thurs"):
        text = Talk().say(asks)
        assert ("Friday:" if "fri" in asks else "Thursday:") in text and "couldn't find" not in text


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("the white pills for allergy", InputVerdict.ANSWER),
        ("I want the small yellow tablets for heartburn", InputVerdict.ANSWER),
        ("הכדורים הלבנים לאלרגיה", InputVerdict.ANSWER),
        ("I did not ask for a recommendation, only the dosage", InputVerdict.ANSWER),
        ("I'm not asking for advice, just tell me the price", InputVerdict.ANSWER),
        ("לא ביקשתי המלצה, רק את המינון", InputVerdict.ANSWER),
        ("pills for allergy", InputVerdict.ADVICE),
        ("whats the medicine for allergy", InputVerdict.ADVICE),
        ("should I take the white pills for allergy?", InputVerdict.ADVICE),
        ("what's good for allergy, the white pills?", InputVerdict.ADVICE),
        ("I don't want your opinion, just recommend something", InputVerdict.ADVICE),
        ("can you give me a recommendation?", InputVerdict.ADVICE),
        ("מה הכדורים הטובים לאלרגיה", InputVerdict.ADVICE),
        ("אני לא רוצה עצה, תמליץ לי על משהו", InputVerdict.ADVICE),
        ("אפשר המלצה?", InputVerdict.ADVICE),
    ],
)
def test_facts_are_not_refused_as_advice(text: str, verdict: InputVerdict) -> None:
    assert check_input(text) == verdict


@pytest.mark.parametrize(
    ("language", "turns", "shown"),
    [
        ("en", ["the white pills for allergy"], "Cetirizine"),
        ("he", ["הכדורים הלבנים לאלרגיה"], "צטיריזין"),
        (
            "en",
            ["dosage of advil", "I did not ask for a recommendation, only the dosage"],
            "Ibuprofen – dosage",
        ),
        ("he", ["מה המינון של אדוויל", "לא ביקשתי המלצה, רק את המינון"], "איבופרופן – מינון"),
    ],
)
def test_they_are_answered_with_facts(language: str, turns: list[str], shown: str) -> None:
    talk = Talk(language)
    assert shown in [talk.say(text) for text in turns][-1]


@pytest.mark.usefixtures("tireless")
def test_a_pair_is_said_once_whatever_the_order_of_its_names(tireless: ScriptedModel) -> None:
    check = calls(("interaction_check", {"med_ids": ["15", "1"], "language": "en"}))
    tireless.script(
        check, chooses("{interaction|Warfarin and Ibuprofen} {interaction|Ibuprofen and Warfarin}")
    )
    text = re.sub("[\u2066-\u2069]", "", Talk().say("can I take ibuprofen with warfarin?"))
    assert text.count(AVOID) == 1
