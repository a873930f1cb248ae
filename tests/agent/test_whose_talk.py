"""A conversation that passes from one person to another: what was one patient's is nobody else's to hear or to see."""

import asyncio
import importlib
import re
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from answering import answer as answer_claimed
from answering import answer_next
from django.apps import apps
from django.db import connection
from django.utils import timezone

from agent.answers.sentences import SENTENCES
from agent.chat.chat_socket import ChatSocket
from agent.conversation import accept, events, runs
from agent.conversation.resume import conversation_resume
from agent.models import Conversation, Event, Run
from agent.turn import context
from prescriptions.models import Handoff, Patient, Prescription
from prescriptions.tasks import notifications_deliver

DAVID, SARAH = "10000101", "10000102"  # he has Amoxicillin and Metformin, she Amoxicillin
pytestmark = pytest.mark.usefixtures("demo_committed")


class Talk:
    """One conversation on one screen, and who is proven to sit there."""

    def __init__(self, language: str = "en") -> None:
        self.conversation, _ = events.conversation_begin(language=language)

    def belongs_to(self, mrn: str | None) -> None:
        proof = (
            {"patient": Patient.objects.get(mrn=mrn), "verified_at": timezone.now()}
            if mrn
            else {"patient": None, "verified_at": None}
        )
        Conversation.objects.filter(pk=self.conversation.pk).update(**proof)

    def send(self, text: str) -> None:
        accept.message_accept(
            conversation_id=self.conversation.pk, client_msg_id=uuid4(), text=text, address="192.0.2.1"
        )

    def say(self, text: str) -> str:
        self.send(text)
        run = Run.objects.get(pk=answer_next(self.conversation.pk).pk)
        event = Event.objects.get(conversation=self.conversation, seq=run.answer_seq)
        return str(event.payload)

    @property
    def shown(self) -> list[dict[str, Any]]:
        """What a page gets that opens the conversation now."""
        return events.events_shown(events.conversation_get(self.conversation.pk), 0)

    @property
    def told(self) -> str:
        """What a model would be told of what was said, and of what the talk is about."""
        turn = self.work.turn
        return str([turn.earlier(), turn.state])

    @property
    def work(self) -> context.TurnContext:
        conversation = events.conversation_get(self.conversation.pk)
        last = conversation.seq_head + 1
        Run.objects.create(conversation=conversation, kind=Run.Kind.RESUME, input_seq=last)
        claim = runs.run_claim(conversation.pk)
        assert claim is not None and claim.run.input_seq == last
        claim.run.delete()
        return context.turn_begin(claim)


def heard_by_a_page_that_came_back(talk: Talk, ignored: Run) -> list[dict[str, Any]]:
    async def read() -> list[dict[str, Any]]:
        socket, heard = ChatSocket(), []
        socket.key, socket.sent_seq, socket.ready = talk.conversation.secret_hash, ignored.input_seq, True
        socket.push = heard.append  # type: ignore[method-assign]
        socket.hide_run(ignored.pk)
        socket.log_grown()
        assert socket._reading
        await socket._reading
        return heard

    return asyncio.run(read())


def davids(*asked_for: str) -> Talk:
    """David's talk, all of it about his Metformin."""
    talk = Talk()
    talk.belongs_to(DAVID)
    for text in asked_for:
        assert "Metformin" in talk.say(text)
    return talk


@pytest.fixture
def talk() -> Talk:
    return davids(
        "show me my prescriptions", "what is the status of the second one?", "how much does it cost?"
    )


@pytest.fixture
def small_talk() -> Talk:
    """Of nothing that is on his file."""
    return davids("is Metformin in stock?", "does it need a prescription?")


@pytest.mark.parametrize("after", [None, SARAH])
@pytest.mark.parametrize("begun", ["talk", "small_talk"])
def test_nobody_else_hears_what_a_patient_talked_about(
    request: pytest.FixtureRequest, begun: str, after: str | None
) -> None:
    talk: Talk = request.getfixturevalue(begun)
    talk.belongs_to(after)
    assert "Metformin" not in str(talk.shown)
    for text in (
        "how much does it cost?",
        "where can I get it?",
        "and the second one?",
        "refill the second one",
    ):
        assert "Metformin" not in talk.say(text), text
    assert "Metformin" not in talk.told


@pytest.mark.parametrize("begun", ["talk", "small_talk"])
def test_who_asked_to_be_forgotten_is(request: pytest.FixtureRequest, begun: str) -> None:
    talk: Talk = request.getfixturevalue(begun)
    assert "no longer know" in talk.say("log me out")
    assert "Metformin" not in talk.told + str(talk.shown) + talk.say("how much does it cost?")


