"""Who answers while a customer waits for a person, and while a person has the conversation."""

import asyncio
import re
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.utils import timezone
from talking import Talk

from agent.answers.handoffs import taken_said
from agent.answers.render import label
from agent.conversation import confirmations, modes, runs
from agent.conversation.events import numbered
from agent.conversation.patient_handoffs import handoffs_bring
from agent.models import Confirmation, Conversation, Run
from prescriptions.audit import Access
from prescriptions.errors import UnseenMessages
from prescriptions.handoffs import services
from prescriptions.handoffs.failed_identity import handoff_open_for_contact
from prescriptions.models import AuditEvent, Handoff, Notification, Patient, RefillRequest
from prescriptions.transcripts import give_back, reply_write, transcript_of_handoff

DESK = Access("user:1", "admin")


@pytest.fixture
def dana(demo_committed: None) -> User:
    user = User.objects.create_user(
        "dana2", "d@example.com", first_name="Dana", last_name="Levi", is_staff=True
    )
    user.groups.add(Group.objects.get(name="pharmacist"))
    return user


def waiting(language: str = "en") -> tuple[Talk, Handoff]:
    talk = Talk(language)
    talk.say({"en": "I want to talk to a person", "he": "אני רוצה לדבר עם נציג"}[language])
    return talk, Handoff.objects.get(conversation_id=talk.conversation.pk)


def taken_over(dana: User, language: str = "en") -> tuple[Talk, Handoff]:
    talk, handoff = waiting(language)
    services.handoff_claim(handoff, dana, access=DESK)
    reply_write(handoff, dana, "Hello, this is Dana", seen_seq=2**31 - 1, access=DESK)
    return talk, handoff


def said_by(talk: Talk, role: str) -> list[dict[str, Any]]:
    found = [numbered(event) for event in talk.conversation.events.order_by("seq")]
    return [dict(event) for event in found if event.get("role") == role]


@pytest.mark.parametrize(
    ("language", "first", "others"),
    [
        (
            "en",
            "Hello? Is anybody there?",
            ["are you there", "thanks", "tomorrow at five", "yes", "please hurry", "can somebody answer me"],
        ),
        ("he", "שלום? יש שם מישהו?", ["אתם שם?", "תודה", "נו?", "אני אחכה"]),
    ],
)
def test_who_waits_is_told_once_when_a_person_reads_it(
    demo_committed: None, language: str, first: str, others: list[str]
) -> None:
    talk, handoff = waiting(language)
    told = re.sub("[\u2066-\u2069]", "", talk.say(first))
    assert handoff.number in told
    assert {"en": "Waiting, you are next", "he": "ממתינה, הבאה בתור"}[language] in told
    assert re.search(r"03-555-\d{4}", told) and re.search(r"\d\d:\d\d", told)
    assert talk.payload["automatic"]
    for other in others:
        assert talk.say(other) == "", other
        assert talk.frames[-1]["type"] == "run.completed"
    assert not any("anybody" in each["text"] for each in said_by(talk, "assistant"))
    assert Run.objects.filter(conversation=talk.conversation, state="done", answer_seq=None).count() == len(
        others
    )


@pytest.mark.parametrize(
    ("language", "asked"),
    [
        (
            "en",
            [
                "how long do I have to wait?",
                "how much longer?",
                "what is taking so long",
                "Hello? I've been waiting for 20 minutes already",
                "when will somebody answer me?",
                "how many people are before me?",
                "how many are ahead of me",
                "what is the number of my request?",
            ],
        ),
        ("he", ["כמה זמן עוד לחכות?", "עוד כמה זמן?", "למה זה לוקח כל כך הרבה זמן?", "מתי יענו לי?", "כמה זמן אני צריך לחכות לנציג?", "כמה אנשים לפניי?", "מה מספר הפנייה שלי?"]),
    ],
)  # fmt: skip
def test_who_asks_how_long_the_wait_is_is_told_each_time(
    demo_committed: None, language: str, asked: list[str]
) -> None:
    talk, handoff = waiting(language)
    for text in [*asked, asked[0]]:
        told = re.sub("[\u2066-\u2069]", "", talk.say(text))
        assert handoff.number in told and re.search(r"03-555-\d{4}", told), text
        assert {"en": "Waiting, you are next", "he": "ממתינה, הבאה בתור"}[language] in told, text


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "how long should I wait before I take another pill?"),
        ("en", "how long do I have to take it?"),
        ("en", "how long does Advil take to work?"),
        ("he", "כמה זמן לחכות בין כדור לכדור?"),
    ],
)
def test_a_question_about_a_medicine_is_none_about_the_wait(
    demo_committed: None, language: str, text: str
) -> None:
    talk, _handoff = waiting(language)
    talk.say("thanks")
    assert {"en": "you are next", "he": "הבאה בתור"}[language] not in talk.say(text)


