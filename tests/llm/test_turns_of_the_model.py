"""Which turns the language model gets: all but emergencies, awaited codes, clicks and answers to our own fixed questions."""

import json
import re
from typing import Any

import pytest
from django.core import mail
from scripted_model import ScriptedModel, by, calls, chooses, forever, says
from talking import Talk, once

from prescriptions.models import Handoff

ADVICE = "Should I take ibuprofen for my headache?"
NOT_OURS = "can't recommend"
OWN = "10000101"
LIST = (
    "prescription_management",
    {"user_identifier": "[[EMAIL_1]]", "action": "LIST", "prescription_id": None},
)


def _known(model: ScriptedModel) -> dict[str, Any]:
    """Return what the newest request says is known of the conversation."""
    known: dict[str, Any] = json.loads(model.last.messages[1]["content"])
    return known


def _refusal(model: ScriptedModel) -> str:
    [fact] = _known(model)["facts_that_are_shown_in_any_case"]
    return str(fact["text"])


@pytest.mark.parametrize(("language", "message"), [("en", ADVICE), ("he", "כדאי לי לקחת אדוויל לכאב ראש?")])
def test_a_request_for_advice_is_refused_beside_the_models_kind_words(
    model: ScriptedModel, language: str, message: str
) -> None:
    kind = {"en": "I'm sorry to hear that.", "he": "צר לי לשמוע."}[language]
    talk = once(model, message, forever(says(kind)), language=language)
    assert talk.payload["text"] == f"{kind}\n\n{_refusal(model)}"
    assert set(model.last.tools_offered) == {"raise_emergency", "offer_person", "note_medicine"}
    assert not talk.tools
    assert _known(model)["asks_for_advice"] is True and not talk.run.fallback


def test_advice_in_a_models_words_is_dropped_and_the_refusal_stays(model: ScriptedModel) -> None:
    talk = once(model, ADVICE, forever(says("Take two tablets with food. They are quite safe.")))
    assert talk.payload["text"] == _refusal(model)


def test_a_yes_to_the_refusals_offer_brings_a_person(model: ScriptedModel) -> None:
    talk = once(model, ADVICE, forever(says("I'm sorry to hear that.")))
    talk.say("yes please")
    assert Handoff.objects.filter(conversation_id=talk.conversation.pk).exists()


@pytest.mark.parametrize(
    ("language", "told", "asked"),
    [
        ("en", "my mother takes Coumadin", "is it ok for me to take advil?"),
        ("he", "אמא שלי לוקחת קומדין", "מותר לי לקחת אדוויל?"),
    ],
)
def test_a_refusal_has_the_warning_of_what_was_asked_about(
    tireless: ScriptedModel, language: str, told: str, asked: str
) -> None:
    """The medicine that advice is asked about is checked against those taken, though nothing may be looked up."""
    kind = {"en": "Thank you for telling me.", "he": "תודה שסיפרת."}[language]
    tireless.script(forever(says(kind)))
    talk = Talk(language)
    talk.say(told)
    talk.say(asked)
    assert (
        any(card["kind"] == "interactions" for card in talk.payload["cards"])
        or "interaction_check" in talk.tools
    )
    assert {"en": "cannot be taken together", "he": "אסור ליטול יחד"}[language] in talk.payload["text"]


def test_a_medicine_is_noted_while_advice_is_refused(tireless: ScriptedModel) -> None:
    noted = calls(("note_medicine", {"name": "Coumadin", "is_allergy": False}))
    tireless.script(noted, forever(says("I'm sorry to hear that.")))
    talk = Talk()
    talk.say("Coumadin is my daily company, should I take ibuprofen for my headache?")
    assert "cannot be taken together" in talk.payload["text"]


def test_a_tool_that_is_called_while_advice_is_refused_is_not_run(model: ScriptedModel) -> None:
    look = calls(("get_medication_by_name", {"medication_name": "Advil"}))
    talk = once(model, ADVICE, look, forever(says("I'm sorry to hear that.")))
    assert talk.tools == [] and "mg" not in talk.payload["text"]


def test_a_fact_that_is_asked_for_beside_advice_is_still_answered(model: ScriptedModel) -> None:
    talk = once(
        model, "What should I take for a headache? And do you have Advil in Florentin?", forever(says("!"))
    )
    assert "Florentin" in talk.payload["text"] and model.requests == []


def test_the_model_gets_the_reading_as_a_hint_and_the_categories(model: ScriptedModel) -> None:
    once(model, "is Advil in stock in Florentin?", forever(chooses("Let me look.")))
    [guess] = _known(model)["word_rules_guess"]
    assert (guess["asks_about"], guess["place"]) == ("stock_place", "Florentin, Tel Aviv")
    assert guess["medicines"] == ["Ibuprofen"] and "Pain relievers" in _known(model)["categories"]


def test_a_wish_for_a_person_is_a_question_until_the_customer_says_yes(model: ScriptedModel) -> None:
    talk = once(model, "let me talk to a real pharmacist please", calls(("offer_person", {})))
    assert not Handoff.objects.exists() and talk.payload["suggestions"]
    talk.say("yes")
    assert Handoff.objects.count() == 1 and len(model.requests) == 1