def test_a_question_that_waits_is_not_answered_to_somebody_else(talk: Talk) -> None:
    talk.send("how many refills are left on my Metformin?")
    talk.belongs_to(SARAH)
    answer_next(talk.conversation.pk)
    last = Event.objects.filter(conversation=talk.conversation).order_by("seq").last()
    assert last and last.payload["text"] == SENTENCES["asked_by_another"][0]
    assert "Metformin" not in talk.told + str(talk.shown)


def test_an_emergency_is_answered_whoever_asked(talk: Talk) -> None:
    talk.send("my chest hurts and I can't breathe")
    talk.belongs_to(SARAH)
    answer_next(talk.conversation.pk)
    last = Event.objects.filter(conversation=talk.conversation).order_by("seq").last()
    assert last and last.payload["phones"]


def test_the_next_person_by_identifier_begins_anew(settings: Any) -> None:
    settings.CHAT_IDENTITY = "identifier"
    talk = Talk()
    talk.say("what prescriptions do I have? my e-mail is david.cohen@example.com")
    assert "Metformin" in talk.say("refill status of my metformin")
    talk.say("show the prescriptions of someone else")
    talk.say("sarah.levi@example.com")
    patient = events.conversation_get(talk.conversation.pk).patient
    assert patient and patient.mrn == SARAH
    assert "Metformin" not in talk.told + str(talk.shown) + talk.say("how much does it cost?")
    talk.belongs_to(None)
    assert "Metformin" not in talk.told + str(talk.shown) + talk.say("how much does it cost?")


def test_a_question_for_somebody_else_becomes_theirs_without_what_it_was_about(talk: Talk) -> None:
    talk.say("what is the refill status of my wife's prescription?")
    talk.say("sarah.levi@example.com")
    talk.belongs_to(SARAH)
    head = talk.conversation.events.count()
    Run.objects.create(conversation=talk.conversation, kind=Run.Kind.RESUME, input_seq=head)
    answer_next(talk.conversation.pk)
    last = Event.objects.filter(conversation=talk.conversation).order_by("seq").last()
    assert last and "Amoxicillin" in last.payload["text"] and "Metformin" not in str(last.payload)
    assert last.patient and last.patient.mrn == SARAH


def test_no_other_act_revives_a_proof_that_is_over(talk: Talk) -> None:
    ago = timezone.now() - timedelta(minutes=16)
    Conversation.objects.filter(pk=talk.conversation.pk).update(active_at=ago)
    accept.handoff_request(conversation_id=talk.conversation.pk)
    answer_next(talk.conversation.pk)
    assert not events.conversation_get(talk.conversation.pk).is_proven
    assert Handoff.objects.get(conversation_id=talk.conversation.pk).patient is None
    assert "Metformin" not in str(talk.shown) + talk.say("show me my prescriptions")


def test_a_person_is_asked_for_by_each_patient_apart(talk: Talk) -> None:
    def number() -> str:
        accept.handoff_request(conversation_id=talk.conversation.pk)
        answer_next(talk.conversation.pk)
        return Handoff.objects.order_by("pk").last().number  # type: ignore[union-attr]

    first = number()
    assert number() == first
    talk.belongs_to(SARAH)
    assert number() != first
    owners = Handoff.objects.order_by("pk").values_list("patient__mrn", flat=True)
    assert list(owners) == [DAVID, SARAH]


def test_a_code_that_is_typed_proves_who_typed_it_whoever_was_proven_before(
    talk: Talk, mailoutbox: list[Any]
) -> None:
    talk.say("what are my wife's prescriptions?")
    talk.say("sarah.levi@example.com")
    notifications_deliver()
    code = re.findall(r"\b\d{6}\b", mailoutbox[-1].body)[0]
    said = talk.say(code)
    assert "Sarah Levi" in said and "Metformin" not in said
    assert [frame["text"] for frame in talk.shown if frame.get("role") == "user"][-1] != "Hidden for privacy."


def test_the_patient_goes_on_where_they_were(talk: Talk) -> None:
    talk.belongs_to(DAVID)  # proven once more
    assert "Metformin" in talk.say("where can I get it?")
    assert "Metformin" in talk.told


def test_a_proof_that_ends_by_itself_ends_the_talk_about_it(talk: Talk) -> None:
    ago = timezone.now() - timedelta(minutes=16)
    Conversation.objects.filter(pk=talk.conversation.pk).update(active_at=ago)
    assert "Metformin" not in talk.say("how much does it cost?")


