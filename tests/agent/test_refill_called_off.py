"""What a customer calls off before the yes cannot be ordered any more; of two cards only the newer can be answered."""

from typing import Any

import pytest
from talking import Talk

from agent.conversation import confirmations
from agent.models import Confirmation
from inventory.models import StockLevel
from prescriptions.models import RefillRequest

pytestmark = pytest.mark.usefixtures("demo_committed")
DAVID = "10000101"


def press(talk: Talk, confirm_id: Any, decision: Any = "yes") -> None:
    confirmations.confirmation_answer(
        conversation_id=talk.conversation.pk,
        key=talk.conversation.secret_hash,
        confirm_id=confirm_id,
        decision=decision,
        address="192.0.2.1",
    )


def cards(talk: Talk) -> list[str]:
    return [event["confirm_id"] for event in talk.page if event["type"] == "confirm.requested"]


def closed(talk: Talk) -> list[tuple[str, str]]:
    return [
        (event["confirm_id"], event["reason"]) for event in talk.page if event["type"] == "confirm.closed"
    ]


@pytest.mark.parametrize(
    ("language", "asks", "stops", "said"),
    [
        ("en", "refill metformin from the online store", "stop, don't order it", "was cancelled"),
        ("en", "refill metformin from the online store", "never mind", "was cancelled"),
        ("en", "refill metformin from the online store", "no thanks", "was cancelled"),
        ("en", "refill metformin from the online store", "cancel my refill", "was cancelled"),
        ("he", "לנפק מטפורמין מהחנות המקוונת", "לא משנה, עזבו", "בוטלה"),
        ("he", "לנפק מטפורמין מהחנות המקוונת", "עזבו", "בוטלה"),
        ("he", "לנפק מטפורמין מהחנות המקוונת", "לא", "בוטלה"),
    ],
)
def test_what_was_called_off_cannot_be_ordered(language: str, asks: str, stops: str, said: str) -> None:
    talk = Talk(language, DAVID)
    talk.say(asks)
    [card] = cards(talk)
    assert said in talk.say(stops)
    request = RefillRequest.objects.get()
    assert (request.outcome, request.is_confirmed) == ("cancelled", False)
    assert closed(talk) == [(card, "called_off")]
    with pytest.raises(confirmations.ConfirmationCalledOff):
        press(talk, card)
    # Asked for again, it is a new request.
    talk.say(asks)
    press(talk, cards(talk)[-1])
    talk.answer()
    assert RefillRequest.objects.get(is_confirmed=True).pk != request.pk


@pytest.mark.parametrize(
    ("language", "asks", "stops", "said"),
    [
        ("en", "refill metformin", "stop, don't order it", "was cancelled"),
        ("en", "refill metformin", "never mind", "was cancelled"),
        ("he", "לנפק מטפורמין", "לא משנה, עזבו", "בוטלה"),
        ("he", "לנפק מטפורמין", "עזבו", "בוטלה"),
    ],
)
def test_a_request_whose_place_was_asked_for_can_be_called_off(
    language: str, asks: str, stops: str, said: str
) -> None:
    talk = Talk(language, DAVID)
    talk.say(asks)
    assert said in talk.say(stops)
    request = RefillRequest.objects.get()
    assert (request.outcome, request.is_confirmed) == ("cancelled", False)


@pytest.mark.parametrize(
    ("language", "asks", "between", "stops"),
    [
        ("en", "refill metformin from the online store", "do you have Nurofen?", "never mind"),
        ("he", "לנפק מטפורמין מהחנות המקוונת", "יש לכם נורופן?", "עזבו"),
    ],
)
def test_what_is_called_off_after_another_question_is_called_off(
    language: str, asks: str, between: str, stops: str
) -> None:
    talk = Talk(language, DAVID)
    talk.say(asks)
    talk.say(between)
    talk.say(stops)
    assert RefillRequest.objects.get().outcome == "cancelled"
    with pytest.raises(confirmations.ConfirmationCalledOff):
        press(talk, cards(talk)[0])


