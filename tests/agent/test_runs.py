"""Accepting messages and claiming runs: once, in order, within the limits, and never by somebody else."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agent.conversation import accept, events, runs
from agent.models import Conversation, Event, Run
from prescriptions.models import Patient


@pytest.fixture
def conversation(db: None) -> Conversation:
    return events.conversation_begin(language="en")[0]


def send(conversation: Conversation, text: str = "hello", key: Any = None) -> accept.Accepted:
    return accept.message_accept(
        conversation_id=conversation.pk, client_msg_id=key or uuid4(), text=text, address="192.0.2.1"
    )


def test_a_message_with_a_known_id_is_not_stored_again(conversation: Conversation) -> None:
    key = uuid4()
    first, second = send(conversation, key=key), send(conversation, "another text", key=key)
    assert (second.seq, second.duplicate) == (first.seq, True)
    assert Run.objects.count() == Event.objects.count() == 1


def test_event_numbers_have_no_gaps(conversation: Conversation) -> None:
    assert [send(conversation).seq for _ in range(5)] == [1, 2, 3, 4, 5]


def test_the_limits_count_per_conversation(conversation: Conversation, settings: Any) -> None:
    settings.CHAT_MESSAGES_PER_MINUTE = 3
    for _ in range(3):
        send(conversation)
    with pytest.raises(accept.RateLimited):
        send(conversation)
    other, _ = events.conversation_begin(language="en")
    assert send(other).seq == 1
    assert Event.objects.filter(conversation=conversation).count() == 3


def test_accepting_and_claiming_take_few_queries(conversation: Conversation) -> None:
    def queries_of(act: Callable[[], Any]) -> int:
        with CaptureQueriesContext(connection) as queries:
            act()
        return len([query for query in queries if "SAVEPOINT" not in query["sql"]])

    assert queries_of(lambda: send(conversation, "Do you have Advil?")) == 4
    # One more: does the conversation wait for a code?
    assert queries_of(lambda: send(conversation, "123456")) == 5
    assert queries_of(lambda: runs.run_claim(conversation.pk)) == 5
    assert queries_of(lambda: runs.run_claim(conversation.pk)) == 1


def test_only_one_run_of_a_conversation_runs_at_a_time(conversation: Conversation) -> None:
    send(conversation, "first")
    send(conversation, "second")
    first = runs.run_claim(conversation.pk)
    assert first and first.run.input_seq == 1
    assert runs.run_claim(conversation.pk) is None
    runs.run_fail(first.run, "internal")
    second = runs.run_claim(conversation.pk)
    assert second and second.run.input_seq == 2


def test_a_failed_run_is_reported_as_retryable(conversation: Conversation) -> None:
    send(conversation)
    claim = runs.run_claim(conversation.pk)
    assert claim
    runs.run_fail(claim.run, "internal")
    last = events.events_after(conversation.secret_hash, 1)[-1]
    assert (last["type"], last["retryable"], last["seq"]) == ("run.failed", True, 2)


@pytest.mark.django_db(transaction=True)
def test_simultaneous_claims_take_a_run_once() -> None:
    conversation, _ = events.conversation_begin(language="en")
    send(conversation)
    taken: list[Any] = []
    gate = threading.Barrier(6)

    def claim() -> None:
        gate.wait()
        try:
            taken.append(runs.run_claim(conversation.pk))
        finally:
            connection.close()

    threads = [threading.Thread(target=claim) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(run is not None for run in taken) == 1


@pytest.mark.django_db(transaction=True)
def test_a_message_that_is_sent_simultaneously_is_stored_once() -> None:
    conversation, _ = events.conversation_begin(language="en")
    key, gate, seqs = uuid4(), threading.Barrier(6), []

    def send_once() -> None:
        gate.wait()
        try:
            seqs.append(send(conversation, key=key).seq)
        finally:
            connection.close()

    threads = [threading.Thread(target=send_once) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seqs == [1] * 6 and Run.objects.count() == 1


@pytest.mark.parametrize(
    ("idle", "since", "holds"),
    [(1, 5, True), (14, 50, True), (16, 20, False), (1, 61, False), (14, 59, True)],
)
def test_a_verification_ends_after_15_idle_minutes_or_60_in_all(
    demo: None, idle: int, since: int, holds: bool
) -> None:
    conversation, _ = events.conversation_begin(language="en")
    now = timezone.now()
    Conversation.objects.filter(pk=conversation.pk).update(
        patient=Patient.objects.first(),
        verified_at=now - timedelta(minutes=since),
        active_at=now - timedelta(minutes=idle),
    )
    with time_machine.travel(now, tick=False):
        send(conversation)
    assert (Conversation.objects.get(pk=conversation.pk).patient_id is not None) == holds


def test_the_clients_address_is_not_stored(conversation: Conversation) -> None:
    send(conversation)
    assert "192.0.2.1" not in str(Run.objects.values_list("input", flat=True).get())


def test_a_run_and_its_conversation_are_read_in_one_query(conversation: Conversation) -> None:
    # In two, the run before could end between them: its changes of the conversation would be missed.
    send(conversation)
    with CaptureQueriesContext(connection) as queries:
        assert runs.run_claim(conversation.pk) is not None
    reading = [query["sql"] for query in queries if 'FROM "agent_conversation"' in query["sql"]]
    joined = [query["sql"] for query in queries if 'JOIN "agent_conversation"' in query["sql"]]
    assert reading == [] and len(joined) == 1
