"""What must hold when several people, or one with several hands, do the same thing at the same moment."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Barrier, Event
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import Group
from django.core import mail
from django.db import connection, connections
from django.utils import timezone
from pytest_django import Settings
from sinks import WebSink

from prescriptions.audit import audit_record, audit_verify
from prescriptions.errors import CodeLocked, CodeWrong, HandoffLimited, IdentityLimited
from prescriptions.handoffs.failed_identity import handoff_open_for_contact
from prescriptions.handoffs.selectors import conversations_of
from prescriptions.handoffs.services import handoff_open
from prescriptions.handoffs.sweep import deadlines_take
from prescriptions.identity import challenge_answer, challenge_start
from prescriptions.models import AuditEvent, Challenge, Handoff, HandoffDeadline, Notification, Patient
from prescriptions.notifications import notification_enqueue
from prescriptions.outbox import notifications_drain

pytestmark = pytest.mark.django_db(transaction=True)
CodeOf = Callable[[UUID], str]
THREADS = 8


def at_once(work: Callable[[int], object], threads: int = THREADS) -> list[object]:
    """Run `work` in several threads that start together; what it returned or raised, by class name."""
    barrier = Barrier(threads)

    def run(number: int) -> object:
        barrier.wait(timeout=20)
        try:
            return work(number)
        except Exception as error:
            return type(error).__name__
        finally:
            connections.close_all()

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, range(threads)))


@pytest.fixture(autouse=True)
def _kept(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Notifications stay where they are, so that the test can read their codes."""
    monkeypatch.setattr("prescriptions.notifications.notifications_drain", lambda: 0)


def start(conversation_id: UUID, address: str = "10.0.0.1") -> None:
    challenge_start(
        conversation_id=conversation_id,
        identifier="david.cohen@example.com",
        address=address,
        run_key=str(uuid4()),
        language="en",
    )


def test_simultaneous_guesses_never_exceed_the_tries(
    david: Patient, conversation: UUID, code_of: CodeOf
) -> None:
    start(conversation)
    code = f"{(int(code_of(conversation)) + 1) % 1_000_000:06d}"
    results = at_once(lambda _: challenge_answer(conversation_id=conversation, code=code, address=""))
    assert Counter(results) == {"CodeWrong": 2, "CodeLocked": THREADS - 2}
    challenge = Challenge.objects.get()
    assert (challenge.tries_left, challenge.state) == (0, "failed")
    assert Notification.objects.filter(kind="identity_warning").count() == 1


def test_of_simultaneous_right_answers_one_succeeds(
    david: Patient, conversation: UUID, code_of: CodeOf
) -> None:
    start(conversation)
    code = code_of(conversation)
    results = at_once(lambda _: challenge_answer(conversation_id=conversation, code=code, address=""))
    assert Counter(results) == {david: 1, "CodeExpired": THREADS - 1}


def test_simultaneous_requests_never_exceed_the_codes_of_a_day(david: Patient) -> None:
    results = at_once(lambda number: start(uuid4(), f"10.0.0.{number}"))
    assert Counter(results) == {None: 5, IdentityLimited.__name__: THREADS - 5}
    assert Challenge.objects.count() == 5


def test_simultaneous_requests_leave_one_open_code(david: Patient, conversation: UUID) -> None:
    results = at_once(lambda number: start(conversation, f"10.0.0.{number}"))
    assert Counter(results)[None] == 5
    assert Challenge.objects.filter(state="open").count() == 1


def test_conversations_that_guess_beside_each_other_share_the_guesses_of_a_day(
    david: Patient, settings: Settings
) -> None:
    """All open first and then guess: what is open must count before a try was used."""
    settings.IDENTITY_CODES_PER_DAY = settings.IDENTITY_CODES_PER_CONTACT_HOUR = 100
    all_open = Barrier(THREADS)

    def work(number: int) -> None:
        conversation_id = uuid4()
        start(conversation_id, f"10.0.0.{number}")
        all_open.wait(timeout=20)
        for _ in range(4):
            with suppress(CodeWrong, CodeLocked):
                challenge_answer(conversation_id=conversation_id, code="x", address="")

    assert at_once(work) == [None] * THREADS
    evaluated = AuditEvent.objects.filter(what__in=["identity_failed", "identity_locked"])
    assert evaluated.count() == 3 * THREADS  # of each conversation, also of those that nothing could answer
    assert evaluated.filter(patient_id=david.pk).count() == settings.IDENTITY_GUESSES_PER_DAY == 15
    assert Notification.objects.filter(kind="identity_warning", recipient=david.email).count() == 1