@pytest.mark.parametrize(
    "question",
    [
        "Do you have Advil?",
        "when is the Jaffa branch open?",
        "do you have zorbulin?",
        "Which pain relievers do you have?",
    ],
)
def test_who_waits_still_gets_answers_to_questions(demo_committed: None, question: str) -> None:
    talk, _handoff = waiting()
    assert len(talk.say(question)) > 20 and "H-1" not in talk.payload["text"]


def test_who_waits_and_asks_for_advice_is_refused_and_referred_to_their_request(demo_committed: None) -> None:
    talk, _handoff = waiting()
    talk.say("thanks")
    for _ in range(2):
        refused = talk.say("Should I take Advil or Acamol for my back pain?")
        assert "can't give medical advice" in refused and "101" in refused and "Shall I" not in refused


def test_an_open_emergency_is_answered_as_always_while_a_person_is_waited_for(demo_committed: None) -> None:
    talk, _handoff = waiting()
    talk.say("I can't breathe, my throat is swelling")
    assert "101" in talk.say("thanks")


@pytest.mark.parametrize("text", ["Do you have Advil?", "Hello?", "What prescriptions do I have?", "asdf"])
def test_the_assistant_is_silent_while_a_person_has_the_conversation(dana: User, text: str) -> None:
    talk, _handoff = taken_over(dana)
    before = len(said_by(talk, "assistant"))
    assert talk.say(text) == ""
    assert [frame["type"] for frame in talk.frames] == ["run.completed"]
    assert len(said_by(talk, "assistant")) == before


@pytest.mark.parametrize("mode", ["queued", "human"])
def test_an_emergency_is_answered_in_every_mode_and_moves_the_case_up(dana: User, mode: str) -> None:
    talk, handoff = waiting() if mode == "queued" else taken_over(dana)
    assert "101" in talk.say("I can't breathe, my throat is swelling")
    assert talk.payload["automatic"]
    handoff.refresh_from_db()
    assert handoff.is_urgent
    assert Notification.objects.filter(kind="handoff_opened", key__contains=":urgent:").exists()
    assert Conversation.objects.get(pk=talk.conversation.pk).emergency_open


def test_an_answer_in_the_making_is_not_written_after_a_take_over(dana: User) -> None:
    talk, handoff = waiting()
    services.handoff_claim(handoff, dana, access=DESK)
    talk.send("Do you have Advil?")
    claim = talk.claim()
    # The pharmacist has read the question, and writes while it is being answered.
    reply_write(handoff, dana, "Yes, we have it", seen_seq=2**31 - 1, access=DESK)
    answers = len(said_by(talk, "assistant"))
    talk.answer(claim)
    assert talk.run.state == "done" and talk.run.answer_seq is None
    assert len(said_by(talk, "assistant")) == answers
    *_, withdrawn, over = talk.frames
    assert (withdrawn["type"], withdrawn["offset"], withdrawn["text"]) == ("message.delta", 0, "")
    assert over == {"type": "run.completed", "run_id": str(talk.run.pk)}


def test_a_question_of_a_conversation_that_was_given_back_meanwhile_is_answered(dana: User) -> None:
    talk, handoff = taken_over(dana)
    talk.send("Do you have Advil?")
    claim = talk.claim()
    give_back(handoff, dana, DESK)
    asyncio.run(talk.answering(claim))
    assert Run.objects.get(pk=claim.run.pk).state == "pending"
    talk.answer()
    assert "Advil" in talk.payload["text"]
    # The next one is the assistant's from the beginning.
    assert talk.say("Do you have Cetirizine?")


def test_an_emergency_that_was_being_answered_is_written_after_a_take_over(dana: User) -> None:
    talk, handoff = waiting()
    services.handoff_claim(handoff, dana, access=DESK)
    talk.send("I can't breathe, my throat is swelling")
    claim = talk.claim()
    reply_write(handoff, dana, "Hello", seen_seq=2**31 - 1, access=DESK)
    talk.answer(claim)
    assert "101" in talk.payload["text"] and talk.payload["automatic"]


