"""A language model drives the conversation: the real SDK against a server that says what the test scripts."""

import re

from scripted_model import ScriptedModel, by, calls, chooses, forever, says
from scripted_replies import facts_offered
from talking import Talk, once, sent_to

ADVIL = ("get_medication_by_name", {"medication_name": "Advil"})
FLORENTIN = (
    "check_stock",
    {"medication_query": "Advil", "store_query": "Florentin", "show_all_stores": None},
)
IN_FLORENTIN = "Ibuprofen is in stock at Florentin, Tel Aviv but limited quantity available (3 units)."
NOT_RESERVED = "\n\nStock as of 00:00; it is not reserved."
NO_PRESCRIPTION = "Ibuprofen does not require a prescription (over the counter, OTC)."


def _at_midnight(text: str) -> str:
    return re.sub(r"as of \d\d:\d\d", "as of 00:00", text)


def test_tools_run_and_the_answer_is_shown_piece_by_piece(model: ScriptedModel) -> None:
    talk = Talk()
    model.script(
        calls(ADVIL, FLORENTIN),
        chooses("[hello] {stock|Florentin, Tel Aviv} {prescription|Ibuprofen}", chunks=20),
    )
    text = talk.say("do you have Advil in Florentin?")
    assert _at_midnight(text) == f"Hello! {IN_FLORENTIN} {NO_PRESCRIPTION}{NOT_RESERVED}"
    assert talk.tools == ["get_medication_by_name", "check_stock"]
    assert talk.shown[:2] == ["Hello!", f"Hello! {IN_FLORENTIN}"]
    assert talk.shown[-1] == text
    assert [card["kind"] for card in talk.payload["cards"]] == ["medication", "stock"]
    assert talk.run.tokens_in > 0 and talk.run.prompt and not talk.run.fallback


def test_further_branches_that_the_model_chose_are_left_to_the_card(model: ScriptedModel) -> None:
    talk = Talk()
    model.script(
        calls(("check_stock", {**FLORENTIN[1], "store_query": None})),
        chooses("{stock|Ramat Aviv, Tel Aviv} {stock|Florentin, Tel Aviv} {as_of|} [offer_price]"),
    )
    text = talk.say("which branches have Advil?")
    assert IN_FLORENTIN in text and "not reserved" in text
    first = "Ibuprofen is in stock at Ramat Aviv, Tel Aviv but limited quantity available (5 units)."
    assert talk.payload["brief"] == f"{first} Shall I look up the price?"
    assert talk.shown[-1] == text
    pieces = [frame.get("brief", frame)["text"] for frame in talk.frames if frame["type"] == "message.delta"]
    assert "".join(pieces) == talk.payload["brief"]


def test_a_statement_of_the_models_own_is_dropped_and_the_rest_stays(model: ScriptedModel) -> None:
    talk = Talk()
    model.script(
        calls(FLORENTIN),
        chooses("[hello] {stock|Florentin, Tel Aviv} Warfarin needs no prescription. [anything_else]"),
    )
    text = talk.say("do you have Advil in Florentin?")
    assert _at_midnight(text) == f"Hello! {IN_FLORENTIN}{NOT_RESERVED} Is there anything else?"
    assert not any("Warfarin" in shown for shown in talk.shown) and len(model.requests) == 2


def test_a_yes_of_the_models_own_is_never_shown(model: ScriptedModel) -> None:
    for store, there in (("Florentin", True), ("Jaffa", False)):
        look = calls(("check_stock", {**FLORENTIN[1], "store_query": store}))
        talk = once(
            model, f"do you have Advil in {store}?", look, chooses(f"Yes! {{stock|{store}, Tel Aviv}}")
        )
        assert "Yes" not in talk.frames_text
        assert ("is in stock" in talk.payload["text"].splitlines()[0]) == there


def test_a_yes_to_the_offer_of_a_pharmacist_brings_one_in(model: ScriptedModel) -> None:
    talk = once(model, "do you have Advil in Florentin?", calls(FLORENTIN), says("[offer_pharmacist]"))
    assert talk.payload["text"].startswith("Shall I pass you on") and talk.payload["suggestions"]
    model.reset()
    assert "our staff" in talk.say("yes please") and not model.requests


def test_an_answer_of_which_nothing_is_left_is_corrected_once(model: ScriptedModel) -> None:
    """The model is shown its own text and what of it cannot be shown."""
    talk = once(
        model,
        "do you have Advil in Florentin?",
        calls(FLORENTIN),
        says("There are plenty of packs."),
        chooses("{stock|Florentin, Tel Aviv}"),
    )
    assert _at_midnight(talk.payload["text"]) == IN_FLORENTIN + NOT_RESERVED and not talk.run.fallback
    written, correction = model.last.messages[-2:]
    assert written == {"role": "assistant", "content": "There are plenty of packs."}
    assert correction["role"] == "system" and "There are plenty of packs." in correction["content"]
    assert not any("plenty" in shown for shown in talk.shown)


def test_facts_keep_their_ids_and_are_used_again_without_a_call(model: ScriptedModel) -> None:
    talk = once(model, "tell me about Advil", calls(ADVIL), chooses("{leaflet.use|Ibuprofen}"))
    before = {(one["kind"], one["about"]): one["id"] for one in facts_offered(model.last.body)}
    model.reset()
    model.script(chooses("{leaflet.storage|Ibuprofen}"))
    assert "25°C" in talk.say("and how is it stored?") and not talk.tools
    again = {(one["kind"], one["about"]): one["id"] for one in facts_offered(model.last.body)}
    assert again and again == before


