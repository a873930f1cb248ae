"""A conversation in which the verified patient changes: nobody else is shown what was one patient's."""

import asyncio
import importlib
import re
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone
from talking import Talk

from agent.answers.sentences import SENTENCES
from agent.chat.chat_socket import ChatSocket
from agent.conversation import accept, events
from agent.conversation.resume import conversation_resume
from agent.models import Conversation, Event, Run
from agent.turn import context
from prescriptions.models import Handoff, Patient, Prescription
from prescriptions.tasks import notifications_deliver

DAVID, SARAH = "10000101", "10000102"  # he has Amoxicillin and Metformin, she Amoxicillin
pytestmark = pytest.mark.usefixtures("demo_committed")


def turn_context(talk: Talk) -> context.TurnContext:
    """What a turn would begin with now."""
    conversation = events.conversation_get(talk.conversation.pk)
    last = conversation.seq_head + 1
    Run.objects.create(conversation=conversation, kind=Run.Kind.RESUME, input_seq=last)
    claim = talk.claim()
    assert claim.run.input_seq == last
    claim.run.delete()
    return context.turn_begin(claim)


def known_to_model(talk: Talk) -> str:
    """What a model would be sent of the earlier messages and of the state."""
    turn = turn_context(talk).turn
    return str([turn.earlier(), turn.state])


def answered(talk: Talk, text: str) -> str:
    """The whole answer to a message, with its cards and suggestions, as text."""
    return str(talk.ask(text))


def sent_to_a_reconnected_page(talk: Talk, ignored: Run) -> list[dict[str, Any]]:
    async def read() -> list[dict[str, Any]]:
        socket, frames = ChatSocket(), []
        socket.key, socket.sent_seq, socket.ready = talk.conversation.secret_hash, ignored.input_seq, True
        socket.push = frames.append  # type: ignore[method-assign]
        socket.hide_run(ignored.pk)
        socket.log_grown()
        async with asyncio.timeout(5):
            while not frames:
                await asyncio.sleep(0.01)
        return frames

    return asyncio.run(read())


def davids_talk(*asked_for: str) -> Talk:
    """A conversation with David verified, all of it about his Metformin."""
    talk = Talk(patient=DAVID)
    for text in asked_for:
        assert "Metformin" in answered(talk, text)
    return talk


@pytest.fixture
def talk() -> Talk:
    return davids_talk(
        "show me my prescriptions", "what is the status of the second one?", "how much does it cost?"
    )


@pytest.fixture
def general_talk() -> Talk:
    """Only general questions, none about his prescriptions."""
    return davids_talk("is Metformin in stock?", "does it need a prescription?")


@pytest.mark.parametrize("after", [None, SARAH])
@pytest.mark.parametrize("begun", ["talk", "general_talk"])
def test_another_customer_is_shown_nothing_of_a_patients_conversation(
    request: pytest.FixtureRequest, begun: str, after: str | None
) -> None:
    talk: Talk = request.getfixturevalue(begun)
    talk.verify(after)
    assert "Metformin" not in str(talk.page)
    for text in (
        "how much does it cost?",
        "where can I get it?",
        "and the second one?",
        "refill the second one",
    ):
        assert "Metformin" not in answered(talk, text), text
    assert "Metformin" not in known_to_model(talk)


@pytest.mark.parametrize("begun", ["talk", "general_talk"])
def test_after_logging_out_nothing_of_the_conversation_is_shown(
    request: pytest.FixtureRequest, begun: str
) -> None:
    talk: Talk = request.getfixturevalue(begun)
    assert "no longer know" in answered(talk, "log me out")
    assert "Metformin" not in known_to_model(talk) + str(talk.page) + answered(talk, "how much does it cost?")


def test_a_waiting_question_is_not_answered_to_another_patient(talk: Talk) -> None:
    talk.send("how many refills are left on my Metformin?")
    talk.verify(SARAH)
    talk.answer()
    assert talk.payload["text"] == SENTENCES["asked_by_another"][0]
    assert "Metformin" not in known_to_model(talk) + str(talk.page)


def test_an_emergency_is_answered_although_the_patient_changed(talk: Talk) -> None:
    talk.send("my chest hurts and I can't breathe")
    talk.verify(SARAH)
    talk.answer()
    assert talk.payload["phones"]


