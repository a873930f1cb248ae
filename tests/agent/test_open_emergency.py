"""After an alarm the emergency stays open: the number first, nothing about medicines, until it is over."""

import asyncio
from typing import Any
from unittest import mock

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone
from talking import Talk

from agent.answers.emergencies import IS_IT_OVER
from agent.conversation import accept
from agent.inference.base import FixedReply, Reply, Turn
from agent.models import Conversation, Run
from agent.state import ConversationState
from agent.turn import open_emergency
from prescriptions.models import Handoff

pytestmark = pytest.mark.usefixtures("demo_committed")

ALARM = "my father collapsed and is unconscious"
LINE = "Emergency: call 101."
HELD = "Until this is over I give no information on medicines here."
FACTS = ("in stock", "packs", "leaflet", "mg", "₪", "במלאי", "עלון")


def opened(alarm: str = ALARM, language: str = "en", **values: Any) -> Talk:
    talk = Talk(language, **values)
    talk.say(alarm)
    return talk


def row(talk: Talk) -> Conversation:
    return Conversation.objects.get(pk=talk.conversation.pk)


@pytest.mark.parametrize(
    "question",
    [
        "should i take an aspirin or wait",
        "do you have acamol",
        "what is the dose of Nurofen for children",
        "which branches have Advil?",
        "is there an equivalent of Lipitor",
        "how much does Advil cost",
        "Advil",
        "can I take Advil with warfarin",
        "which pain relievers do you have",
    ],
)
def test_no_facts_about_medicines_while_it_is_open(question: str) -> None:
    talk = opened()
    text = talk.say(question)
    assert text.startswith(LINE)
    assert not any(fact in text for fact in FACTS)
    assert talk.tools == [] and talk.payload["cards"] == []
    assert talk.payload["phones"] == ["101"]


def test_hours_and_phones_are_answered_below_the_number() -> None:
    text = opened().say("when does Jaffa close?")
    assert text.startswith(LINE) and "03-555-0104" in text and HELD not in text


def test_hours_are_answered_and_the_medicine_beside_them_is_held() -> None:
    text = opened().say("When does Jaffa close? Do you have Advil?")
    assert text.startswith(LINE) and "03-555-0104" in text and HELD in text and "packs" not in text


def test_a_person_is_brought_in_and_the_handoff_is_urgent() -> None:
    text = opened().say("I want to talk to a person")
    handoff = Handoff.objects.get()
    assert text.startswith(LINE) and handoff.number in text and handoff.is_urgent


def test_the_button_for_a_person_works() -> None:
    talk = opened()
    accept.handoff_request(conversation_id=talk.conversation.pk)
    talk.answer()
    handoff = Handoff.objects.get()
    assert (
        talk.payload["text"].startswith(LINE) and handoff.number in talk.payload["text"] and handoff.is_urgent
    )


def test_a_handoff_that_is_open_becomes_urgent_with_the_alarm() -> None:
    talk = Talk()
    talk.say("I want to talk to a person")
    assert not Handoff.objects.get().is_urgent
    talk.say(ALARM)
    assert Handoff.objects.get().is_urgent


@pytest.mark.parametrize(
    ("remark", "words"),
    [
        ("he seems fine, just sleepy", "signs may come later"),
        ("should I wait?", "I can't judge whether it can wait"),
        ("make him vomit?", "Please ask them before doing anything"),
        ("sorry, forget it", "please press the button"),
        ("the ambulance is on its way", "or nobody comes, call 101 now"),
        ("what do I do now", "Please tell 101 about it"),
    ],
)
def test_remarks_get_an_answer_of_their_own_and_end_nothing(remark: str, words: str) -> None:
    talk = opened("my toddler swallowed my blood pressure pills")
    for _ in range(4):
        text = talk.say(remark)
        assert text.startswith("Emergency: call 101") and words in text
    assert row(talk).emergency_open


