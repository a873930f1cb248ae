"""The numbered log and the rows of runs: what is written, by whom, and what a claim reads."""

from decimal import Decimal
from uuid import uuid4

import pytest

from agent.conversation import accept, events, runs
from agent.inference.base import Usage
from agent.models import Conversation, Event, Run
from prescriptions.models import Patient

NESTED = {
    "text": 'מה זה "Advil"?',
    "cards": [{"data": {"lat": 32.05, "none": None, "on": True}}],
    "empty": {},
}


@pytest.fixture
def conversation(demo: None) -> Conversation:
    return events.conversation_begin(language="he")[0]


def send(conversation_id: object, **fields: object) -> accept.Accepted:
    given = {"client_msg_id": uuid4(), "text": "hello", "address": "192.0.2.1"} | fields
    return accept.message_accept(conversation_id=conversation_id, **given)  # type: ignore[arg-type]


def test_a_message_needs_the_secret_that_opens_its_conversation(conversation: Conversation) -> None:
    with pytest.raises(events.ConversationGone):
        send(conversation.pk, key="another")
    with pytest.raises(events.ConversationGone):
        send(uuid4())
    assert not Event.objects.exists() and not Run.objects.exists()
    assert Conversation.objects.get(pk=conversation.pk).seq_head == 0
    assert send(conversation.pk, key=conversation.secret_hash, location=(32.5, 34.9)).seq == 1
    found = events.conversation_get(conversation.pk)
    assert (found.latitude, found.longitude, found.seq_head) == (32.5, 34.9, 1)
    send(conversation.pk)
    assert events.conversation_get(conversation.pk).latitude == 32.5
    send(conversation.pk, location=None)
    assert events.conversation_get(conversation.pk).latitude is None


def test_an_event_stores_its_payload_and_an_answer_changes_the_conversation(
    conversation: Conversation,
) -> None:
    shown = events.event_append(conversation_id=conversation.pk, type="message.completed", payload=NESTED)
    assert Event.objects.get().payload == NESTED
    before = events.conversation_get(conversation.pk)
    assert (before.state, before.language, before.seq_head) == ({}, "he", shown["seq"])
    changes = {"state": NESTED, "language": "en"}
    answer = events.event_append(
        conversation_id=conversation.pk, type="message.completed", payload={}, changes=changes
    )
    after = events.conversation_get(conversation.pk)
    assert (after.state, after.language, after.seq_head) == (NESTED, "en", answer["seq"])
    assert [event["seq"] for event in events.events_after(conversation.secret_hash, 0)] == [1, 2]


def test_a_claim_reads_the_message_of_its_run_and_those_before_it(conversation: Conversation) -> None:
    patient = Patient.objects.get(mrn="10000101")
    for payload, owner in (
        ({"text": "1"}, None),
        ({"text": "2"}, patient),
        ({"text": "3", "personal": True}, None),
    ):
        events.event_append(
            conversation_id=conversation.pk, type="message.completed", payload=payload, patient=owner
        )
    send(conversation.pk, text="the question")
    send(conversation.pk, text="a later one")
    claim = runs.run_claim(conversation.pk)
    assert claim and claim.question and claim.question.payload["text"] == "the question"
    assert [message.seq for message in claim.messages] == [1, 2, 3, 4]
    assert [message["text"] for message in claim.earlier(None)] == ["1"]
    assert [message["text"] for message in claim.earlier(patient.pk)] == ["1", "2"]


def test_a_claim_without_its_message_has_no_question(conversation: Conversation) -> None:
    Run.objects.create(conversation=conversation, input_seq=9)
    claim = runs.run_claim(conversation.pk)
    assert claim
    with pytest.raises(Event.DoesNotExist):
        _ = claim.question


def test_a_runs_row_from_its_claim_to_its_end(conversation: Conversation) -> None:
    Run.objects.create(conversation=conversation, input_seq=1, input=NESTED, progress={"text": "Half"})
    claim = runs.run_claim(conversation.pk)
    assert claim
    run = claim.run
    stored = Run.objects.get(pk=run.pk)
    assert (stored.state, stored.attempts, stored.progress, stored.input) == ("running", 1, {}, NESTED)
    assert (stored.lease_owner, stored.lease_until) == (run.lease_owner, run.lease_until)
    usage = Usage(model="m", prompt="abc", tokens_in=900, tokens_out=100)
    # Another process has taken it up.
    run.attempts += 1
    assert not runs.run_done(run, 2, "m", usage)
    run.attempts -= 1
    assert runs.run_done(run, 2, "m", usage) and not runs.run_done(run, 3, "m", usage)
    done = Run.objects.get(pk=run.pk)
    assert (done.state, done.answer_seq, done.tokens_in, done.cost) == ("done", 2, 900, Decimal(0))
    assert done.finished_at and done.lease_until is None
