"""Who waits for a person and no longer wants one takes that back, in both languages; urgent hand-offs stay."""

import pytest
from django.contrib.auth.models import Group, User
from talking import Talk

from agent.conversation import confirmations
from agent.models import Confirmation, Conversation
from prescriptions.audit import Access
from prescriptions.handoffs import services
from prescriptions.models import Handoff, RefillRequest
from prescriptions.transcripts import reply_write

pytestmark = pytest.mark.usefixtures("demo_committed")
DAVID = "10000101"
ASK = {"en": "I want to talk to a person", "he": "אני רוצה לדבר עם נציג"}
DESK = Access("user:1", "admin")


def waiting(text: str, patient: str | None = None) -> tuple[Talk, Handoff]:
    language = "he" if any("א" <= letter <= "ת" for letter in text) else "en"
    talk = Talk(language, patient)
    talk.say(ASK[language])
    return talk, Handoff.objects.get(conversation_id=talk.conversation.pk)


def mode_of(talk: Talk) -> str:
    return Conversation.objects.get(pk=talk.conversation.pk).mode


@pytest.mark.parametrize(
    "text",
    [
        "nvm, i found it. cancel that request",
        "cancel my request please",
        "no need for a person any more",
        "I don't need a pharmacist anymore, thanks",
        "I no longer need to talk to a person",
        "תבטלו את הפנייה לנציג",
        "אפשר לבטל את הבקשה",
        "כבר לא צריך נציג",
        "לא צריכה יותר נציג, תודה",
        "אין צורך ברוקח",
    ],
)
def test_a_clear_sentence_withdraws_the_hand_off(text: str) -> None:
    talk, handoff = waiting(text)
    answer = talk.say(text)
    assert ("Withdrawn, as you asked" in answer or "בוטל לבקשתכם" in answer) and handoff.number in answer
    handoff.refresh_from_db()
    assert (handoff.state, handoff.outcome) == ("closed", "cancelled")
    assert handoff.closed_by == f"chat:{talk.conversation.pk}" and mode_of(talk) == "bot"
    assert "Florentin" in talk.say("when is the Florentin branch open?")


@pytest.mark.parametrize(
    "text",
    [
        "don't cancel my request",
        "never mind",
        "I don't need a person, I need a pharmacist",
        "why would you cancel my request?",
        "what happens if I cancel the request?",
        "thanks, I will wait",
        "אל תבטלו את הפנייה",
        "לא לבטל את הבקשה",
        "עדיין לא קיבלתי נציג",
        "אני צריך נציג",
    ],
)
def test_what_is_not_clear_withdraws_nothing(text: str) -> None:
    talk, handoff = waiting(text)
    talk.say(text)
    handoff.refresh_from_db()
    assert not handoff.is_over and mode_of(talk) == "queued"


@pytest.mark.parametrize("text", ["cancel that request", "כבר לא צריך נציג"])
def test_an_urgent_hand_off_stays_and_the_customer_is_told(text: str) -> None:
    talk, handoff = waiting(text)
    Handoff.objects.update(is_urgent=True)
    answer = talk.say(text)
    assert "still looks at this request" in answer or "עדיין יבדקו את הפנייה" in answer
    handoff.refresh_from_db()
    assert not handoff.is_over and mode_of(talk) == "queued"


def test_what_staff_have_answered_is_not_withdrawn() -> None:
    talk, handoff = waiting("cancel that request")
    user = User.objects.create_user("dana2", first_name="Dana", last_name="Levi", is_staff=True)
    user.groups.add(Group.objects.get(name="pharmacist"))
    services.handoff_claim(handoff, user, access=DESK)
    reply_write(handoff, user, "Hello", seen_seq=2**31 - 1, access=DESK)
    services.handoff_release(handoff, user, access=DESK)
    talk.say("cancel that request")
    handoff.refresh_from_db()
    assert not handoff.is_over


@pytest.mark.parametrize(
    ("refill", "place", "cancel"),
    [
        ("refill my metformin", "the online store", "cancel my request"),
        ("לנפק לי מטפורמין", "החנות המקוונת", "תבטלו את הבקשה"),
    ],
)
def test_a_request_that_may_be_a_refill_is_the_refills_to_cancel(
    refill: str, place: str, cancel: str
) -> None:
    talk, handoff = waiting(cancel, DAVID)
    talk.say(refill)
    talk.say(place)
    assert "R-1" in talk.say(cancel)
    handoff.refresh_from_db()
    assert not handoff.is_over and not Confirmation.objects.filter(action="refill.cancel").exists()


@pytest.mark.parametrize(
    ("refill", "place", "ask", "change"),
    [
        ("refill my metformin, 15 tablets", "the online store", ASK["en"], "change it to 30"),
        ("refill my metformin, 15 tablets", "the online store", ASK["en"], "please make it 30 tablets"),
        ("לנפק לי מטפורמין 15 כדורים", "החנות המקוונת", ASK["he"], "תשנו ל-30"),
        ("לנפק לי מטפורמין 15 כדורים", "החנות המקוונת", ASK["he"], "תשנו את הכמות ל30"),
    ],
)
@pytest.mark.parametrize("first", ["refill", "person"])
def test_who_waits_for_a_person_still_changes_the_refill_on_the_open_card(
    refill: str, place: str, ask: str, change: str, first: str
) -> None:
    talk = Talk("he" if refill[0] > "z" else "en", DAVID)
    for text in (refill, place, ask) if first == "refill" else (ask, refill, place):
        talk.say(text)
    assert RefillRequest.objects.get().quantity == 15
    answer = talk.say(change)
    assert "check the details" in answer or "נא לבדוק את הפרטים" in answer
    assert RefillRequest.objects.get().quantity == 30