def test_what_was_asked_before_the_proof_is_answered_after_it() -> None:
    talk = Talk()
    talk.say("what is the status of my metformin prescription?")
    talk.say("david.cohen@example.com")
    talk.belongs_to(DAVID)
    Run.objects.create(conversation=talk.conversation, kind=Run.Kind.RESUME, input_seq=4)
    answer_next(talk.conversation.pk)
    last = Event.objects.filter(conversation=talk.conversation).order_by("seq").last()
    assert last and "Metformin" in last.payload["text"] and last.patient and last.patient.mrn == DAVID


def test_a_place_that_was_named_stays(talk: Talk) -> None:
    talk.say("is Advil in stock in Haifa?")
    talk.belongs_to(None)
    assert "Haifa" in talk.say("do you have Acamol there?")


def test_a_page_shows_personal_answers_to_their_patient_only(talk: Talk) -> None:
    talk.belongs_to(SARAH)
    assert "Amoxicillin" in talk.say("show me my prescriptions")

    def personal() -> list[bool]:
        return [SENTENCES["veiled"][0] not in frame["text"] for frame in talk.shown if frame.get("personal")]

    assert personal() == [False, False, False, True]
    words = [frame["text"] for frame in talk.shown if frame.get("role") == "user"]
    assert words == 3 * [SENTENCES["veiled_words"][0]] + ["show me my prescriptions"]
    talk.belongs_to(DAVID)
    assert personal() == [True, True, True, False]
    talk.belongs_to(None)
    assert personal() == [False, False, False, False]


def test_a_confirmation_shows_its_medicine_to_its_patient_only(talk: Talk) -> None:
    talk.say("refill the first one")
    [asked_for] = [frame for frame in talk.shown if frame["type"] == "confirm.requested"]
    assert asked_for["summary"]["rows"]
    for other in (SARAH, None):
        talk.belongs_to(other)
        [asked_for] = [frame for frame in talk.shown if frame["type"] == "confirm.requested"]
        assert asked_for["summary"]["rows"] == []


def test_an_answer_that_is_finished_after_the_next_one_was_proven_is_still_the_first_ones(talk: Talk) -> None:
    talk.send("show me my prescriptions")
    claim = runs.run_claim(talk.conversation.pk)
    assert claim is not None
    talk.belongs_to(SARAH)

    answer_claimed(claim)
    last = Event.objects.filter(conversation=talk.conversation).order_by("seq").last()
    assert last and "Metformin" in last.payload["text"]
    assert "Metformin" not in talk.told and "Metformin" not in talk.say("and the second one?")
    assert "Metformin" not in str([frame for frame in talk.shown if frame.get("personal")])


def test_what_is_being_answered_is_shown_to_who_asked_it(talk: Talk) -> None:
    talk.send("show me my prescriptions")
    claim = runs.run_claim(talk.conversation.pk)
    assert claim is not None
    for who, is_theirs in ((DAVID, True), (SARAH, False), (None, False)):
        talk.belongs_to(who)
        resumed = conversation_resume(events.conversation_get(talk.conversation.pk), 0)
        assert resumed.run == claim.run and resumed.run_is_shown is is_theirs
    # Its end is told to a page that came back, but not its words.
    talk.belongs_to(None)
    answer_claimed(claim)
    [told_last] = [
        frame for frame in heard_by_a_page_that_came_back(talk, claim.run) if frame.get("role") == "assistant"
    ]
    assert told_last["text"] == SENTENCES["veiled"][0] and told_last["run_id"] == str(claim.run.pk)
    # An answer that ends a proof, or comes after its end, is still told where it was asked; not to the next person.
    key = talk.conversation.secret_hash
    assert "Metformin" in str(events.events_after(key, 0))
    talk.belongs_to(SARAH)
    assert "Metformin" not in str(events.events_after(key, 0))


@pytest.mark.parametrize(("who", "is_known"), [(DAVID, True), (SARAH, False), (None, False)])
def test_numbers_of_one_patient_prove_nothing_to_another(talk: Talk, who: str | None, is_known: bool) -> None:
    talk.belongs_to(who)
    assert ("5" in context.numbers_before(talk.work)) is is_known  # his refills
    talk.say("is Advil in stock?")
    assert context.numbers_before(talk.work)


def test_a_patient_who_is_deleted_leaves_what_nobody_is_shown(talk: Talk) -> None:
    Prescription.objects.all().delete()
    Patient.objects.get(mrn=DAVID).delete()
    for other in (SARAH, None):
        talk.belongs_to(other)
        assert "Metformin" not in str(talk.shown) and "Metformin" not in talk.told


def test_rows_of_before_get_their_patient_where_it_is_known(talk: Talk) -> None:
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
    talk.belongs_to(SARAH)
    assert "Metformin" not in talk.told + str(talk.shown)
