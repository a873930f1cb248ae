"""A language model drives the conversation: the real SDK against a server that says what the test scripts."""

from scripted_model import ScriptedModel, calls, forever, says
from talking import Talk, once, sent_to


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


def test_an_answer_about_a_medicine_that_was_not_looked_up_is_corrected(model: ScriptedModel) -> None:
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


def test_a_hebrew_message_is_answered_in_hebrew(model: ScriptedModel) -> None:
    look = calls(
        ("check_stock", {"medication_query": "אדוויל", "store_query": "פלורנטין", "show_all_stores": None})
    )
    talk = once(
        model,
        "יש לכם אדוויל בפלורנטין?",
        look,
        says("בפלורנטין יש 3 אריזות של אדוויל.", chunks=9),
        language="he",
    )
    assert talk.payload["text"].startswith("בפלורנטין יש 3 אריזות של אדוויל.")
    assert (talk.payload["lang"], talk.run.fallback) == ("he", "")
    assert '"answer_language": "Hebrew"' in model.requests[0].messages[1]["content"]
    assert (
        "איבופרופן" in model.last.messages[-1]["content"]
        and "Ibuprofen" not in model.last.messages[-1]["content"]
    )


def test_only_functions_that_the_conversation_allows_are_offered(model: ScriptedModel) -> None:
    private = {"prescription_management", "prescription_verify", "start_refill"}
    once(model, "hello there, what is new?", forever(says("A branch is near.")))
    assert not private & set(model.last.tools_offered) and "identify_customer" in model.last.tools_offered
    once(model, "hello there, what is new?", forever(says("A branch is near.")), patient="10000101")
    assert private <= set(model.last.tools_offered) and "identify_customer" not in model.last.tools_offered


def test_after_a_procedures_call_the_model_is_not_called_again(model: ScriptedModel) -> None:
    """The model is not called again, and what it wrote before the call is dropped."""
    for call, expected in (
        (("identify_customer", {"purpose": "prescriptions"}), "email or phone number"),
        (("identify_customer", {"purpose": "refill"}), "email or phone number"),
        (("offer_person", {}), "Shall I pass you on?"),
    ):
        talk = once(model, "hmm, what now?", calls(call, says="One moment. "))
        assert expected in talk.payload["text"] and "One moment" not in talk.payload["text"]
        assert len(model.requests) == 1 and not talk.tools
    talk = once(
        model, "hmm, what now?", calls(("start_refill", {"medication_name": "Metformin"})), patient="10000101"
    )
    assert talk.tools == ["inventory_check", "prescription_verify"]


def test_the_last_twelve_turns_are_sent_to_the_model(model: ScriptedModel) -> None:
    model.script(forever(says("A branch is near.")))
    talk = Talk()
    for number in range(15):
        talk.say(f"hello there, what is new in part {number}x?")
    said = [message["content"] for message in model.last.messages if message["role"] == "user"]
    assert said == [f"hello there, what is new in part {number}x?" for number in range(2, 15)]


def test_personal_answers_are_not_sent_after_the_verification_has_ended(model: ScriptedModel) -> None:
    talk = once(
        model,
        "which prescriptions do I have?",
        calls(("start_refill", {"medication_name": "Metformin"})),
        patient="10000101",
    )
    assert talk.payload["personal"]
    talk.forget()
    model.reset()
    model.script(forever(says("A branch is near.")))
    talk.say("hello there, what is new?")
    assert "refills remaining" not in sent_to(model) and "prescriptions do I have" not in sent_to(model)
    assert "what is new" in sent_to(model)
    assert "prescription_management" not in model.last.tools_offered


def test_a_fact_without_a_tool_call_is_sent_back_to_the_model(model: ScriptedModel) -> None:
    look = calls(("get_medication_by_name", {"medication_name": "Warfarin"}))
    talk = once(
        model,
        "does warfarin need a prescription?",
        says("Warfarin is on file."),
        look,
        says("Warfarin is on file as such."),
    )
    assert not talk.run.fallback and talk.tools == ["get_medication_by_name"]
    assert "Call the function" in model.requests[1].messages[-1]["content"]


def test_an_interaction_check_does_not_prove_a_claim_about_stock(model: ScriptedModel) -> None:
    talk = Talk()
    claim = "Advil and aspirin are both in stock in Jaffa."
    model.script(says(claim), says(claim))
    assert claim not in talk.say("do you have Advil and aspirin in Jaffa?")
    assert (talk.run.fallback, claim in "".join(talk.shown[-1:])) == ("withheld", False)