def test_stock_is_not_remembered_for_later_turns(model: ScriptedModel) -> None:
    talk = once(
        model, "do you have Advil in Florentin?", calls(FLORENTIN), chooses("{stock|Florentin, Tel Aviv}")
    )
    model.reset()
    model.script(says("[offer_stock]"))
    talk.say("is it still there at this hour?")
    assert not [one for one in facts_offered(model.last.body) if one["kind"] == "stock"]


def test_unknown_ids_are_left_out(model: ScriptedModel) -> None:
    named = by(lambda request: says(f"[f999] [{[*facts_offered(request)][1]['id']}, f998]"))
    talk = once(model, "do you have Advil in Florentin?", calls(FLORENTIN), named)
    assert _at_midnight(talk.payload["text"]) == IN_FLORENTIN + NOT_RESERVED


def test_a_hebrew_message_is_answered_in_hebrew(model: ScriptedModel) -> None:
    look = calls(
        ("check_stock", {"medication_query": "אדוויל", "store_query": "פלורנטין", "show_all_stores": None})
    )
    said = chooses("[hello] {stock|פלורנטין, תל אביב}", chunks=9)
    talk = once(model, "יש לכם אדוויל בפלורנטין?", look, said, language="he")
    assert talk.payload["text"].startswith("שלום! איבופרופן במלאי בפלורנטין")
    assert (talk.payload["lang"], talk.run.fallback) == ("he", "")
    assert '"answer_language": "Hebrew"' in model.requests[0].messages[1]["content"]
    assert (
        "איבופרופן" in model.last.messages[-1]["content"]
        and "Ibuprofen" not in model.last.messages[-1]["content"]
    )


def test_only_functions_that_the_conversation_allows_are_offered(model: ScriptedModel) -> None:
    private = {"prescription_management", "prescription_verify"}
    once(model, "hello there, what is new?", forever(says("Happy to help.")))
    assert not private & set(model.last.tools_offered) and "patient_matter" in model.last.tools_offered
    once(model, "hello there, what is new?", forever(says("Happy to help.")), patient="10000101")
    assert private <= set(model.last.tools_offered)


def test_after_a_procedures_call_the_model_is_not_called_again(model: ScriptedModel) -> None:
    """The model is not called again, and what it wrote before the call is dropped."""
    for call, expected in (
        (("patient_matter", {"matter": "prescriptions"}), "email or phone number"),
        (("patient_matter", {"matter": "refill"}), "Do you want to refill a prescription?"),
        (("offer_person", {}), "Shall I pass you on?"),
    ):
        talk = once(model, "hmm, what now?", calls(call, says="One moment. "))
        assert expected in talk.payload["text"] and "One moment" not in talk.payload["text"]
        assert len(model.requests) == 1 and not talk.tools
    talk = once(
        model,
        "hmm, what now?",
        calls(("patient_matter", {"matter": "refill", "medication_name": "Metformin"})),
        patient="10000101",
    )
    talk.say("yes")
    assert len(model.requests) == 1
    verified = ["prescription_management", "inventory_check", "prescription_verify"]
    assert talk.tools == [*verified, "interaction_check"]


def test_the_last_twelve_turns_are_sent_to_the_model(model: ScriptedModel) -> None:
    model.script(forever(says("Happy to help.")))
    talk = Talk()
    for number in range(15):
        talk.say(f"hello there, what is new in part {number}x?")
    said = [message["content"] for message in model.last.messages if message["role"] == "user"]
    assert said == [f"hello there, what is new in part {number}x?" for number in range(2, 15)]


def test_personal_answers_are_not_sent_after_the_verification_has_ended(model: ScriptedModel) -> None:
    talk = once(
        model,
        "which prescriptions do I have?",
        calls(("patient_matter", {"matter": "refill", "medication_name": "Metformin"})),
        patient="10000101",
    )
    talk.say("yes")
    assert talk.payload["personal"]
    talk.forget()
    model.reset()
    model.script(forever(says("Happy to help.")))
    talk.say("hello there, what is new?")
    assert "refills remaining" not in sent_to(model) and "prescriptions do I have" not in sent_to(model)
    assert "what is new" in sent_to(model)
    assert "prescription_management" not in model.last.tools_offered


def test_a_fact_without_a_function_call_is_sent_back_to_the_model(model: ScriptedModel) -> None:
    look = calls(("get_medication_by_name", {"medication_name": "Warfarin"}))
    talk = once(
        model,
        "does warfarin need a prescription?",
        says("Warfarin needs one."),
        look,
        chooses("{prescription|Warfarin}"),
    )
    assert not talk.run.fallback and talk.tools == ["get_medication_by_name"]
    assert talk.payload["text"] == "Warfarin requires a prescription."


def test_at_the_limit_of_calls_the_model_answers_with_what_it_has(model: ScriptedModel) -> None:
    """Calls beyond the limit are answered by a code, and no further ones are allowed."""
    talk = once(
        model,
        "tell me all about Advil in Florentin",
        calls(ADVIL, FLORENTIN),
        calls(*[FLORENTIN] * 5, *[("store_info", {"query": None})] * 4),
        chooses("{stock|Florentin, Tel Aviv}"),
    )
    assert _at_midnight(talk.payload["text"]) == IN_FLORENTIN + NOT_RESERVED and not talk.run.fallback
    refused = [m for m in model.last.messages if m["role"] == "tool" and "limit_reached" in m["content"]]
    assert len(refused) == 3 and model.last.body["tool_choice"] == "none"


def test_an_interaction_check_does_not_prove_a_claim_about_stock(model: ScriptedModel) -> None:
    talk = Talk()
    claim = "Advil and aspirin are both in stock in Jaffa."
    model.script(says(claim), says(claim))
    assert claim not in talk.say("do you have Advil and aspirin in Jaffa?")
    assert (talk.run.fallback, claim in "".join(talk.shown[-1:])) == ("withheld", False)