def test_a_pharmacist_and_a_customer_who_write_at_once_do_not_lock_each_other_out(dana: User) -> None:
    """Emergencies raise the hand-off while the pharmacist writes: both lock the hand-off before the conversation."""
    talk, handoff = taken_over(dana)
    failed: list[str] = []

    def write() -> None:
        for number in range(8):
            reply_write(handoff, dana, f"Line {number}", seen_seq=2**31 - 1, access=DESK)
            give_back(handoff, dana, DESK)

    def call_for_help() -> None:
        for _ in range(4):
            Handoff.objects.filter(pk=handoff.pk).update(is_urgent=False)
            Conversation.objects.filter(pk=talk.conversation.pk).update(emergency_open=False, state={})
            assert "101" in talk.say("I can't breathe, my throat is swelling")

    def work(what: Any) -> None:
        try:
            what()
        except Exception as error:
            failed.append(repr(error))
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(what,)) for what in (write, call_for_help)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == []
    events = [numbered(event) for event in talk.conversation.events.order_by("seq")]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert sum(event.get("role") == "staff" for event in events) == 9
    assert sum("101" in event.get("text", "") for event in events) == 4


# -- What a person leaves without an answer ------------------------------------------------------------------------
def closing(talk: Talk) -> str:
    return str(
        talk.conversation.events.filter(payload__outcome__isnull=False).latest("seq").payload["message"]
    )


@pytest.mark.parametrize("how", ["give_back", "close"])
def test_what_staff_left_without_an_answer_the_assistant_answers(dana: User, how: str) -> None:
    talk, handoff = taken_over(dana)
    assert talk.say("Do you have Cetirizine?") == talk.say("thanks") == ""
    if how == "give_back":
        give_back(handoff, dana, DESK)
    else:
        services.handoff_close(handoff=handoff, access=DESK, outcome="answered")
        assert "has not answered what you wrote last" in closing(talk)
    # As after the death of a process, the sweep finds the runs that wait.
    Run.objects.filter(state="pending").update(created_at=timezone.now() - timedelta(minutes=1))
    assert runs.runs_abandoned() == [talk.conversation.pk]
    talk.answer()
    assert "Cetirizine" in talk.payload["text"]
    talk.answer()
    assert talk.payload["text"]
    assert runs.run_claim(talk.conversation.pk) is None
    # Answered once; a later end of the hand-off repeats nothing.
    services.handoff_close(handoff=handoff, access=DESK, outcome="answered")
    assert runs.run_claim(talk.conversation.pk) is None


def test_what_staff_answered_is_not_answered_again(dana: User) -> None:
    talk, handoff = taken_over(dana)
    talk.say("Do you have Cetirizine?")
    reply_write(handoff, dana, "Yes, we have it", seen_seq=2**31 - 1, access=DESK)
    services.handoff_close(handoff=handoff, access=DESK, outcome="answered")
    assert "has answered you here" in closing(talk)
    assert runs.run_claim(talk.conversation.pk) is None


def test_who_still_waits_for_another_person_is_not_answered_by_the_assistant(dana: User) -> None:
    talk, handoff = taken_over(dana)
    other = services.handoff_open(
        conversation_id=talk.conversation.pk, reason="complaint", run_key="c", language="en"
    )
    talk.say("Do you have Cetirizine?")
    services.handoff_close(handoff=handoff, access=DESK, outcome="answered")
    assert "has not answered what you wrote last" in closing(talk)
    assert runs.run_claim(talk.conversation.pk) is None
    services.handoff_close(handoff=other, access=DESK, outcome="answered")
    talk.answer()
    assert "Cetirizine" in talk.payload["text"]


# -- Buttons and codes while a person has the conversation ---------------------------------------------------------
def over_to(dana: User, talk: Talk) -> Handoff:
    """Let a pharmacist take this conversation over."""
    talk.say("I want to talk to a person")
    handoff = Handoff.objects.get(conversation_id=talk.conversation.pk)
    services.handoff_claim(handoff, dana, access=DESK)
    reply_write(handoff, dana, "Hello", seen_seq=2**31 - 1, access=DESK)
    return handoff


