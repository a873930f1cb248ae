"""What a customer takes is remembered, and what comes up beside it is checked unasked, by both models."""

import re
from typing import Any

import pytest
from scripted_model import ScriptedModel, calls, chooses, says
from talking import Talk

from agent.llm.offline import clashes
from agent.llm.offline.reading.recognise import recognise
from agent.llm.offline.reading.taken import medicines_taken
from agent.tools import interaction_check

pytestmark = pytest.mark.usefixtures("demo_committed")
AVOID = "cannot be taken together according to our data"
TOO_MANY = "too many medicines to check"
NUROFEN = calls(("get_medication_by_name", {"medication_name": "Nurofen"}))


def _bare(text: str) -> str:
    return re.sub("[\u2066-\u2069]", "", text)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("I'm on warfarin. What painkillers do you sell?", [15]),
        ("I take lisinopril and simvastatin every morning", [21, 16]),
        ("my mother takes Coumadin", [15]),
        ("אני לוקחת קומדין כל יום", [15]),
        ("אבא נוטל ליסינופריל", [21]),
        ("can I take warfarin?", []),
        ("אפשר לקחת קומדין?", []),
        ("do you have warfarin?", []),
        ("I take zorbaflexin", []),
        ("Is it ok if I take Advil with food?", []),
    ],
)
def test_medicines_that_are_taken_are_recognised(text: str, ids: list[int]) -> None:
    assert [one["id"] for one in medicines_taken(recognise(text))] == ids


def test_a_medicine_that_comes_up_later_is_checked_once() -> None:
    talk = Talk()
    talk.say("I'm on warfarin")
    assert AVOID in talk.say("do you have Nurofen?") and "interaction_check" in talk.tools
    assert any(card["kind"] == "interactions" for card in talk.payload["cards"])
    assert AVOID not in talk.say("what does the leaflet of Nurofen say about driving?")
    assert AVOID in talk.say("can I take Nurofen together with warfarin?")  # asked for


def test_a_list_warns_of_the_products_that_clash() -> None:
    text = _bare(Talk().say("I'm on warfarin. What painkillers do you sell?"))
    assert "Ibuprofen and Warfarin cannot be taken together" in text
    assert "Nurofen and Warfarin cannot be taken together" in text


def test_hebrew_is_warned_in_hebrew() -> None:
    talk = Talk("he")
    talk.say("אני לוקחת קומדין")
    assert "אסור ליטול יחד את איבופרופן ואת וורפרין" in _bare(talk.say("יש לכם אדוויל?"))


def test_the_patients_own_list_counts_once_it_was_read() -> None:
    """Amoxicillin and metformin are on the list; neither is said to clash with cetirizine."""
    talk = Talk(patient="10000101")
    talk.say("what prescriptions do I have?")
    talk.say("do you have Cetirizine?")
    assert "interaction_check" in talk.tools and "according to our data" not in talk.payload["text"]
    talk.forget()
    talk.say("do you have Nurofen?")
    assert "interaction_check" not in talk.tools


def test_a_check_that_fails_is_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError

    talk = Talk()
    talk.say("I'm on warfarin")
    monkeypatch.setattr(interaction_check, "_medications", broken)
    assert "can't read our data" in talk.say("do you have Nurofen?")


def test_a_medicine_said_to_be_taken_is_checked_against_what_was_talked_about() -> None:
    talk = Talk()
    talk.say("Tell me about Nurofen")
    assert AVOID in talk.say("I'm on warfarin. what is it good for?")
    talk = Talk("he")
    talk.say("ספרו לי על נורופן")
    assert "אסור ליטול יחד" in _bare(talk.say("אני לוקחת קומדין"))


def test_as_many_are_checked_as_one_check_takes() -> None:
    """Those that came up first, and all that are taken."""
    step = clashes.clash_step(range(1, 100), {200, 201}, "en")
    assert step and step.arguments["med_ids"] == [*map(str, range(1, 49)), "200", "201"]
    assert not clashes.is_whole(step, range(1, 100), {200, 201})
    step = clashes.clash_step(range(1, 40), {200}, "en")
    assert step and len(step.arguments["med_ids"]) == 40 and clashes.is_whole(step, range(1, 40), {200})
    assert clashes.clash_step([1], range(2, 100), "en")


