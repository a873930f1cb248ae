"""A refill in the chat: collected, confirmed on a card, followed, paused, cancelled, decided by staff; in both languages."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from channels.layers import get_channel_layer
from django.conf import settings
from django.core.cache import cache
from django.utils import timezone
from talking import Talk

from agent.chat.bell import group_of
from agent.chat.process import ring_from_thread
from agent.conversation import confirmations
from agent.conversation.refills import refills_bring
from agent.models import Confirmation
from prescriptions.audit import Access
from prescriptions.errors import RefillRefused
from prescriptions.models import Handoff, Patient, Prescription, RefillRequest
from prescriptions.refill import services
from prescriptions.refill.collection import Pickup, collections_pause
from prescriptions.refill.selectors import path_of

pytestmark = pytest.mark.usefixtures("demo_committed")
DAVID, JOHN, LEAH = "10000101", "10000123", "10000124"
STAFF = Access(who="user:900", where="admin")


def press(talk: Talk, decision: Any = "yes") -> str:
    """Press a button of the open card and return the answer."""
    card = Confirmation.objects.get(conversation=talk.conversation, state=Confirmation.State.OPEN)
    confirmations.confirmation_answer(
        conversation_id=talk.conversation.pk,
        key=talk.conversation.secret_hash,
        confirm_id=card.pk,
        decision=decision,
        address="192.0.2.1",
    )
    talk.answer()
    return str(talk.payload["text"])


def news(talk: Talk) -> list[dict[str, Any]]:
    return [event for event in talk.page if event["type"] == "refill.updated"]


def age(number: str, seconds: int) -> None:
    """Let a collected request be as old as that; its cache entry is over."""
    cache.delete(f"refill:{number}")
    RefillRequest.objects.filter(number=number).update(
        expires_at=timezone.now() + timedelta(seconds=300 - seconds)
    )


def test_a_refill_is_collected_confirmed_and_dispensed_once() -> None:
    talk = Talk(patient=DAVID)
    assert "Where would you like to pick it up?" in talk.say("I need my metformin again, 15 tablets")
    before = Prescription.objects.get(pk=2).refills_left
    assert "check the details" in talk.say("the online store")
    [card] = [event for event in talk.page if event["type"] == "confirm.requested"]
    assert ["Quantity", "15 units, for 8 days"] in card["summary"]["rows"]
    assert not Handoff.objects.exists() and Prescription.objects.get(pk=2).refills_left == before
    assert "approved and sent for preparation" in press(talk)
    request = RefillRequest.objects.get(is_confirmed=True)
    assert (request.outcome, request.quantity, request.store_id) == ("dispensed", 15, 1)
    assert Prescription.objects.get(pk=2).refills_left == before - 1
    last = news(talk)[-1]
    assert last["state"] == "Refill_Dispensed" and last["number"] == request.number
    assert [step["state"] for step in last["card"]["data"]["steps"]] == [
        "done",
        "done",
        "done",
        "now",
        "next",
        "next",
    ]


def test_a_typed_yes_dispenses_nothing() -> None:
    talk = Talk(patient=DAVID)
    talk.say("refill metformin from the online store")
    assert "press" in talk.say("yes") and not RefillRequest.objects.filter(is_confirmed=True).exists()


@pytest.mark.parametrize(
    ("language", "patient", "text", "place", "said", "reason"),
    [
        ("en", LEAH, "refill my ibuprofen", "Florentin", "with a pharmacist", "major_interaction"),
        ("he", LEAH, "ניפוק לאיבופרופן שלי", "פלורנטין", "הועברה אל רוקח", "major_interaction"),
        ("en", JOHN, "refill sulfamethoxazole", "Florentin", "with a pharmacist", "direct_allergy"),
        ("he", JOHN, "לנפק אדלימומאב", "רמת אביב", "הועברה אל רוקח", "prior_authorisation"),
    ],
)
def test_what_a_check_stops_goes_to_a_person_and_the_customer_hears_it(
    language: str, patient: str, text: str, place: str, said: str, reason: str
) -> None:
    talk = Talk(language, patient)
    talk.say(text)
    talk.say(place)
    assert said in press(talk)
    request = RefillRequest.objects.get(is_confirmed=True)
    assert request.reason == reason and request.handoff is not None and request.outcome is None
    assert path_of(request)[-1] == "Escalation_Complete"
    assert said in talk.say("where is my refill?" if language == "en" else "איפה הניפוק שלי?")
    assert talk.payload["cards"][0]["kind"] == "refill"


def test_a_decision_of_staff_reaches_the_chat() -> None:
    talk = Talk(patient=JOHN)
    talk.say("refill adalimumab, pick up in Ramat Aviv")
    press(talk)
    request = RefillRequest.objects.get(is_confirmed=True)
    services.refill_decide(
        request, "approve", access=STAFF, role="pharmacist", is_fresh=True, reference="A-1"
    )
    assert news(talk)[-1]["status"] == "preparing"
    services.refill_ready(request, access=STAFF)
    assert "ready to be collected: Ramat Aviv" in news(talk)[-1]["message"]


def test_a_question_and_a_denial_of_staff_reach_the_chat() -> None:
    talk = Talk("he", LEAH)
    talk.say("ניפוק לאיבופרופן, איסוף מפלורנטין")
    press(talk)
    request = RefillRequest.objects.get(is_confirmed=True)
    services.refill_decide(request, "ask", access=STAFF, role="pharmacist", question="מתי נטלת לאחרונה?")
    assert "מתי נטלת לאחרונה?" in news(talk)[-1]["message"]
    services.refill_decide(request, "deny", access=STAFF, role="pharmacist")
    assert news(talk)[-1]["status"] == "denied" and "לא אושרה" in talk.say("מה עם הניפוק שלי?")


def test_a_collected_request_pauses_after_five_minutes_and_resumes_with_what_was_said() -> None:
    talk = Talk(patient=DAVID)
    talk.say("refill metformin, 15 tablets")
    [request] = RefillRequest.objects.all()
    assert news(talk)[-1]["expires_at"]
    age(request.number, 299)
    assert collections_pause() == 0
    age(request.number, 301)
    assert collections_pause() == 1 and collections_pause() == 0
    assert news(talk)[-1]["status"] == "paused" and "Nothing was lost" in news(talk)[-1]["message"]
    talk.say("do you have acamol?")
    talk.say("resume my refill")
    talk.say("online store")
    request.refresh_from_db()
    assert (request.quantity, request.is_paused) == (15, False)
    assert "approved" in press(talk)


def test_each_message_lets_it_live_on_by_the_cache_alone() -> None:
    talk = Talk(patient=DAVID)
    talk.say("refill metformin")
    [request] = RefillRequest.objects.all()
    age(request.number, 301)
    talk.say("what is acamol for?")
    assert collections_pause() == 0
    request.refresh_from_db()
    assert request.expires_at and request.expires_at > timezone.now() and not request.is_paused


def test_a_paused_request_blocks_no_other_way_to_request_it() -> None:
    talk = Talk(patient=DAVID)
    talk.say("refill metformin")
    patient = Patient.objects.get(mrn=DAVID)
    made = services.refill_submit(
        patient=patient, prescription_id=2, store=RefillRequest.objects.get().store or _online(),
        access=Access(who="key:1", where="http"), language="en",
    )  # fmt: skip
    assert made.outcome == "dispensed"
    assert "asked for this already" in talk.say("online store")


@pytest.mark.parametrize(
    ("language", "texts", "said", "approved", "place"),
    [
        ("en", ["refill metformin", "blah", "xyzzy qwe", "sdf sdf"], "passed the request on to a person", "approved", "Online store"),
        ("he", ["ניפוק למטפורמין", "בלה", "קשקוש בלבוש", "שלום לך"], "העברתי את הבקשה לאדם", "אושר", "החנות המקוונת"),
    ],
)  # fmt: skip
def test_three_turns_without_a_place_hand_over(
    language: str, texts: list[str], said: str, approved: str, place: str
) -> None:
    talk = Talk(language, patient=DAVID)
    for text in texts[:-1]:
        talk.say(text)
        assert not Handoff.objects.exists()
    assert said in talk.say(texts[-1])
    request = RefillRequest.objects.get()
    assert request.is_confirmed and request.reason == "max_attempts" and Handoff.objects.count() == 1
    # Nobody named a place: it is no delivery, and cannot be approved as one.
    assert request.pickup is None and request.handoff.package["request"]["pickup"] is None
    with pytest.raises(RefillRefused, match="place_needed"):
        services.refill_decide(request, "approve", access=STAFF, role="pharmacist")
    services.refill_decide(request, "approve", access=STAFF, role="pharmacist", pickup=Pickup(_online()))
    rows = news(talk)[-1]["card"]["data"]["rows"]
    assert any(row[1] == place for row in rows) and approved in news(talk)[-1]["message"]


def test_a_refill_can_be_cancelled_until_it_is_prepared() -> None:
    talk = Talk(patient=DAVID)
    talk.say("refill metformin from the online store")
    press(talk)
    before = Prescription.objects.get(pk=2).refills_left
    talk.say("cancel my refill")
    assert "was cancelled" in press(talk)
    assert Prescription.objects.get(pk=2).refills_left == before + 1
    assert news(talk)[-1]["status"] == "cancelled"


def test_what_is_prepared_is_not_cancelled() -> None:
    talk = Talk(patient=DAVID)
    talk.say("refill metformin from the online store")
    press(talk)
    talk.say("cancel my refill")
    services.refill_ready(RefillRequest.objects.get(), access=STAFF)
    assert "can no longer be cancelled" in press(talk)


def test_requests_come_along_into_a_new_conversation_of_their_patient() -> None:
    first = Talk(patient=LEAH)
    first.say("refill my ibuprofen, pick up in Florentin")
    press(first)
    second = Talk("he", patient=LEAH)
    refills_bring(second.conversation.pk, Patient.objects.get(mrn=LEAH))
    assert [event["number"] for event in news(second)] == [RefillRequest.objects.get().number]
    services.refill_decide(RefillRequest.objects.get(), "deny", access=STAFF, role="pharmacist")
    assert "לא אושרה" in news(second)[-1]["message"]
    second.verify(DAVID)
    assert all("card" not in event and "אושרה" not in event["message"] for event in news(second))


def test_a_card_that_shows_an_earlier_wish_submits_nothing() -> None:
    talk = Talk(patient=DAVID)
    talk.say("refill metformin from the online store")
    card = Confirmation.objects.get(state=Confirmation.State.OPEN)
    request = RefillRequest.objects.get()
    RefillRequest.objects.filter(pk=request.pk).update(version=request.version + 1)
    assert "has changed meanwhile" in press(talk)
    assert card.payload["refills"] == [[request.pk, request.version]]
    assert not RefillRequest.objects.filter(is_confirmed=True).exists()


def test_a_delivery_whose_address_was_removed_is_not_submitted() -> None:
    talk = Talk(patient=DAVID)
    assert "check the details" in talk.say("refill metformin, delivery please")
    Patient.objects.filter(mrn=DAVID).update(address="")
    assert "has changed meanwhile" in press(talk)
    assert not RefillRequest.objects.filter(is_confirmed=True).exists()


@pytest.mark.skipif(not settings.REDIS_URL, reason="news between processes needs Redis")
async def test_a_process_without_chats_tells_the_others_of_a_step() -> None:
    layer = get_channel_layer()
    channel = await layer.new_channel()
    await layer.group_add(group_of("somekey"), channel)
    await asyncio.to_thread(ring_from_thread, "somekey")
    async with asyncio.timeout(2):
        assert (await layer.receive(channel))["news"] == [None]


@pytest.mark.parametrize(
    ("language", "asks", "again", "said"),
    [
        (
            "en",
            "refill metformin from the online store",
            "I need my metformin again, from the online store",
            "You have asked for this already. Metformin: Your refill {number} was approved and sent for preparation.",
        ),
        (
            "he",
            "לנפק מטפורמין מהחנות המקוונת",
            "ניפוק למטפורמין",
            "כבר ביקשת את זה. מטפורמין: \u2068הניפוק {number} אושר ונשלח להכנה.",
        ),
    ],
)
def test_who_asks_again_soon_hears_that_it_is_being_prepared(
    language: str, asks: str, again: str, said: str
) -> None:
    talk = Talk(language, DAVID)
    talk.say(asks)
    press(talk)
    request = RefillRequest.objects.get()
    assert said.format(number=request.number) in talk.say(again)
    assert RefillRequest.objects.count() == 1
    # Half an hour later it is a new request, for which it is too early: a person decides.
    RefillRequest.objects.update(updated_at=timezone.now() - timedelta(minutes=30))
    assert "כבר ביקשת" not in (text := talk.say(asks)) and "asked for this already" not in text
    press(talk)
    assert RefillRequest.objects.get(outcome=None).reason == "early"


def test_a_card_of_what_was_dispensed_elsewhere_meanwhile_says_so() -> None:
    talk = Talk(patient=DAVID)
    talk.say("refill metformin from the online store")
    made = services.refill_submit(
        patient=Patient.objects.get(mrn=DAVID), prescription_id=2, store=_online(),
        access=Access(who="key:1", where="http"), language="en",
    )  # fmt: skip
    text = press(talk)
    assert f"asked for this already. Metformin: Your refill {made.number} was approved" in text
    assert not RefillRequest.objects.filter(is_confirmed=True).exclude(pk=made.pk).exists()


def _online() -> Any:
    from stores.models import Store

    return Store.objects.get(pk=1)