@pytest.mark.parametrize(
    "end",
    [
        "the ambulance came and he is fine",
        "it was just a joke",
        # Words of the open emergency, told with its end, are no new one.
        "the ambulance came, he was unconscious for a minute but they treated him and he is fine now",
    ],
)
def test_it_ends_when_the_customer_confirms_that_it_is_over(end: str) -> None:
    talk = opened()
    asked = talk.say(end)
    assert asked.startswith(LINE) and "Is the danger over" in asked and row(talk).emergency_open
    assert "It's over, all is well" in talk.payload["suggestions"]
    assert "Good to hear that" in talk.say("yes")
    assert not row(talk).emergency_open
    assert "in stock" in talk.say("do you have acamol?")


def test_its_button_ends_it_at_once() -> None:
    talk = opened()
    assert "Good to hear that" in talk.say("It's over, all is well")
    assert not row(talk).emergency_open


def test_a_yes_to_nothing_ends_nothing() -> None:
    talk = opened()
    talk.say("the ambulance came and he is fine")
    talk.say("when does Jaffa close?")
    assert talk.say("yes").startswith(LINE)
    assert row(talk).emergency_open


def test_the_question_whether_it_is_over_is_dropped_with_any_other_answer() -> None:
    """Else a yes to that other answer would end the emergency."""
    state: ConversationState = {
        "emergency": {"kinds": ["MEDICAL"], "calm": 0},
        "pending": {"kind": IS_IT_OVER},
    }
    turn = Turn("123456", "en", state, timezone.now())
    session = open_emergency.under_alarm(FixedReply(turn, Reply("The code was wrong.", "en", state)))
    answered = asyncio.run(session.next([], mock.Mock()))
    assert isinstance(answered, Reply) and answered.text.startswith(LINE)
    assert answered.state["pending"] is None and answered.state["emergency"]


def test_pills_taken_in_a_crisis_are_a_second_alarm() -> None:
    talk = opened("I want to die")
    text = talk.say("i just swallowed the whole box of clonex")
    assert text.index("Call 101 now") < text.index("1201") and "POISONING" in row(talk).emergency
    later = talk.say("do you have acamol?")
    assert later.index("call 101") < later.index("1201")


def test_it_ends_after_three_calm_messages() -> None:
    talk = opened()
    for question in ("do you have acamol?", "when does Jaffa close?", "do you have Advil?"):
        assert talk.say(question).startswith(LINE)
    text = talk.say("do you have acamol?")
    assert "in stock" in text and LINE not in text
    assert row(talk).emergency == "MEDICAL" and not row(talk).emergency_open


@pytest.mark.parametrize("sign", ["no urine since morning", "אין לה שתן מהבוקר"])
def test_a_sign_of_danger_between_calm_messages_starts_their_count_again(sign: str) -> None:
    talk = opened()
    for message in ("do you have acamol?", "when does Jaffa close?", sign, "do you have Advil?"):
        talk.say(message)
    assert talk.say("do you have acamol?").startswith((LINE, "Emergency"))
    assert row(talk).state["emergency"]["calm"] == 2 and row(talk).emergency_open


def test_the_numbers_of_a_crisis_are_given_under_no_condition() -> None:
    for text, language in (("I want to die", "en"), ("אני רוצה למות", "he")):
        talk = Talk(language)
        said = talk.say(text)
        assert "1201" in said and "101" in said
        later = talk.say("do you have acamol?" if language == "en" else "יש לכם אקמול?")
        first = later.split("\n")[0]
        assert "1201" in first and "101" in first
        assert not any(word in first for word in ("if ", "danger", "אם ", "סכנה"))


def test_messages_that_are_not_understood_or_ask_for_advice_are_not_calm() -> None:
    talk = opened()
    for _ in range(4):
        talk.say("brrr zzkk")
        talk.say("is Advil good for him?")
    assert row(talk).emergency_open


