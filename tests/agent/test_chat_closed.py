"""A chat that operators have closed: their text to everything but emergencies and conversations of staff."""

import pytest
from django.contrib.auth.models import Group, User
from talking import Talk

from agent.answers.sentences import SENTENCES
from agent.conversation import confirmations
from agent.models import Confirmation
from prescriptions.audit import Access
from prescriptions.handoffs import services
from prescriptions.models import Handoff, RefillRequest, SiteSwitches
from prescriptions.transcripts import reply_write

DESK = Access("user:1", "admin")


@pytest.fixture
def closed(demo_committed: None) -> SiteSwitches:
    row = SiteSwitches.objects.get()
    row.chat_closed, row.closed_text_en, row.closed_text_he = True, "Back at noon.", "נחזור בצהריים."
    row.save()
    return row


@pytest.mark.parametrize(
    ("language", "question", "text"),
    [
        ("en", "do you have Advil in Florentin?", "Back at noon."),
        ("en", "I want to talk to a person", "Back at noon."),
        ("he", "יש אדוויל בפלורנטין?", "נחזור בצהריים."),
    ],
)
def test_every_question_gets_the_text_and_the_number(
    closed: SiteSwitches, language: str, question: str, text: str
) -> None:
    talk = Talk(language)
    said = talk.say(question)
    assert said.startswith(text) and "101" in said and not talk.tools
    assert not Handoff.objects.filter(conversation_id=talk.conversation.pk).exists()


def test_without_a_text_the_standard_sentence_is_said(closed: SiteSwitches) -> None:
    closed.closed_text_en = closed.closed_text_he = ""
    closed.save()
    assert SENTENCES["chat_closed"][0] in Talk().say("hello")
    assert SENTENCES["chat_closed"][1] in Talk("he").say("שלום")


@pytest.mark.parametrize("text", ["my father has chest pain and can't breathe", "אבא שלי לא נושם"])
def test_an_emergency_is_answered_as_ever(closed: SiteSwitches, text: str) -> None:
    talk = Talk()
    assert "101" in talk.say(text).splitlines()[0] and "Back at noon" not in talk.payload["text"]
    assert talk.payload["phones"]
    assert "Back at noon" not in talk.say("what should I do now?")


def test_the_next_question_after_it_is_opened_is_answered(closed: SiteSwitches) -> None:
    talk = Talk()
    talk.say("how much is Advil?")
    closed.chat_closed = False
    closed.save()
    assert "₪" in talk.say("how much is Advil?")


def test_a_refill_is_not_submitted_by_a_yes_to_an_earlier_question(demo_committed: None) -> None:
    talk = Talk(patient="10000101")
    talk.say("I need my metformin again, 15 tablets")
    talk.say("the online store")
    confirm = Confirmation.objects.get(conversation=talk.conversation)
    row = SiteSwitches.objects.get()
    row.chat_closed = True
    row.save()
    confirmations.confirmation_answer(
        conversation_id=talk.conversation.pk,
        key=talk.conversation.secret_hash,
        confirm_id=confirm.pk,
        decision="yes",
        address="192.0.2.1",
    )
    talk.answer()
    assert SENTENCES["chat_closed"][0] in talk.payload["text"]
    assert not RefillRequest.objects.filter(is_confirmed=True, conversation_id=talk.conversation.pk).exists()


def test_a_conversation_that_a_person_has_goes_on(demo_committed: None) -> None:
    dana = User.objects.create_user("dana2", "d@example.com", is_staff=True)
    dana.groups.add(Group.objects.get(name="pharmacist"))
    talk = Talk()
    talk.say("I want to talk to a person")
    handoff = Handoff.objects.get(conversation_id=talk.conversation.pk)
    services.handoff_claim(handoff, dana, access=DESK)
    reply_write(handoff, dana, "Hello, this is Dana", seen_seq=2**31 - 1, access=DESK)
    row = SiteSwitches.objects.get()
    row.chat_closed = True
    row.save()
    assert talk.say("thank you, Dana") == ""