@pytest.mark.parametrize(
    ("language", "asks", "cancels", "stops", "said"),
    [
        ("en", "refill metformin from the online store", "cancel my refill", "never mind", "stays as it is"),
        ("he", "לנפק מטפורמין מהחנות המקוונת", "לבטל את הניפוק שלי", "עזבו", "נשאר כפי שהוא"),
    ],
)
def test_a_cancellation_that_was_called_off_leaves_the_refill(
    language: str, asks: str, cancels: str, stops: str, said: str
) -> None:
    talk = Talk(language, DAVID)
    talk.say(asks)
    press(talk, cards(talk)[-1])
    talk.answer()
    talk.say(cancels)
    assert said in talk.say(stops)
    with pytest.raises(confirmations.ConfirmationCalledOff):
        press(talk, cards(talk)[-1])
    assert RefillRequest.objects.get().outcome == "dispensed"


def test_a_no_to_another_question_leaves_the_card_open() -> None:
    talk = Talk(patient=DAVID)
    talk.say("refill metformin from the online store")
    talk.say("is anybody there?")
    talk.conversation.refresh_from_db()
    assert talk.conversation.state["pending"]["kind"] == "offer_person"
    assert "cancelled" not in talk.say("no")
    press(talk, cards(talk)[0])
    talk.answer()
    assert RefillRequest.objects.get().outcome == "dispensed"


def test_another_patient_calls_off_nothing_of_the_first() -> None:
    talk = Talk(patient=DAVID)
    talk.say("refill metformin")
    talk.verify("10000124")
    talk.say("never mind")
    assert RefillRequest.objects.get().outcome is None


@pytest.mark.parametrize(
    ("language", "asks", "changes"),
    [
        ("en", "refill metformin from the online store", "15 tablets"),
        ("he", "לנפק מטפורמין מהחנות המקוונת", "15 כדורים"),
    ],
)
def test_of_two_cards_only_the_newer_can_be_answered(language: str, asks: str, changes: str) -> None:
    talk = Talk(language, DAVID)
    talk.say(asks)
    talk.say(changes)
    older, newer = cards(talk)
    with pytest.raises(confirmations.ConfirmationSuperseded):
        press(talk, older)
    assert Confirmation.objects.get(pk=newer).state == Confirmation.State.OPEN
    press(talk, newer)
    talk.answer()
    assert RefillRequest.objects.get(is_confirmed=True).quantity == 15