def test_in_a_crisis_an_ambiguous_end_ends_nothing() -> None:
    talk = opened("I want to die")
    text = talk.say("all is well now")
    assert (
        text.startswith("You are not alone. Please call: ERAN, 1201, at any hour, or an ambulance, 101.")
        and "Are you safe now?" in text
    )
    assert "I'm safe now" in talk.payload["suggestions"]
    assert "Good to hear that" in talk.say("I'm safe now")


def test_another_emergency_told_with_the_end_of_the_first_is_an_alarm() -> None:
    talk = opened()
    assert "1201" in talk.say("the ambulance came and he is fine now, but I want to die")
    assert row(talk).emergency == "SELF_HARM,MEDICAL"


def test_a_milder_alarm_does_not_hide_the_open_one() -> None:
    talk = opened()
    talk.say("and I have a rash since I started the amoxicillin")
    assert row(talk).emergency == "MEDICAL,ADVERSE"
    assert talk.say("do you have acamol?").startswith(LINE)


@pytest.mark.parametrize(
    "message",
    [
        "The ambulance came and he is fine. Now he is not breathing!",
        "the doctor said he is ok but he is unconscious again",
        "the ambulance has not come and he is unconscious",
    ],
)
def test_an_alarm_behind_the_report_of_an_end_counts(message: str) -> None:
    talk = opened()
    talk.say(message)
    assert row(talk).emergency_open


def test_thanks_are_answered_with_the_number_and_count_as_calm() -> None:
    talk = opened()
    for _ in range(3):
        assert talk.say("thanks").startswith(LINE)
    assert not row(talk).emergency_open


def test_in_a_crisis_no_remark_is_answered_with_words_about_signs() -> None:
    text = opened("I want to die").say("i feel better, just tired")
    assert "somebody listens" in text and "signs" not in text


def test_a_second_alarm_adds_its_kind_and_starts_the_count_anew() -> None:
    talk = opened()
    talk.say("do you have acamol?")
    talk.say("I want to die")
    assert row(talk).emergency == "SELF_HARM,MEDICAL"
    assert row(talk).state["emergency"]["calm"] == 0


def test_it_stays_when_the_identity_changes() -> None:
    talk = opened(patient="10000101")
    talk.verify("10000102")
    assert talk.say("do you have acamol?").startswith(LINE)
    talk.forget()
    assert talk.say("do you have acamol?").startswith(LINE)


def test_advice_and_codes_are_answered_below_the_number() -> None:
    assert opened().say("should he stop taking his medicine?").startswith("Emergency: call 101")


def test_a_farewell_in_another_emergency_adds_its_number() -> None:
    text = opened().say("I want to die")
    assert text.startswith(LINE) and "1201" in text


def test_in_hebrew() -> None:
    talk = opened("אבא שלי איבד הכרה", "he")
    text = talk.say("יש לכם אקמול?")
    assert text.startswith("מצב חירום: התקשרו ל-101.") and not any(fact in text for fact in FACTS)


def test_an_adverse_reaction_is_answered_by_a_person_and_never_by_stock() -> None:
    talk = Talk()
    text = talk.say("I have a rash since I started the amoxicillin, do you have cetirizine?")
    assert text.startswith("Please speak to a pharmacist or doctor now") and "101" in text
    assert not any(fact in text for fact in FACTS)
    talk.say("yes")
    handoff = Handoff.objects.get()
    assert handoff.is_urgent and handoff.reason == "adverse_reaction"