def test_simultaneous_failures_of_a_contact_are_one_case() -> None:
    conversations = [uuid4() for _ in range(THREADS)]

    def work(number: int) -> str:
        return handoff_open_for_contact(
            contact_key="k", conversation_id=conversations[number], language="he"
        ).number

    [number] = set(at_once(work))
    handoff = Handoff.objects.get()
    assert handoff.number == number and set(conversations_of(handoff)) == set(conversations)
    assert all(str(one)[:8] in handoff.summary for one in conversations)


def test_a_failure_while_another_opens_the_case_of_its_contact_joins_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opening = Event()

    def slowly(**arguments: Any) -> Handoff:
        opening.set()
        time.sleep(0.5)
        return handoff_open(**arguments)

    monkeypatch.setattr("prescriptions.handoffs.failed_identity.handoff_open", slowly)

    def work(number: int) -> str:
        if number:
            assert opening.wait(timeout=20)
        return handoff_open_for_contact(contact_key="k", conversation_id=uuid4(), language="en").number

    assert len(set(at_once(work, threads=2))) == 1 == Handoff.objects.count()


def test_starting_and_answering_do_not_block_each_other(david: Patient, conversation: UUID) -> None:
    start(conversation)

    def work(number: int) -> object:
        if number % 2:
            start(conversation, f"10.0.0.{number}")
            return None
        return challenge_answer(conversation_id=conversation, code="x", address="")

    assert set(map(str, at_once(work))) <= {"None", "CodeWrong", "CodeLocked", "CodeExpired"}


def test_audit_lines_written_at_once_form_one_chain() -> None:
    def work(number: int) -> None:
        for _ in range(10):
            audit_record(who=f"user:{number}", what="x", where="y")

    assert at_once(work) == [None] * THREADS
    assert AuditEvent.objects.count() == 10 * THREADS
    assert audit_verify() is None


def test_simultaneous_requests_of_a_run_open_one_handoff(conversation: UUID) -> None:
    def work(number: int) -> str:
        return handoff_open(
            conversation_id=conversation, reason="asked_for_person", run_key="run-1", language="en"
        ).number

    assert len(set(at_once(work))) == 1
    assert Handoff.objects.count() == 1
    assert AuditEvent.objects.filter(what="handoff_opened").count() == 1


# All wait for one audit log; on a slow machine fifty would wait longer than a lock's time-out.
SESSIONS, TRIES = (10, 6) if connection.vendor == "sqlite" else (20, 10)


def flood(address_of: Callable[[int], str]) -> None:
    """What many customers do who ask for a person again and again, all at the same time."""

    def session(number: int) -> None:
        conversation_id = uuid4()
        for attempt in range(TRIES):
            with suppress(HandoffLimited):
                handoff_open(
                    conversation_id=conversation_id,
                    reason="customer_asked",
                    run_key=f"flood:{number}:{attempt}",
                    language="en",
                    address_key=address_of(number),
                )

    assert at_once(session, SESSIONS) == [None] * SESSIONS


