"""The chat under CHAT_IDENTITY=dob: the account is named, the date of birth is typed or entered, and nothing is given away."""

import json
from typing import Any

import pytest
from random_text import without_random
from talking import Talk

from agent.conversation import accept
from agent.conversation.resume import conversation_resume
from agent.models import Conversation, Event, Run
from prescriptions.audit import Access
from prescriptions.handoffs.selectors import conversations_of
from prescriptions.handoffs.services import handoff_close
from prescriptions.models import Challenge, Handoff, Notification

DAVID = "david.cohen@example.com"
ASKS = {"en": "What prescriptions do I have?", "he": "אילו מרשמים יש לי?"}
RIGHT = {"en": "June 11th, 1978", "he": "11 ביוני 78"}


@pytest.fixture(autouse=True)
def _by_birth(demo_committed: None, settings: Any) -> None:
    settings.CHAT_IDENTITY = "dob"


def asked(language: str, identifier: str) -> Talk:
    """Return a conversation that waits for a date of birth."""
    talk = Talk(language)
    talk.say(ASKS[language])
    talk.say(identifier)
    return talk


def stored(talk: Talk) -> str:
    """Return all that the database holds of a conversation, without random identifiers."""
    events = Event.objects.filter(conversation=talk.conversation).values_list("payload", flat=True)
    runs = Run.objects.filter(conversation=talk.conversation).values_list("input", "progress")
    state = Conversation.objects.get(pk=talk.conversation.pk).state
    return without_random(json.dumps([*events, *runs, state], ensure_ascii=False, default=str))


@pytest.mark.parametrize("identifier", [DAVID, "050-1234567", "10000101"])
@pytest.mark.parametrize("language", ["en", "he"])
def test_a_typed_date_of_birth_shows_the_prescriptions_and_is_stored_nowhere(
    language: str, identifier: str
) -> None:
    talk = asked(language, identifier)
    assert [card["kind"] for card in talk.payload["cards"]] == ["identity"]
    requested = [event for event in talk.page if event["type"] == "identity.requested"]
    assert [event["asks"] for event in requested] == ["date_of_birth"]
    answer = talk.say(RIGHT[language])
    assert {"en": "Metformin", "he": "מטפורמין"}[language] in answer
    assert RIGHT[language] not in stored(talk) and "1978" not in stored(talk)
    assert not Notification.objects.exists()


@pytest.mark.parametrize("language", ["en", "he"])
def test_known_and_unknown_accounts_get_the_same_answers_and_three_wrong_dates_a_person(
    language: str,
) -> None:
    seen = []
    for identifier in (DAVID, "nobody@example.com"):
        talk = asked(language, identifier)
        said = [talk.payload["text"], *(talk.say(text) for text in ("31.12.85", "31.02.1985", "1/1/1970"))]
        assert not Handoff.objects.filter(conversation_id=talk.conversation.pk).exists()
        talk.say("2.1.1970")
        handoff = Handoff.objects.get(conversation_id=talk.conversation.pk)
        assert handoff.reason == "identity_failed" and handoff.number in talk.payload["text"]
        assert Conversation.objects.get(pk=talk.conversation.pk).patient is None
        for text in ("31.12.85", "1970", "31.02.1985"):
            assert text not in stored(talk)
        seen.append([*said, talk.payload["text"].replace(handoff.number, "N")])
    assert seen[0] == seen[1]


def test_a_date_from_the_card_is_tried_and_one_that_is_none_costs_nothing() -> None:
    talk = asked("en", DAVID)
    enter = {"conversation_id": talk.conversation.pk, "address": "192.0.2.1"}
    assert accept.code_submit(code="tomorrow", **enter).outcome == "unreadable"
    assert accept.code_submit(code="12.6.78", **enter) == accept.CodeOutcome("wrong", 2)
    assert accept.code_submit(code="11.6.78", **enter).outcome == "ok"
    talk.answer()
    assert "Metformin" in talk.payload["text"]


def test_another_message_is_answered_while_a_date_is_awaited() -> None:
    talk = asked("en", DAVID)
    assert "Jaffa" in talk.say("When does the Jaffa branch open?")
    assert Challenge.objects.get().tries_left == 3
    assert "Metformin" in talk.say("11/06/1978")


def test_a_date_of_birth_is_masked_although_nothing_is_asked() -> None:
    talk = Talk()
    talk.say("I was born on 11.6.78")
    assert "11.6.78" not in stored(talk)
    assert not Challenge.objects.exists()


def test_for_another_person_no_date_of_birth_is_asked() -> None:
    talk = Talk()
    assert "only a pharmacist" in talk.say("What prescriptions does my mother have?")
    assert not Challenge.objects.exists()


def test_two_conversations_that_fail_with_one_contact_share_a_hand_off_each_in_its_language() -> None:
    talks = {"en": asked("en", DAVID), "he": asked("he", DAVID)}
    for talk in talks.values():
        for text in ("2.1.1970", "3.1.1970", "4.1.1970"):
            talk.say(text)
    handoff = Handoff.objects.get()
    assert all(handoff.number in talk.payload["text"] for talk in talks.values())
    assert conversations_of(handoff) == [talk.conversation.pk for talk in talks.values()]
    waits = {"en": "Waiting", "he": "ממתינה"}
    for language, talk in talks.items():
        [place] = conversation_resume(talk.conversation, 0).queue
        assert place["number"] == handoff.number and place["queue"].startswith(waits[language])
    # Whoever asks for a person in the second gets one of their own; the first one has theirs.
    for language, text in (("he", "אני רוצה לדבר עם נציג"), ("en", "I want to talk to a person")):
        said = talks[language].say(text)
        assert (handoff.number in said) is (language == "en")
    own = Handoff.objects.get(reason="customer_asked")
    assert own.conversation_id == talks["he"].conversation.pk
    assert handoff_close(handoff=handoff, access=Access("user:1", "admin"))
    for language, talk in talks.items():
        closed = talk.conversation.events.filter(type="handoff.updated").latest("seq").payload
        assert (closed["number"], closed["state"], closed["lang"]) == (handoff.number, "closed", language)
    # Handled; whoever fails again afterwards is a new case.
    talks["en"].say("5.1.1970")
    assert Handoff.objects.filter(reason="identity_failed").count() == 2