def test_the_poison_centre_comes_first_where_something_was_swallowed(settings: Any) -> None:
    settings.EMERGENCY_POISON = "04-7771900"
    talk = opened("my toddler swallowed bleach")
    assert "04-7771900" in talk.payload["phones"]
    text = talk.payload["text"]
    assert text.index("04-7771900") < text.index("101")
    assert talk.say("do you have acamol?").startswith("Emergency: call the poison centre, 04-7771900")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("мой отец не может дышать", "Звоните сейчас: 101"),
        ("طفلي شرب كلور", "اتصلوا الآن: 101"),
        ("je veux mourir", "Appelez maintenant : 1201 / 101"),
        ("mi hijo se tragó unas pastillas", "Llame ahora: 101"),
        ("дитина проковтнула таблетки", "Телефонуйте зараз: 101"),
        ("መተንፈስ አልቻልኩም", "101።"),
    ],
)
def test_other_languages_get_the_number_in_three(text: str, words: str) -> None:
    answer = Talk().say(text)
    assert answer.index(words) == min(answer.index(words), answer.index("101"))
    assert "חירום" in answer or "לבד" in answer
    assert "emergency" in answer or "alone" in answer


def test_staff_see_it_first(client: Client) -> None:
    calm, urgent = Talk(), Talk()
    calm.say("I want to talk to a person")
    urgent.say(ALARM)
    urgent.say("I want to talk to a person")
    calm.say("hello")  # the last that was active
    user = get_user_model().objects.create_user("p", password="x", is_staff=True)
    user.groups.add(Group.objects.get(name="pharmacist"))
    client.force_login(user)
    page = client.get("/admin/agent/conversation/").content.decode()
    assert page.index(str(urgent.conversation)) < page.index(str(calm.conversation))
    assert "OPEN: medical" in page
    later = Talk()
    later.say("I want to talk to a person")
    page = client.get("/admin/prescriptions/handoff/").content.decode()
    of_urgent = Handoff.objects.get(is_urgent=True).number
    waiting = [
        of_urgent,
        *Handoff.objects.filter(is_urgent=False).order_by("pk").values_list("number", flat=True),
    ]
    assert sorted(waiting, key=page.index) == waiting  # as customers are told: then the oldest
    assert len(waiting) == 3
    assert page.count("desk-badge-urgent") == 1


def test_no_run_asks_a_model_while_it_is_open() -> None:
    class Forbidden:
        name = "forbidden"
        says_refusals = False

        async def open(self, turn: Any) -> Any:
            raise AssertionError("a model was asked")

    talk = opened(model=Forbidden())
    for text in ("do you have acamol?", "hello", "should I wait?"):
        assert talk.say(text).startswith(LINE)
    assert Run.objects.filter(state=Run.State.DONE).count() == 4


@pytest.mark.parametrize(
    "told",
    [
        "i feel so sleepy . can u tell my mom sorry",
        "she answered!! she only took 'a few'",
        "זה לא מפסיק לדמם אבל לא הרבה",
        "Her sister broke the door. She's breathing but won't wake up properly",
    ],
)
def test_a_sign_of_danger_after_a_farewell_needs_an_ambulance(told: str) -> None:
    """By itself the sign is no alarm; 101 stands without a condition once it is told in a crisis."""
    talk = opened("I want to die")
    assert talk.payload["phones"][0] == "1201"
    answer = talk.say(told)
    assert answer.split("101")[0].count("\n") == 0 and "1201" in answer
    assert {"SELF_HARM"} < {*Conversation.objects.get(pk=talk.conversation.pk).emergency.split(",")}


@pytest.mark.parametrize(
    "told",
    [
        "I took many pills an hour ago. I just wanted somebody to know",
        "לקחתי הרבה כדורים לפני שעה. רק רציתי שמישהו ידע",
    ],
)
def test_pills_that_were_taken_are_a_poisoning(told: str) -> None:
    assert "101" in Talk().say(told)
    assert "POISONING" in Conversation.objects.get().emergency


def test_a_deed_told_with_the_farewell_needs_an_ambulance_and_a_denied_one_does_not() -> None:
    opened("אני לא רוצה לחיות יותר. לקחתי את כל הקופסה")
    assert Conversation.objects.get().emergency.startswith(("POISONING", "MEDICAL"))
    talk = opened("I want to die")
    talk.say("I have not taken anything")
    assert Conversation.objects.get(pk=talk.conversation.pk).emergency == "SELF_HARM"