def test_a_press_on_a_card_is_carried_out_while_a_person_has_the_conversation(dana: User) -> None:
    talk = Talk(patient="10000101")
    talk.say("I need my metformin again, 15 tablets")
    talk.say("the online store")
    card = Confirmation.objects.get(conversation=talk.conversation, state="open")
    over_to(dana, talk)
    confirmations.confirmation_answer(
        conversation_id=talk.conversation.pk,
        key=Conversation.objects.get(pk=talk.conversation.pk).secret_hash,
        confirm_id=card.pk,
        decision="yes",
        address="192.0.2.1",
    )
    talk.answer()
    assert "approved and sent for preparation" in talk.payload["text"]
    assert talk.payload["automatic"] and talk.payload["suggestions"] == []
    assert RefillRequest.objects.get(is_confirmed=True).outcome == "dispensed"


def test_an_identity_is_proven_while_a_person_has_the_conversation(dana: User, settings: Any) -> None:
    settings.DEBUG = True
    talk = Talk()
    over_to(dana, talk)
    assert talk.say("My phone is 0501234567, call me") == ""
    assert "code" in talk.say("david.cohen@example.com")
    assert talk.payload["automatic"]
    code = Notification.objects.filter(kind="identity_code").latest("pk").context["code"]
    wrong = "111111" if code != "111111" else "222222"
    assert "not right" in talk.say(wrong)
    talk.say(code)
    assert Conversation.objects.get(pk=talk.conversation.pk).proven_patient is not None


def test_what_an_identified_customer_writes_is_read_by_who_has_the_conversation(
    dana: User, settings: Any
) -> None:
    """The hand-off becomes the patient's: staff read on, are stopped by unread messages, and the assistant is silent."""
    settings.DEBUG = True
    talk = Talk()
    handoff = over_to(dana, talk)
    talk.say("david.cohen@example.com")
    talk.say(Notification.objects.filter(kind="identity_code").latest("pk").context["code"])
    assert talk.say("Is my Warfarin ready?") == ""
    handoff.refresh_from_db()
    david = Patient.objects.get(mrn="10000101")
    assert handoff.patient == david and handoff.package["verified"]["how"] == "otp"
    assert transcript_of_handoff(handoff)[-1].text == "Is my Warfarin ready?"
    with pytest.raises(UnseenMessages):
        reply_write(handoff, dana, "One moment", seen_seq=1, access=DESK)
    card = talk.conversation.events.filter(type="handoff.updated").latest("seq")
    assert (card.patient, card.payload["asks_email"]) == (david, False)
    assert AuditEvent.objects.filter(what="handoff_identified", patient=david).count() == 1


def test_a_second_hand_off_of_a_patient_for_one_reason_and_a_failed_identity_stay_nobodys(dana: User) -> None:
    _other, theirs = waiting()
    david = Patient.objects.get(mrn="10000101")
    Handoff.objects.filter(pk=theirs.pk).update(patient=david)
    talk, asked = waiting()
    failed = services.handoff_open(
        conversation_id=talk.conversation.pk, reason="identity_failed", run_key="f", language="en"
    )
    complaint = services.handoff_open(
        conversation_id=talk.conversation.pk, reason="complaint", run_key="c", language="en"
    )
    handoffs_bring(talk.conversation.pk, david)
    found = Handoff.objects.filter(conversation_id=talk.conversation.pk).values_list("pk", "patient")
    assert dict(found) == {
        theirs.pk: david.pk,
        asked.pk: None,
        failed.pk: None,
        complaint.pk: david.pk,
    }


def test_a_second_patient_whom_nobody_reads_is_answered_while_a_person_has_the_conversation(
    dana: User,
) -> None:
    talk, handoff = taken_over(dana)
    Handoff.objects.filter(pk=handoff.pk).update(patient=Patient.objects.get(mrn="10000101"))
    talk.verify("10000124")
    assert "Advil" in talk.say("Do you have Advil?")
    assert talk.payload["automatic"] and talk.payload["suggestions"] == []
    talk.verify("10000101")
    assert talk.say("Do you have Advil?") == ""
    # What is nobody's is read by whoever has the hand-off.
    talk.forget()
    assert talk.say("Do you have Advil?") == ""


@pytest.mark.parametrize("mode", ["queued", "human"])
@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "my email is david.cohen@example.com"),
        ("en", "It's david.cohen@example.com"),
        ("en", "050 111 0101"),
        ("en", "050-111-0101"),
        ("he", "המייל שלי david.cohen@example.com"),
        ("he", "050 111 0101"),
    ],
)
def test_an_address_in_a_sentence_or_a_spaced_number_begins_the_proof(
    dana: User, settings: Any, mode: str, language: str, text: str
) -> None:
    settings.DEBUG = True
    talk, _handoff = waiting(language) if mode == "queued" else taken_over(dana, language)
    talk.say({"en": "thanks", "he": "תודה"}[language])
    assert {"en": "code", "he": "קוד"}[language] in talk.say(text)