def test_the_question_goes_on_to_the_model_once_the_customer_is_identified(
    tireless: ScriptedModel,
) -> None:
    talk = Talk()
    tireless.script(calls(("patient_matter", _who("prescriptions"))))
    assert "email or phone number" in talk.say("which prescriptions do I have?")
    talk.say("david.cohen@example.com")
    asked = len(tireless.requests)

    def listed(request: dict[str, Any]) -> Any:
        identifier = json.loads(request["messages"][1]["content"])["user_identifier"]
        return calls((LIST[0], {**LIST[1], "user_identifier": identifier}))

    tireless.script(by(listed), chooses("[thank_you] [prescriptions] {prescription_state|Metformin}"))
    text = talk.say(_code())
    assert len(tireless.requests) == asked + 2 and "Metformin" in text and text.startswith("Thank you!")
    assert tireless.last.messages[-3]["content"].startswith("(The customer has just been identified")


def test_a_refill_that_waited_for_the_proof_goes_on_by_fixed_steps(tireless: ScriptedModel) -> None:
    talk = Talk()
    wanted = {**_who("refill"), "medication_name": "Metformin"}
    tireless.script(calls(("patient_matter", wanted)))
    talk.say("I'm nearly out of metformin")
    assert "email or phone number" in talk.say("yes")
    talk.say("david.cohen@example.com")
    asked = len(tireless.requests)
    talk.say(_code())
    assert len(tireless.requests) == asked and "prescription_verify" in talk.tools


def test_prescriptions_of_somebody_else_need_that_persons_code(model: ScriptedModel) -> None:
    other = {**_who("prescriptions"), "for_somebody_else": True}
    talk = once(model, "and my mother's list?", calls(("patient_matter", other)), patient=OWN)
    assert "prescription_management" not in talk.tools and "Metformin" not in talk.payload["text"]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (("patient_matter", {"matter": "doctors_prescription"}), "issued by your doctor"),
        (("patient_matter", {"matter": "refill_or_doctors_prescription"}), "?"),
        (("patient_matter", {"matter": "sign_out"}), "no longer know who you are"),
    ],
)
def test_the_system_answers_in_place_of_the_model(model: ScriptedModel, call: Any, expected: str) -> None:
    talk = once(model, "hm, you know what I need", calls(call), patient=OWN)
    assert expected in talk.payload["text"] and len(model.requests) == 1


def test_a_medicine_that_the_model_notes_is_checked_against_what_comes_up(tireless: ScriptedModel) -> None:
    talk = Talk()
    noted = calls(("note_medicine", {"name": "Coumadin", "is_allergy": False}))
    tireless.script(noted, says("[thank_you]"))
    talk.say("by the way the little coumadins are my daily company")
    tireless.script(
        calls(("get_medication_by_name", {"medication_name": "Nurofen"})), chooses("{price|Nurofen}")
    )
    assert "cannot be taken together" in talk.say("how much is Nurofen?")


def test_a_medicine_is_noted_and_checked_within_one_turn(model: ScriptedModel) -> None:
    both = calls(
        ("note_medicine", {"name": "Coumadin", "is_allergy": False}),
        ("get_medication_by_name", {"medication_name": "Nurofen"}),
    )
    talk = once(
        model, "price of Nurofen? coumadins are my daily company", both, forever(chooses("{price|Nurofen}"))
    )
    assert talk.payload["text"].count("cannot be taken together") == 1


def test_a_remembered_price_says_that_a_prescription_is_needed(tireless: ScriptedModel) -> None:
    talk = Talk()
    tireless.script(
        calls(("get_medication_by_name", {"medication_name": "Warfarin"})),
        chooses("{leaflet.use|Warfarin}"),
    )
    assert "requires a prescription" not in talk.say("what is Warfarin for?")
    tireless.script(chooses("{price|Warfarin}"))
    assert "requires a prescription" in talk.say("and how much is it?")


def test_a_medicine_that_nobody_knows_is_not_noted(model: ScriptedModel) -> None:
    noted = calls(("note_medicine", {"name": "zorbaflexin", "is_allergy": False}))
    once(model, "zorbaflexin is my daily company", noted, forever(says("[thank_you]")))
    assert json.loads(model.last.messages[-1]["content"])["code"] == "unknown_medicine"


@pytest.mark.parametrize(
    ("medicine", "store", "also"),
    [("Advil", "Florentin", "not reserved"), ("Warfarin", "Ramat Aviv", "requires a prescription")],
)
def test_that_nothing_is_reserved_is_said_beside_stock(
    tireless: ScriptedModel, medicine: str, store: str, also: str
) -> None:
    where = {"medication_query": medicine, "store_query": store, "show_all_stores": None}
    tireless.script(calls(("check_stock", where)), chooses(f"{{stock|{store}, Tel Aviv}}"))
    text = Talk().say(f"is {medicine} in stock in {store}?")
    assert text.count("not reserved") == 1 and also in text


@pytest.mark.parametrize(
    ("language", "text", "name", "expected"),
    [
        ("en", "zorbaflexin is my daily company", "zorbaflexin", "can't assess interactions for zorbaflexin"),
        ("en", "that one is my daily company", "Zorba which is safe", "for the medicine that you mentioned"),
        ("he", "זורבפלקסין זה מה שיש לי בבית", "זורבפלקסין", "לבדוק אינטראקציות עבור זורבפלקסין"),
    ],
)
def test_that_a_medicine_taken_cannot_be_checked_is_said(
    tireless: ScriptedModel, language: str, text: str, name: str, expected: str
) -> None:
    noted = calls(("note_medicine", {"name": name, "is_allergy": False}))
    tireless.script(noted, says("[thank_you]"))
    said = re.sub("[\u2066-\u2069]", "", Talk(language).say(text))
    assert expected in said and "safe" not in said


def _who(purpose: str) -> dict[str, Any]:
    return {"matter": purpose, "medication_name": None, "for_somebody_else": False}


def _code() -> str:
    """Return the code of the newest e-mail."""
    return "".join(char for char in mail.outbox[-1].body if char.isdigit())[:6]
