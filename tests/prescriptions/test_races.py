"""What must hold when several people, or one with several hands, do the same thing at the same moment."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from uuid import UUID, uuid4

import pytest
from django.core import mail
from django.db import connections
from pytest_django import Settings

from prescriptions.audit import audit_record, audit_verify
from prescriptions.errors import IdentityLimited
from prescriptions.handoffs import handoff_open
from prescriptions.identity import challenge_answer, challenge_start
from prescriptions.models import AuditEvent, Challenge, Handoff, Notification, Patient
from prescriptions.notifications import notification_enqueue
from prescriptions.outbox import notifications_drain

pytestmark = pytest.mark.django_db(transaction=True)
CodeOf = Callable[[UUID], str]
THREADS = 8


def at_once(work: Callable[[int], object]) -> list[object]:
    """Run `work` in several threads that start together; what it returned or raised, by class name."""
    barrier = Barrier(THREADS)

    def run(number: int) -> object:
        barrier.wait(timeout=20)
        try:
            return work(number)
        except Exception as error:
            return type(error).__name__
        finally:
            connections.close_all()

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


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