def test_a_channel_layer_that_is_lost_changes_nothing_about_who_answers(dana: User) -> None:
    talk, _handoff = waiting()
    key = talk.conversation.secret_hash
    assert modes.set_degraded(talk.conversation.pk, degraded=True) == "queued"
    assert modes.set_degraded_all([key], degraded=True) == []
    other, _handoff = taken_over(dana)
    assert modes.set_degraded(other.conversation.pk, degraded=True) == "human"
    # One that was degraded when the hand-off was opened waits for the person, too.
    third = Talk()
    modes.set_degraded(third.conversation.pk, degraded=True)
    third.say("I want to talk to a person")
    assert Conversation.objects.get(pk=third.conversation.pk).mode == "queued"


def test_who_waits_for_the_decision_about_a_refill_is_told_its_number(dana: User) -> None:
    talk = Talk(patient="10000101")
    talk.say("I need my metformin again, 15 tablets")
    talk.say("the online store")
    request = RefillRequest.objects.get()
    handoff = services.handoff_open(
        conversation_id=talk.conversation.pk,
        reason="refill",
        run_key="r",
        language="en",
        patient=request.patient,
    )
    RefillRequest.objects.filter(pk=request.pk).update(handoff=handoff)
    assert request.number in talk.say("thanks")


def test_who_writes_after_somebody_took_the_request_is_told_that(dana: User) -> None:
    talk, handoff = waiting()
    services.handoff_claim(handoff, dana, access=DESK)
    told = talk.say("Hello? Is anybody there?")
    assert "is reading your conversation" in told and "next" not in told


@pytest.mark.parametrize("role", ["technician", "pharmacist"])
def test_who_reads_the_conversation_is_said_in_sound_hebrew(role: str) -> None:
    assert taken_said(role, "he") == f"השיחה שלכם נקראת כעת ({label('role', role, 'he')})."


def test_a_hand_off_brought_along_into_an_open_emergency_becomes_urgent(dana: User) -> None:
    _first, brought = waiting()
    david = Patient.objects.get(mrn="10000101")
    Handoff.objects.filter(pk=brought.pk).update(patient=david)
    second = Talk()
    second.say("I can't breathe")
    handoffs_bring(second.conversation.pk, david)
    brought.refresh_from_db()
    assert (brought.conversation_id, brought.is_urgent) == (second.conversation.pk, True)
    assert brought.claim_due_at is not None
    assert brought.claim_due_at <= timezone.now() + timedelta(minutes=15)


def test_an_emergency_where_a_hand_off_was_before_makes_it_urgent(dana: User) -> None:
    first, moved = waiting()
    david = Patient.objects.get(mrn="10000101")
    Handoff.objects.filter(pk=moved.pk).update(patient=david)
    handoffs_bring(Talk(patient="10000101").conversation.pk, david)
    _else, others = waiting()
    first.say("I can't breathe")
    moved.refresh_from_db()
    others.refresh_from_db()
    assert (moved.is_urgent, others.is_urgent) == (True, False)


def test_an_emergency_makes_all_that_the_patient_waits_for_urgent(dana: User) -> None:
    _first, elsewhere = waiting()
    Handoff.objects.filter(pk=elsewhere.pk).update(patient=Patient.objects.get(mrn="10000101"))
    Talk(patient="10000101").say("I can't breathe")
    elsewhere.refresh_from_db()
    assert elsewhere.is_urgent


def test_a_failed_identity_that_an_emergency_joins_is_brought_forward(dana: User) -> None:
    given: dict[str, Any] = {"contact_key": "k", "language": "en"}
    first, second = Talk(), Talk()
    failed = handoff_open_for_contact(conversation_id=first.conversation.pk, **given)
    assert failed.claim_due_at and failed.claim_due_at > timezone.now() + timedelta(minutes=16)
    handoff_open_for_contact(conversation_id=second.conversation.pk, is_urgent=True, **given)
    failed.refresh_from_db()
    assert failed.is_urgent
    assert failed.claim_due_at <= timezone.now() + timedelta(minutes=15)