ONLINE = {"en": "refill metformin from the online store", "he": "לנפק מטפורמין מהחנות המקוונת"}
STOPS = [
    *(
        ("en", text)
        for text in (
            "I don't want it", "i dont want it anymore", "I don't need it anymore", "don't order it", "stop it",
            "do not order that", "don't send it", "please don't submit it", "I changed my mind", "scrap that",
            "call it off", "I don't want the metformin", "I want to cancel it", "I take it back",
        )
    ),
    *(
        ("he", text)
        for text in (
            "אני לא רוצה", "אל תזמינו", "תעצרו", "תעצור את זה", "אל תשלחו", "תבטלו", "לא להזמין", "שיניתי את דעתי",
            "אל תזמינו את זה בבקשה", "אני לא רוצה את המטפורמין",
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("language", "stops"), STOPS)
def test_whoever_says_that_they_do_not_want_it_is_not_sent_to_the_crisis_line(
    language: str, stops: str
) -> None:
    for asks in (ONLINE[language], ONLINE[language].replace(" from the online store", "")):
        talk = Talk(language, DAVID)
        talk.say(asks)
        said = talk.say(stops)
        assert "1201" not in said and {"en": "was cancelled", "he": "בוטלה"}[language] in said
        assert not RefillRequest.objects.filter(outcome=None).exists()
        for card in cards(talk):
            with pytest.raises(confirmations.ConfirmationCalledOff):
                press(talk, card)


@pytest.mark.parametrize(
    ("before", "text"),
    [
        (ONLINE["en"], "I don't want to live"),
        (ONLINE["en"], "I don't want to live anymore, don't order it"),
        (ONLINE["en"], "I don't want anything anymore"),
        (ONLINE["en"], "don't order it, I took the whole box to die"),
        (ONLINE["he"], "אני לא רוצה לחיות"),
        ("hello", "I don't want it anymore"),
        ("I want to talk to a person", "I don't want it anymore"),
        ("what prescriptions do I have?", "I don't want it anymore"),
    ],
)
def test_words_of_distress_are_answered_with_the_number_whatever_is_open(before: str, text: str) -> None:
    talk = Talk(patient=DAVID)
    talk.say(before)
    assert "1201" in talk.say(text) or talk.payload["phones"]


@pytest.mark.parametrize(
    ("language", "text", "number"),
    [
        ("en", "I don't want it anymore, I don't want any of this anymore", "1201"),
        ("en", "I can't do this anymore, cancel it", "1201"),
        ("en", "I don't want it all anymore", "1201"),
        ("en", "I don't need this anymore, goodbye", "1201"),
        ("en", "cancel it, my chest feels weird", "101"),
        ("en", "the pain in my chest is getting worse, actually only metformin", "101"),
        ("he", "אני לא רוצה את זה ולא רוצה כלום יותר", "1201"),
        ("he", "לא רוצה, נמאס לי מהכל", "1201"),
        ("he", "תבטלו את זה, אני לא אצטרך את זה יותר", "1201"),
        ("he", "תבטלו, יש לי הרגשה מוזרה בחזה", "101"),
    ],
)
def test_an_emergency_beside_it_is_answered_first_though_only_the_classifier_sees_it(
    language: str, text: str, number: str
) -> None:
    talk = Talk(language, DAVID)
    talk.say(ONLINE[language])
    answer = talk.ask(text)
    talk.conversation.refresh_from_db()
    assert answer["phones"][0] == number and talk.conversation.emergency_open


@pytest.mark.parametrize(
    ("language", "advice"),
    [
        ("en", "can I stop taking my metformin?"),
        ("en", "what should I take for my headache?"),
        ("he", "אפשר להפסיק לקחת מטפורמין?"),
        ("he", "מה כדאי לי לקחת לכאב ראש?"),
        ("en", "should I take ibuprofen instead?"),
        ("en", "should I take two of the amoxicillin?"),
        ("he", "כדאי לי לקחת איבופרופן במקום?"),
    ],
)
def test_advice_that_is_asked_beside_it_is_refused(language: str, advice: str) -> None:
    refused = Talk(language, DAVID).say(advice)
    talk = Talk(language, DAVID)
    talk.say(ONLINE[language])
    said = talk.say({"en": "cancel it, ", "he": "תבטלו, "}[language] + advice)
    assert {"en": "was cancelled", "he": "בוטלה"}[language] in said and said.endswith(refused)
    assert not talk.tools or talk.tools == ["interaction_check"]
    assert not RefillRequest.objects.filter(outcome=None).exists()
    assert closed(talk) == [(card, "called_off") for card in cards(talk)]


def test_with_what_the_classifier_takes_for_distress_the_number_to_call_is_said() -> None:
    talk = Talk(patient=DAVID)
    talk.say(ONLINE["en"])
    assert "101" in talk.say("I don't want it anymore")


def test_what_is_asked_beside_it_is_answered() -> None:
    talk = Talk(patient=DAVID)
    talk.say(ONLINE["en"])
    said = talk.say("don't order it yet, how much does it cost?")
    assert "was cancelled" in said and "19.90" in said
    with pytest.raises(confirmations.ConfirmationCalledOff):
        press(talk, cards(talk)[0])


def test_a_submitted_request_that_is_not_wanted_is_cancelled_only_on_a_card() -> None:
    talk = Talk(patient="10000124")
    talk.say("refill my ibuprofen")
    talk.say("Florentin")
    press(talk, cards(talk)[-1])
    talk.answer()
    assert RefillRequest.objects.get().outcome is None
    before = len(cards(talk))
    assert "1201" not in talk.say("I don't want it anymore")
    assert RefillRequest.objects.get().outcome is None and len(cards(talk)) == before + 1
    # The card asks whether to cancel: these words do not answer it, and do not call it off.
    assert "Yes, cancel it" in talk.say("I don't want it")
    press(talk, cards(talk)[-1])
    talk.answer()
    assert RefillRequest.objects.get().outcome == "cancelled"


@pytest.mark.parametrize(
    ("language", "asks"),
    [
        ("en", "my metformin again please"),
        ("en", "metformin again please"),
        ("he", "את המטפורמין שלי שוב בבקשה"),
        ("he", "שוב את המטפורמין שלי"),
    ],
)
def test_my_medicine_again_begins_a_refill(language: str, asks: str) -> None:
    talk = Talk(language, DAVID)
    talk.say(asks)
    assert RefillRequest.objects.get().prescription.medication.name_en == "Metformin"


def test_what_is_it_again_asks_for_the_leaflet() -> None:
    Talk(patient=DAVID).say("what is metformin again?")
    assert not RefillRequest.objects.exists()


METFORMIN, AMOXICILLIN = "Metformin", "Amoxicillin"
BOTH = {"en": "refill metformin and amoxicillin", "he": "לנפק מטפורמין ואמוקסיצילין"}


@pytest.mark.parametrize(
    ("language", "texts", "wanted"),
    [
        ("en", ["refill metformin… no wait, the other one"], AMOXICILLIN),
        ("en", ["refill metformin... no wait, the amoxicillin"], AMOXICILLIN),
        ("en", [ONLINE["en"], "no wait, the other one"], AMOXICILLIN),
        ("en", [ONLINE["en"], "I don't want it, I want the other one"], AMOXICILLIN),
        ("en", [ONLINE["en"], "actually the amoxicillin instead"], AMOXICILLIN),
        ("en", [BOTH["en"], "no wait, not the amoxicillin"], METFORMIN),
        ("en", [BOTH["en"], "I don't want the amoxicillin"], METFORMIN),
        ("en", [BOTH["en"], "just metformin please"], METFORMIN),
        ("he", ["לנפק מטפורמין, לא רגע, את השני"], AMOXICILLIN),
        ("he", [ONLINE["he"], "רגע לא, השני"], AMOXICILLIN),
        ("he", [ONLINE["he"], "רגע לא, את האמוקסיצילין"], AMOXICILLIN),
        ("he", [BOTH["he"], "בלי האמוקסיצילין"], METFORMIN),
        ("he", [BOTH["he"], "רק את המטפורמין"], METFORMIN),
    ],
)
def test_a_change_of_mind_leaves_what_is_wanted_now_and_closes_the_card_of_the_other(
    language: str, texts: list[str], wanted: str
) -> None:
    talk = Talk(language, DAVID)
    for text in texts:
        before = cards(talk)
        talk.say(text)
    [left] = RefillRequest.objects.filter(outcome=None)
    assert left.prescription.medication.name_en == wanted
    for card in before:
        with pytest.raises(confirmations.ConfirmationExpired):
            press(talk, card)


@pytest.mark.parametrize(
    ("language", "texts", "pickup"),
    [
        ("en", ["refill metformin, deliver it", "make it online store insted of delivery"], None),
        ("en", ["refill metformin, deliver it", "no delivery, online store"], None),
        ("en", [ONLINE["en"], "make it delivery instead of online store"], "delivery"),
        ("he", ["לנפק מטפורמין, משלוח הביתה", "תעשו חנות מקוונת במקום משלוח"], None),
        ("he", [ONLINE["he"], "משלוח במקום החנות המקוונת"], "delivery"),
    ],
)
def test_the_place_that_is_named_instead_counts(language: str, texts: list[str], pickup: str | None) -> None:
    talk = Talk(language, DAVID)
    for text in texts:
        talk.say(text)
    [left] = RefillRequest.objects.filter(outcome=None)
    assert (left.pickup == "delivery", left.store_id) == ((True, None) if pickup else (False, 1))


MORE = {
    "en": [
        "add the amoxicillin too", "can you add amoxicillin to it?", "and the amoxicillin too please",
        "I also need amoxicillin", "both please", "I want both", "yes, both of them",
    ],
    "he": [
        "תוסיפו גם את האמוקסיצילין", "אפשר להוסיף את האמוקסיצילין?", "גם את האמוקסיצילין בבקשה",
        "תוסיפו לי אמוקסיצילין", "את שניהם", "את שניהם בבקשה", "רוצה את שתיהן",
    ],
}  # fmt: skip


@pytest.fixture
def stocked(demo_committed: None) -> None:
    """The online store has both of David's medicines."""
    StockLevel.objects.filter(store_id=1, medication__name_en=AMOXICILLIN).update(quantity=9)


def wanted() -> set[str]:
    rows = RefillRequest.objects.filter(outcome=None)
    return {row.prescription.medication.name_en for row in rows}


@pytest.mark.parametrize(
    ("language", "adds"), [(lang, text) for lang, texts in MORE.items() for text in texts]
)
@pytest.mark.usefixtures("stocked")
def test_what_is_added_beside_an_open_card_is_on_the_next_one(language: str, adds: str) -> None:
    talk = Talk(language, DAVID)
    talk.say(ONLINE[language])
    [before] = cards(talk)
    talk.say(adds)
    assert wanted() == {METFORMIN, AMOXICILLIN}
    with pytest.raises(confirmations.ConfirmationSuperseded):
        press(talk, before)
    press(talk, cards(talk)[-1])
    talk.answer()
    assert RefillRequest.objects.filter(is_confirmed=True).count() == 2


@pytest.mark.parametrize(
    ("language", "adds"),
    [("en", "add the amoxicillin too"), ("en", "both please"), ("he", "תוסיפו גם את האמוקסיצילין"), ("he", "את שניהם")],
)  # fmt: skip
def test_what_is_added_beside_a_refill_that_waits_for_staff_is_a_request_of_its_own(
    language: str, adds: str
) -> None:
    talk = Talk(language, DAVID)
    talk.say(
        {
            "en": "refill metformin, 90 tablets, from the online store",
            "he": "לנפק מטפורמין 90 כדורים מהחנות המקוונת",
        }[language]
    )
    press(talk, cards(talk)[-1])
    talk.answer()
    first = RefillRequest.objects.get(outcome=None, is_confirmed=True)
    assert first.handoff_id
    talk.say(adds)
    added = RefillRequest.objects.get(outcome=None, is_confirmed=False)
    assert added.prescription.medication.name_en == AMOXICILLIN
    first.refresh_from_db()
    assert first.outcome is None and first.prescription.medication.name_en == METFORMIN


@pytest.mark.usefixtures("stocked")
def test_what_is_added_where_the_place_is_asked_for_is_asked_about_together() -> None:
    talk = Talk(patient=DAVID)
    talk.say("refill metformin")
    talk.say("add the amoxicillin too")
    assert wanted() == {METFORMIN, AMOXICILLIN} and not cards(talk)
    talk.say("the online store")
    assert len(cards(talk)) == 1


@pytest.mark.usefixtures("stocked")
def test_what_is_on_the_card_already_is_only_confirmed_there() -> None:
    talk = Talk(patient=DAVID)
    talk.say(BOTH["en"])
    talk.say("the online store")
    for text in ("both please", "add the metformin too"):
        assert "on the card" in talk.say(text)
    assert len(cards(talk)) == 1 and wanted() == {METFORMIN, AMOXICILLIN}


@pytest.mark.parametrize("language", ["en", "he"])
def test_what_is_added_and_out_of_stock_is_said_and_the_place_named_again_makes_one_card(
    language: str,
) -> None:
    talk = Talk(language, DAVID)
    talk.say(ONLINE[language])
    [before] = cards(talk)
    said = talk.say(MORE[language][0])
    assert {"en": "out of stock", "he": "אינו במלאי"}[language] in said and len(cards(talk)) == 1
    talk.say({"en": "the online store", "he": "החנות המקוונת"}[language])
    with pytest.raises(confirmations.ConfirmationSuperseded):
        press(talk, before)
    press(talk, cards(talk)[-1])
    talk.answer()
    assert RefillRequest.objects.filter(is_confirmed=True).count() == 2


def test_beside_a_cancellation_that_is_asked_about_other_wishes_are_read() -> None:
    talk = Talk(patient=DAVID)
    talk.say("refill metformin, 90 tablets, from the online store")
    press(talk, cards(talk)[-1])
    talk.answer()
    assert "stays as it is" not in talk.say("cancel it, should I take two instead?")
    card = cards(talk)[-1]
    assert "stays as it is" in talk.say("no wait, not important")
    assert (card, "called_off") in closed(talk)
    talk.say("cancel my refill")
    talk.say("add the amoxicillin too")
    assert wanted() == {METFORMIN, AMOXICILLIN}
    assert "was cancelled" in talk.say("I don't want the amoxicillin") and wanted() == {METFORMIN}
    # "Never mind, cancel everything" asks on a card and takes nothing back at once.
    talk.say("it's not important, cancel it")
    assert Confirmation.objects.filter(state=Confirmation.State.OPEN, action="refill.cancel").exists()


def test_what_is_added_without_a_prescription_leaves_what_was_asked_for() -> None:
    talk = Talk(patient=DAVID)
    talk.say(ONLINE["en"])
    said = talk.say("add the warfarin too")
    assert "arfarin" in said and wanted() == {METFORMIN}
    press(talk, cards(talk)[-1])


@pytest.mark.parametrize(
    "text", ["refill metformin and the amoxicillin too", "I need both metformin and amoxicillin refilled"]
)
def test_both_in_the_first_request_are_one_request(text: str) -> None:
    talk = Talk(patient=DAVID)
    talk.say(text)
    assert wanted() == {METFORMIN, AMOXICILLIN}
