"""Rows that are read and written by statements of our own are what the ORM makes of them, on both databases."""

from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction
from django.db.models import Model
from django.utils import timezone

from agent.conversation import events
from agent.conversation.runs import run_claim, run_done
from agent.inference.base import Usage
from agent.models import ChatSite, Conversation, Event, Run, ToolCall
from pharmacy_site.lib.rows import asked, rows_insert
from prescriptions.models import Patient

NESTED = {
    "text": 'מה זה "Advil"?',
    "cards": [{"data": {"lat": 32.05, "none": None, "on": True}}],
    "empty": {},
}


def held(row: Model, *but: str) -> dict[str, Any]:
    return {
        field.attname: getattr(row, field.attname)
        for field in row._meta.concrete_fields
        if field.name not in but
    }


@pytest.fixture
def conversation(demo: None) -> Conversation:
    site = ChatSite.objects.create(name="A shop", origins=["https://shop.example.com"])
    begun, _ = events.conversation_begin(language="he", site=site)
    Conversation.objects.filter(pk=begun.pk).update(
        state=NESTED,
        patient=Patient.objects.get(mrn="10000101"),
        verified_at=timezone.now() - timedelta(minutes=3),
        latitude=32.0853,
    )
    return Conversation.objects.select_related("patient", "site").get(pk=begun.pk)


def test_a_conversation_comes_with_its_patient_and_its_site(conversation: Conversation) -> None:
    found = events.conversation_get(conversation.pk)
    assert held(found) == held(conversation)
    assert conversation.patient and found.patient and held(found.patient) == held(conversation.patient)
    assert conversation.site and found.site and held(found.site) == held(conversation.site)
    assert str(found.patient.phone) == str(conversation.patient.phone)
    found.save()  # it is no new row
    alone, _ = events.conversation_begin(language="en")
    found = events.conversation_get(alone.pk)
    assert (found.patient, found.site, found.latitude, found.verified_at) == (None, None, None, None)


def test_what_is_inserted_is_what_the_orm_inserts(conversation: Conversation) -> None:
    given = {"conversation": conversation, "client_msg_id": None, "input_seq": 4, "input": NESTED}
    before = timezone.now()
    ours, theirs = Run(**given), Run.objects.create(**given)
    rows_insert([ours])
    stored = Run.objects.get(pk=ours.pk)
    assert held(stored, "id", "created_at") == held(Run.objects.get(pk=theirs.pk), "id", "created_at")
    assert before <= stored.created_at == ours.created_at <= timezone.now()
    calls = [
        ToolCall(run=ours, actor="chat", name=name, ok=ok, arguments=NESTED, duration_ms=7)
        for name, ok in (("check_stock", True), ("check_inventory", False))
    ]
    rows_insert(calls)
    rows_insert([])
    found = ToolCall.objects.filter(run=ours)
    assert [held(row, "id") for row in found] == [held(row, "id") for row in calls]


def test_a_row_that_breaks_a_constraint_is_an_integrity_error(conversation: Conversation) -> None:
    once = {"conversation": conversation, "client_msg_id": uuid4(), "input_seq": 1}
    rows_insert([Run(**once)])
    with pytest.raises(IntegrityError), transaction.atomic():
        rows_insert([Run(**once)])


def test_a_runs_row_from_its_claim_to_its_end(conversation: Conversation) -> None:
    Run.objects.create(conversation=conversation, input_seq=1, input=NESTED, progress={"text": "Half"})
    run = run_claim(conversation.pk)
    assert run is not None
    assert held(run) == held(Run.objects.get(pk=run.pk)) and run.attempts == 1 and run.progress == {}
    usage = Usage(model="m", prompt="abc", tokens_in=900, tokens_out=100)
    run.attempts += 1
    assert not run_done(run, 2, "m", usage)  # another process has taken it up
    run.attempts -= 1
    assert run_done(run, 2, "m", usage) and not run_done(run, 3, "m", usage)
    done = Run.objects.get(pk=run.pk)
    assert (done.state, done.answer_seq, done.tokens_in, done.cost) == ("done", 2, 900, Decimal(0))
    assert done.finished_at and done.lease_until is None


def test_events_hold_what_was_given_and_an_answer_moves_the_talk(conversation: Conversation) -> None:
    shown = events.event_append(conversation_id=conversation.pk, type="message.completed", payload=NESTED)
    run = Run.objects.create(conversation=conversation, input_seq=shown["seq"])
    with pytest.raises(Event.DoesNotExist):  # nothing is at work yet
        asked(events.messages_question(conversation.pk, 3)).last(shown["seq"])
    Run.objects.filter(pk=run.pk).update(state=Run.State.RUNNING)
    messages = asked(events.messages_question(conversation.pk, 3))
    assert messages.last(shown["seq"]) == (NESTED, None) and messages.before(shown["seq"], None) == []
    assert messages.before(shown["seq"] + 1, None) == [NESTED]
    assert held(events.conversation_get(conversation.pk), "seq_head", "active_at") == held(
        conversation, "seq_head", "active_at"
    )
    talk = {"state": {}, "language": "en"}
    told = events.event_append(
        conversation_id=conversation.pk, type="message.completed", payload={}, talk=talk
    )
    found = events.conversation_get(conversation.pk)
    assert (found.state, found.language, found.seq_head) == ({}, "en", told["seq"])
    assert [frame["seq"] for frame in events.events_after(conversation.secret_hash, 0)] == [1, 2]
    with pytest.raises(Event.DoesNotExist):  # what came behind the message of the run at work
        asked(events.messages_question(conversation.pk, 3)).last(told["seq"])


def test_a_message_needs_the_secret_that_opens_its_conversation(conversation: Conversation) -> None:
    with pytest.raises(events.ConversationGone):
        events.message_append(Run(conversation=conversation), "another", {})
    with pytest.raises(events.ConversationGone):
        events.message_append(Run(conversation_id=uuid4()), None, {})
    assert not Event.objects.exists() and not Run.objects.exists()
    own = Run(conversation=conversation, client_msg_id=uuid4(), input=NESTED)
    assert events.message_append(own, conversation.secret_hash, NESTED, (32.5, 34.9)) == 1
    [frame] = events.events_after(conversation.secret_hash, 0)
    assert (frame["seq"], frame["text"], frame["cards"]) == (1, NESTED["text"], NESTED["cards"])
    stored = Run.objects.get()
    assert held(stored, "input_seq") == held(own, "input_seq") and stored.input_seq == 1
    found = events.conversation_get(conversation.pk)
    assert (found.latitude, found.longitude, found.seq_head) == (32.5, 34.9, 1)


def test_a_message_that_breaks_a_constraint_leaves_nothing(conversation: Conversation) -> None:
    once = {"conversation": conversation, "client_msg_id": uuid4()}
    events.message_append(Run(**once), None, NESTED, (None, None))
    with pytest.raises(IntegrityError):
        events.message_append(Run(**once), None, NESTED)
    found = events.conversation_get(conversation.pk)
    assert (Event.objects.count(), Run.objects.count(), found.seq_head, found.latitude) == (1, 1, 1, None)