def test_a_flood_from_few_addresses_opens_what_they_may_and_no_more(settings: Settings) -> None:
    settings.HANDOFFS_PER_ADDRESS = SESSIONS // 5
    flood(lambda number: f"address-{number % 5}")
    by_address = Counter(Handoff.objects.values_list("address_key", flat=True))
    assert by_address == {f"address-{number}": SESSIONS // 5 for number in range(5)}
    assert max(Counter(Handoff.objects.values_list("conversation_id", flat=True)).values()) <= 3
    assert audit_verify() is None


def test_a_flood_from_unknown_addresses_opens_three_hand_offs_a_conversation() -> None:
    flood(lambda number: "")
    by_conversation = Counter(Handoff.objects.values_list("conversation_id", flat=True))
    assert list(by_conversation.values()) == [3] * SESSIONS


def test_one_conversation_cannot_race_past_its_limit(conversation: UUID) -> None:
    def work(number: int) -> str:
        return handoff_open(
            conversation_id=conversation,
            reason="stock",
            run_key=f"race:{number}",
            language="en",
            address_key="a",
        ).number

    results = at_once(work, 20)
    assert results.count("HandoffLimited") == 17 and Handoff.objects.count() == 3


def test_fifty_simultaneous_requests_of_a_patient_open_one_hand_off_for_each_reason(david: Patient) -> None:
    def work(number: int) -> str:
        return handoff_open(
            conversation_id=uuid4(),
            reason=("customer_asked", "complaint")[number % 2],
            run_key=f"patient:{number}",
            language="en",
            patient=david,
            address_key="a",
        ).number

    assert len(set(at_once(work, 50))) == 2
    assert Counter(Handoff.objects.values_list("reason", flat=True)) == {"customer_asked": 1, "complaint": 1}


def test_a_deadline_that_several_sweeps_find_is_taken_once(david: Patient, django_user_model: Any) -> None:
    dana = django_user_model.objects.create_user("dana", "dana@example.com", is_staff=True)
    dana.groups.add(Group.objects.get(name="pharmacist"))
    for number in range(5):
        handoff_open(conversation_id=None, reason="complaint", run_key=f"late:{number}", language="en")
    Handoff.objects.update(contact="pharmacist")
    HandoffDeadline.objects.update(due_at=timezone.now())
    taken = at_once(lambda _: deadlines_take())
    assert sum(count for count in taken if isinstance(count, int)) == 20
    kinds = Counter(Notification.objects.values_list("kind", flat=True))
    assert (kinds["handoff_reminder"], kinds["handoff_raised"]) == (10, 10)
    assert AuditEvent.objects.filter(what="handoff_raised").count() == 10


def test_a_deadline_that_cannot_be_taken_keeps_no_other_from_being_taken(django_user_model: Any) -> None:
    dana = django_user_model.objects.create_user("dana", "dana@example.com", is_staff=True)
    dana.groups.add(Group.objects.get(name="technician"))
    rows = [
        handoff_open(conversation_id=None, reason="complaint", run_key=f"late:{number}", language="en")
        for number in range(3)
    ]
    HandoffDeadline.objects.update(due_at=timezone.now())
    with refused_notices(rows[0].number):
        assert deadlines_take() == 8
        assert HandoffDeadline.objects.filter(done_at=None).count() == 4
    assert deadlines_take() == 4


@contextmanager
def refused_notices(number: str) -> Iterator[None]:
    """Meanwhile the database refuses notices about one hand-off."""
    table = "prescriptions_notification"
    if connection.vendor == "sqlite":
        create = [
            f"CREATE TRIGGER refused BEFORE INSERT ON {table} WHEN NEW.key LIKE 'handoff:{number}:%'"
            " BEGIN SELECT RAISE(ABORT, 'refused'); END"
        ]
        drop = ["DROP TRIGGER refused"]
    else:
        create = [
            "CREATE FUNCTION refused() RETURNS trigger AS $$ BEGIN RAISE 'refused'; END $$ LANGUAGE plpgsql",
            f"CREATE TRIGGER refused BEFORE INSERT ON {table} FOR EACH ROW WHEN (starts_with(NEW.key, 'handoff:{number}:'))"
            " EXECUTE FUNCTION refused()",
        ]
        drop = [f"DROP TRIGGER refused ON {table}", "DROP FUNCTION refused()"]
    for statement in create:
        connection.cursor().execute(statement)
    try:
        yield
    finally:
        for statement in drop:
            connection.cursor().execute(statement)


def test_threads_of_several_senders_send_each_message_once_and_in_order(settings: Settings) -> None:
    with WebSink() as sink:
        settings.HANDOFF_WEBHOOK, settings.HANDOFF_WEBHOOK_KEY = sink.url, "secret"
        sink.seconds = lambda call: 0.005
        for number in range(60):
            notification_enqueue(
                key=f"{number % 20}:{number}",
                kind="handoff_opened",
                recipient="",
                language="en",
                context={},
                channel="webhook",
                lane=str(number % 20),
            )
        at_once(lambda _: notifications_drain(senders=2), 3)
        assert len(sink.calls) == 60 and set(Notification.objects.values_list("state", flat=True)) == {"sent"}
        for lane in range(20):
            keys = [call.key for call in sink.calls if call.key.startswith(f"{lane}:")]
            assert keys == [f"{lane}:{lane}", f"{lane}:{lane + 20}", f"{lane}:{lane + 40}"]


def test_several_senders_send_each_message_once() -> None:
    for number in range(20):
        notification_enqueue(
            key=f"key-{number}",
            kind="identity_warning",
            recipient=f"patient{number}@example.com",
            language="en",
            context={},
        )
    results = at_once(lambda _: notifications_drain())
    assert sum(result for result in results if isinstance(result, int)) == 20
    assert len(mail.outbox) == 20
    assert Counter(message.to[0] for message in mail.outbox).most_common(1)[0][1] == 1


def test_simultaneous_dates_of_birth_never_exceed_the_tries(
    david: Patient, conversation: UUID, settings: Settings
) -> None:
    settings.CHAT_IDENTITY = "dob"
    start(conversation)
    results = at_once(
        lambda number: challenge_answer(conversation_id=conversation, code=f"{number + 1}.1.1970", address="")
    )
    assert Counter(results) == {"CodeWrong": 2, "CodeLocked": THREADS - 2}
    assert Challenge.objects.get().state == "failed"
