"""A language model drives the conversation: the real SDK against a server that says what the test scripts."""

from llm.talking import Talk
from scripted_model import ScriptedModel, calls, says


def test_tools_run_and_the_answer_is_shown_sentence_by_sentence(model: ScriptedModel) -> None:
    talk = Talk()
    model.script(
        calls(
            ("get_medication_by_name", {"medication_name": "Advil"}),
            (
                "check_stock",
                {"medication_query": "Advil", "store_query": "Florentin", "show_all_stores": None},
            ),
        ),
        says("Florentin has 3 packs of Ibuprofen (Advil). No prescription is needed.", chunks=20),
    )
    text = talk.say("do you have Advil in Florentin?")
    assert text == "Florentin has 3 packs of Ibuprofen (Advil). No prescription is needed."
    assert talk.tools == ["get_medication_by_name", "check_stock"]
    assert "Florentin has 3 packs of Ibuprofen (Advil). " in talk.shown
    assert talk.shown[-1] == text
    assert [card["kind"] for card in talk.payload["cards"]] == ["medication", "stock"]
    assert talk.run.tokens_in > 0 and talk.run.prompt and not talk.run.fallback


def test_a_medicine_that_nobody_looked_up_is_not_spoken_of(model: ScriptedModel) -> None:
    talk = Talk()
    stock = (
        "check_stock",
        {"medication_query": "Advil", "store_query": "Florentin", "show_all_stores": None},
    )
    wrong = says("Florentin has 3 packs of Ibuprofen. Warfarin needs no prescription.")
    model.script(calls(stock), wrong, says("Florentin has 3 packs of Ibuprofen."))
    assert talk.say("do you have Advil in Florentin?") == "Florentin has 3 packs of Ibuprofen."


def test_an_answer_about_another_medicine_than_the_one_asked_about_is_not_shown(model: ScriptedModel) -> None:
    talk = Talk()
    other = ("get_medication_by_name", {"medication_name": "Advil"})
    model.script(calls(other), says("It is listed as Ibuprofen."), says("It is listed as Ibuprofen."))
    text = talk.say("What does aspirin contain?")
    assert "Aspirin" in text and talk.run.fallback == "withheld"