def test_what_is_too_much_for_one_check_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clashes, "MOST_IDS", 2)
    assert TOO_MANY in Talk().say("I'm on warfarin. What painkillers do you sell?")


def test_a_second_medicine_that_is_taken_is_checked_against_the_first() -> None:
    talk = Talk()
    talk.say("I'm on warfarin")
    assert AVOID in talk.say("I take Nurofen")
    assert AVOID not in talk.say("I take Nurofen")


@pytest.mark.usefixtures("tireless")
class TestLanguageModel:
    """The warning is there whatever the model does."""

    def test_the_warning_is_added(self, tireless: ScriptedModel) -> None:
        talk = Talk()
        tireless.script(says("[thanks_for_telling]"))
        talk.say("I'm on warfarin, just so you know")
        tireless.script(NUROFEN, chooses("{price|Nurofen} [anything_else]"))
        text = _bare(talk.say("how much is Nurofen?"))
        assert "Nurofen and Warfarin cannot be taken together" in text and "₪32.90" in text
        assert talk.tools == ["interaction_check", "get_medication_by_name"]
        tireless.script(NUROFEN, chooses("{leaflet.driving|Nurofen}"))
        assert AVOID not in talk.say("and driving with Nurofen?")

    def test_both_in_one_message_are_checked_once(self, tireless: ScriptedModel) -> None:
        tireless.script(NUROFEN, chooses("{price|Nurofen}"))
        talk = Talk()
        text = _bare(talk.say("I take warfarin. How much is Nurofen?"))
        assert text.count(AVOID) == 1 and talk.tools.count("interaction_check") == 1

    def test_a_medicine_said_to_be_taken_is_checked_against_what_was_talked_about(
        self, tireless: ScriptedModel
    ) -> None:
        talk = Talk()
        tireless.script(NUROFEN, chooses("{price|Nurofen}"))
        talk.say("how much is Nurofen?")
        tireless.script(says("[thanks_for_telling]"))
        assert AVOID in talk.say("I'm on warfarin, just so you know")

    def test_so_is_one_that_the_model_notes(self, tireless: ScriptedModel) -> None:
        talk = Talk()
        tireless.script(NUROFEN, chooses("{price|Nurofen}"))
        talk.say("how much is Nurofen?")
        noted = calls(("note_medicine", {"name": "Coumadin", "is_allergy": False}))
        tireless.script(noted, says("[thanks_for_telling]"))
        assert AVOID in talk.say("my blood thinner is that one with a C")

    def test_what_is_too_much_for_one_check_is_said(
        self, tireless: ScriptedModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(clashes, "MOST_IDS", 2)
        search = calls(("inventory_check", {"query": "pain relievers", "language": "en"}))
        tireless.script(search, chooses("[found] {list|Pain relievers}"))
        assert TOO_MANY in Talk().say("I'm on warfarin. What painkillers do you sell?")

    def test_a_check_of_two_medicines_that_fails_is_not_silent(
        self, tireless: ScriptedModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: Any) -> Any:
            raise RuntimeError

        monkeypatch.setattr(interaction_check, "_medications", broken)
        tireless.script(says("[thank_you]"))
        assert "can't read our data" in Talk().say("Nurofen and warfarin, are they fine together?")

    def test_a_second_medicine_that_is_noted_is_checked_against_the_first(
        self, tireless: ScriptedModel
    ) -> None:
        talk = Talk()
        tireless.script(says("[thank_you]"))
        talk.say("I'm on warfarin")
        noted = calls(("note_medicine", {"name": "Nurofen", "is_allergy": False}))
        tireless.script(noted, says("[thank_you]"))
        assert AVOID in talk.say("the red box is my daily company")