def test_the_next_customer_with_an_identifier_starts_without_the_earlier_context(settings: Any) -> None:
    settings.CHAT_IDENTITY = "identifier"
    talk = Talk()
    talk.say("what prescriptions do I have? my e-mail is david.cohen@example.com")
    assert "Metformin" in answered(talk, "refill status of my metformin")
    talk.say("show the prescriptions of someone else")
    talk.say("sarah.levi@example.com")
    patient = events.conversation_get(talk.conversation.pk).patient
    assert patient and patient.mrn == SARAH
    assert "Metformin" not in known_to_model(talk) + str(talk.page) + answered(talk, "how much does it cost?")
    talk.verify(None)
    assert "Metformin" not in known_to_model(talk) + str(talk.page) + answered(talk, "how much does it cost?")


def test_a_question_for_another_patient_is_answered_without_the_first_patients_context(talk: Talk) -> None:
    talk.say("what is the refill status of my wife's prescription?")
    talk.say("sarah.levi@example.com")
    talk.verify(SARAH)
    head = talk.conversation.events.count()
    Run.objects.create(conversation=talk.conversation, kind=Run.Kind.RESUME, input_seq=head)
    talk.answer()
    assert "Amoxicillin" in talk.payload["text"] and "Metformin" not in str(talk.payload)
    assert talk.event.patient and talk.event.patient.mrn == SARAH


def test_requesting_a_person_does_not_renew_an_expired_verification(talk: Talk) -> None:
    ago = timezone.now() - timedelta(minutes=16)
    Conversation.objects.filter(pk=talk.conversation.pk).update(active_at=ago)
    accept.handoff_request(conversation_id=talk.conversation.pk)
    talk.answer()
    assert not events.conversation_get(talk.conversation.pk).is_proven
    assert Handoff.objects.get(conversation_id=talk.conversation.pk).patient is None
    assert "Metformin" not in str(talk.page) + answered(talk, "show me my prescriptions")


def test_each_patient_gets_a_separate_hand_off(talk: Talk) -> None:
    def number() -> str:
        accept.handoff_request(conversation_id=talk.conversation.pk)
        talk.answer()
        return Handoff.objects.order_by("pk").last().number  # type: ignore[union-attr]

    first = number()
    assert number() == first
    talk.verify(SARAH)
    assert number() != first
    owners = Handoff.objects.order_by("pk").values_list("patient__mrn", flat=True)
    assert list(owners) == [DAVID, SARAH]


def test_a_typed_code_verifies_its_own_patient_and_replaces_the_previous_one(
    talk: Talk, mailoutbox: list[Any]
) -> None:
    talk.say("what are my wife's prescriptions?")
    talk.say("sarah.levi@example.com")
    notifications_deliver()
    code = re.findall(r"\b\d{6}\b", mailoutbox[-1].body)[0]
    said = answered(talk, code)
    assert "Sarah Levi" in said and "Metformin" not in said
    assert [frame["text"] for frame in talk.page if frame.get("role") == "user"][-1] != "Hidden for privacy."


def test_the_same_patient_verified_again_keeps_the_context(talk: Talk) -> None:
    talk.verify(DAVID)  # proven once more
    assert "Metformin" in answered(talk, "where can I get it?")
    assert "Metformin" in known_to_model(talk)


def test_an_expired_verification_ends_the_context(talk: Talk) -> None:
    ago = timezone.now() - timedelta(minutes=16)
    Conversation.objects.filter(pk=talk.conversation.pk).update(active_at=ago)
    assert "Metformin" not in answered(talk, "how much does it cost?")


def test_a_question_asked_before_verification_is_answered_after_it() -> None:
    talk = Talk()
    talk.say("what is the status of my metformin prescription?")
    talk.say("david.cohen@example.com")
    talk.verify(DAVID)
    Run.objects.create(conversation=talk.conversation, kind=Run.Kind.RESUME, input_seq=4)
    talk.answer()
    assert "Metformin" in talk.payload["text"] and talk.event.patient and talk.event.patient.mrn == DAVID


def test_a_named_place_is_remembered_without_a_verified_patient(talk: Talk) -> None:
    talk.say("is Advil in stock in Haifa?")
    talk.verify(None)
    assert "Haifa" in answered(talk, "do you have Acamol there?")