@pytest.mark.parametrize(
    ("refill", "ask", "others", "place"),
    [
        (
            "refill my metformin",
            ASK["en"],
            ("please hurry", "tomorrow at five", "thanks"),
            "the online store",
        ),
        ("לנפק לי מטפורמין", ASK["he"], ("תודה", "אני אחכה", "נו?"), "החנות המקוונת"),
    ],
)
def test_who_waits_for_a_person_still_says_where_a_refill_is_picked_up(
    refill: str, ask: str, others: tuple[str, ...], place: str
) -> None:
    talk = Talk("he" if refill[0] > "z" else "en", DAVID)
    talk.say(refill)
    talk.say(ask)
    said = [talk.say(text) for text in others]
    assert not any("pick it up" in text or "איפה תרצו" in text for text in said)
    answer = talk.say(place)
    assert "check the details" in answer or "נא לבדוק את הפרטים" in answer
    assert RefillRequest.objects.get().store_id == 1


NOT_WANTED = [
    *(
        ("en", text)
        for text in ("I don't want it", "I dont need it", "cancel it", "actually never mind", "forget it")
    ),
    *(("he", text) for text in ("לא רוצה את זה", "אני לא רוצה", "תבטלו את זה", "לא צריך", "עזבו")),
]


@pytest.mark.parametrize(("language", "text"), NOT_WANTED)
def test_what_is_not_wanted_while_only_a_person_is_waited_for_is_asked_about(
    language: str, text: str
) -> None:
    talk, handoff = waiting({"en": "hello", "he": "שלום"}[language])
    asked = talk.ask(text)
    assert handoff.number in asked["text"] and not asked.get("phones")
    assert asked["suggestions"] == {"en": ["Yes", "No"], "he": ["כן", "לא"]}[language]
    handoff.refresh_from_db()
    assert not handoff.is_over and not handoff.is_urgent
    answer = talk.say({"en": "yes", "he": "כן"}[language])
    assert {"en": "Withdrawn, as you asked", "he": "בוטל לבקשתכם"}[language] in answer
    handoff.refresh_from_db()
    assert (handoff.outcome, mode_of(talk)) == ("cancelled", "bot")


@pytest.mark.parametrize(
    ("text", "kept"),
    [("no", "stays"), ("no, leave it", "stays"), ("לא", "נשארת"), ("לא, תשאירו", "נשארת"), ("thanks", ""), ("when do you close?", "")],
)  # fmt: skip
def test_without_a_yes_the_person_is_still_waited_for(text: str, kept: str) -> None:
    talk, handoff = waiting("שלום" if text[0] >= "א" else "hello")
    talk.say("I don't want it" if text.isascii() else "לא רוצה את זה")
    assert kept in talk.say(text)
    talk.say("yes" if text.isascii() else "כן")
    handoff.refresh_from_db()
    assert not handoff.is_over


@pytest.mark.parametrize("text", ["I don't want it", "לא רוצה את זה"])
def test_what_is_said_again_is_a_yes(text: str) -> None:
    talk, handoff = waiting(text)
    talk.say(text)
    talk.say(text)
    handoff.refresh_from_db()
    assert handoff.outcome == "cancelled"


@pytest.mark.parametrize(
    "text",
    [
        "I don't want to live",
        "I don't want it anymore",
        "I don't want it anymore, any of it, I want to die",
        "I don't want it, I don't want anything",
        "cancel it, I want to die",
        "I don't want to be here anymore",
        "I don't want it all anymore",
        "אני לא רוצה לחיות",
        "לא רוצה את זה יותר, רוצה למות",
        "לא רוצה יותר",
        "לא רוצה את זה, נמאס לי מהכל",
    ],
)
def test_words_of_distress_stay_an_emergency_while_a_person_is_waited_for(text: str) -> None:
    talk, handoff = waiting(text)
    answer = talk.ask(text)
    assert answer["phones"][0] == "1201"
    handoff.refresh_from_db()
    assert not handoff.is_over and handoff.is_urgent


def test_an_urgent_hand_off_is_not_asked_about() -> None:
    talk, _handoff = waiting("hello")
    Handoff.objects.update(is_urgent=True)
    talk.say("I don't want it")
    talk.conversation.refresh_from_db()
    assert (talk.conversation.state.get("pending") or {}).get("kind") != "withdraw_handoff"


@pytest.mark.parametrize(("language", "text"), [("en", "I don't want it"), ("he", "לא רוצה את זה")])
def test_a_refill_that_waits_is_not_cancelled_for_somebody_who_is_no_longer_identified(
    language: str, text: str
) -> None:
    talk = Talk(language, "10000124")
    talk.say({"en": "refill my ibuprofen", "he": "לנפק איבופרופן"}[language])
    talk.say({"en": "Florentin", "he": "פלורנטין"}[language])
    confirm = [event["confirm_id"] for event in talk.page if event["type"] == "confirm.requested"][-1]
    confirmations.confirmation_answer(
        conversation_id=talk.conversation.pk,
        key=talk.conversation.secret_hash,
        confirm_id=confirm,
        decision="yes",
        address="192.0.2.1",
    )
    talk.answer()
    talk.forget()
    said = talk.ask(text)
    assert not said.get("phones") and RefillRequest.objects.get().outcome is None
    talk.conversation.refresh_from_db()
    assert (talk.conversation.state["waiting"] or {})["intent"] == "refill_cancel"