def test_a_page_shows_personal_answers_to_their_patient_only(talk: Talk) -> None:
    talk.verify(SARAH)
    assert "Amoxicillin" in answered(talk, "show me my prescriptions")

    def personal() -> list[bool]:
        return [SENTENCES["veiled"][0] not in frame["text"] for frame in talk.page if frame.get("personal")]

    assert personal() == [False, False, False, True]
    words = [frame["text"] for frame in talk.page if frame.get("role") == "user"]
    assert words == 3 * [SENTENCES["veiled_words"][0]] + ["show me my prescriptions"]
    talk.verify(DAVID)
    assert personal() == [True, True, True, False]
    talk.verify(None)
    assert personal() == [False, False, False, False]


def test_a_confirmation_shows_its_medicine_to_its_patient_only(talk: Talk) -> None:
    talk.say("refill metformin, online store")
    [asked_for] = [frame for frame in talk.page if frame["type"] == "confirm.requested"]
    assert asked_for["summary"]["rows"]
    for other in (SARAH, None):
        talk.verify(other)
        [asked_for] = [frame for frame in talk.page if frame["type"] == "confirm.requested"]
        assert asked_for["summary"]["rows"] == []


def test_an_answer_finished_after_the_patient_changed_belongs_to_the_first_patient(talk: Talk) -> None:
    talk.send("show me my prescriptions")
    claim = talk.claim()
    talk.verify(SARAH)

    talk.answer(claim)
    assert "Metformin" in talk.payload["text"]
    assert "Metformin" not in known_to_model(talk) and "Metformin" not in answered(
        talk, "and the second one?"
    )
    assert "Metformin" not in str([frame for frame in talk.page if frame.get("personal")])


def test_an_answer_in_progress_is_shown_only_to_the_patient_who_asked(talk: Talk) -> None:
    talk.send("show me my prescriptions")
    claim = talk.claim()
    for who, is_theirs in ((DAVID, True), (SARAH, False), (None, False)):
        talk.verify(who)
        resumed = conversation_resume(events.conversation_get(talk.conversation.pk), 0)
        assert resumed.run == claim.run and resumed.run_is_shown is is_theirs
    # A page that reconnects learns that the answer is finished, but does not get its text.
    talk.verify(None)
    talk.answer(claim)
    [last_frame] = [
        frame for frame in sent_to_a_reconnected_page(talk, claim.run) if frame.get("role") == "assistant"
    ]
    assert last_frame["text"] == SENTENCES["veiled"][0] and last_frame["run_id"] == str(claim.run.pk)
    # An answer that ends a proof, or comes after its end, is still shown to the page that asked, not to the next patient.
    key = talk.conversation.secret_hash
    assert "Metformin" in str(events.events_after(key, 0))
    talk.verify(SARAH)
    assert "Metformin" not in str(events.events_after(key, 0))


@pytest.mark.parametrize(("who", "is_known"), [(DAVID, True), (SARAH, False), (None, False)])
def test_numbers_of_one_patient_are_no_proof_for_another(talk: Talk, who: str | None, is_known: bool) -> None:
    talk.verify(who)
    assert ("5" in context.numbers_before(turn_context(talk))) is is_known  # his refills
    talk.say("is Advil in stock?")
    assert context.numbers_before(turn_context(talk))


def test_data_of_a_deleted_patient_is_shown_to_nobody(talk: Talk) -> None:
    Prescription.objects.all().delete()
    Patient.objects.get(mrn=DAVID).delete()
    for other in (SARAH, None):
        talk.verify(other)
        assert "Metformin" not in str(talk.page) and "Metformin" not in known_to_model(talk)


def test_the_migration_assigns_old_events_to_their_known_patient(talk: Talk) -> None:
    migration = importlib.import_module("agent.migrations.0006_event_patient_known")
    Event.objects.update(patient=None)
    old = Event.objects.filter(conversation=talk.conversation, payload__personal=True).order_by("seq").first()
    assert old
    Event.objects.filter(pk=old.pk).update(
        created_at=timezone.now() - timedelta(hours=1)
    )  # an earlier proof's
    untouched = Talk()
    untouched.say("is Metformin in stock?")
    migration.owners_fill(apps, SimpleNamespace(connection=connection))
    owned = Event.objects.filter(patient__mrn=DAVID)
    assert set(owned) == set(talk.conversation.events.filter(type="message.completed").exclude(pk=old.pk))
    assert Conversation.objects.get(pk=talk.conversation.pk).state == {}
    assert Conversation.objects.get(pk=untouched.conversation.pk).state["focus"]
    talk.verify(SARAH)
    assert "Metformin" not in known_to_model(talk) + str(talk.page)
