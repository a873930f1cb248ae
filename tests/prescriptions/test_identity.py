"""One-time codes: who gets one, who learns what, and how often one may guess."""

import json
import logging
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
import time_machine
from django.core import mail
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from prescriptions.errors import (
    CodeExpired,
    CodeLocked,
    CodeWrong,
    IdentityLimited,
    IdentityPolicyRefused,
    PatientNotFound,
)
from prescriptions.identity import (
    challenge_answer,
    challenge_open,
    challenge_start,
    failed_contact,
    identifier_accept,
)
from prescriptions.models import AuditEvent, Challenge, Notification, Patient

CodeOf = Callable[[UUID], str]
EMAIL = "david.cohen@example.com"


def ask(conversation_id: UUID, identifier: str = EMAIL, address: str = "10.0.0.1", run_key: str = "") -> None:
    challenge_start(
        conversation_id=conversation_id,
        identifier=identifier,
        address=address,
        run_key=run_key or str(uuid4()),
        language="en",
    )


def answer(conversation_id: UUID, code: str) -> Patient:
    return challenge_answer(conversation_id=conversation_id, code=code, address="10.0.0.1")


def wrong(code: str) -> str:
    return f"{(int(code) + 1) % 1_000_000:06d}"


@pytest.fixture
def clock() -> Iterator[Callable[[timedelta], None]]:
    """Time that does not pass until the test moves it."""
    with time_machine.travel("2026-11-21 09:00:00+00:00", tick=False) as frozen:

        def move(by: timedelta) -> None:
            frozen.shift(by)

        yield move


def test_code_goes_to_the_contact_on_file_and_proves_the_patient(
    david: Patient, conversation: UUID, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        ask(conversation, "050-123 4567")
    (message,) = mail.outbox
    assert message.to == [EMAIL]
    found = re.search(r"\b[0-9]{6}\b", str(message.body))
    assert found is not None
    assert answer(conversation, found.group()) == david
    row = Notification.objects.get()
    assert (row.state, row.context) == ("sent", {})  # the code is gone once it was sent
    assert list(AuditEvent.objects.order_by("number").values_list("what", "patient_id")) == [
        ("identity_requested", david.pk),
        ("identity_verified", david.pk),
    ]


def test_the_email_is_in_the_patients_language(
    rachel: Patient, conversation: UUID, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        ask(conversation, "rachel.m@example.com")
    assert "הקוד שלך" in str(mail.outbox[0].body)


def test_nothing_of_the_code_is_stored_but_a_keyed_hash(
    david: Patient, conversation: UUID, code_of: CodeOf
) -> None:
    ask(conversation)
    code, row = code_of(conversation), Challenge.objects.get()
    stored = json.dumps(
        {field.name: str(getattr(row, field.attname)) for field in Challenge._meta.concrete_fields}
    )
    assert code not in stored
    assert EMAIL not in stored
    assert "10.0.0.1" not in stored


@pytest.mark.parametrize("typed", ["{0} {1}", "{0}-{1}", " {0}{1} "])
def test_code_may_be_typed_with_separators(
    david: Patient, conversation: UUID, code_of: CodeOf, typed: str
) -> None:
    ask(conversation)
    code = code_of(conversation)
    assert answer(conversation, typed.format(code[:3], code[3:])) == david


def test_a_code_in_another_scripts_digits_is_accepted(
    david: Patient, conversation: UUID, code_of: CodeOf
) -> None:
    ask(conversation)
    arabic = code_of(conversation).translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩"))
    assert answer(conversation, arabic) == david


@pytest.mark.parametrize("typed", ["", "abc", "12345", "x" * 5000, "\x00"])
def test_a_malformed_code_counts_as_a_wrong_attempt(david: Patient, conversation: UUID, typed: str) -> None:
    ask(conversation)
    with pytest.raises(CodeWrong) as refused:
        answer(conversation, typed)
    assert refused.value.tries_left == 2


def test_three_wrong_tries_lock_and_warn_the_owner_once(
    david: Patient,
    conversation: UUID,
    code_of: CodeOf,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    ask(conversation)
    code = code_of(conversation)
    lefts = []
    for _ in range(2):
        with pytest.raises(CodeWrong) as refused:
            answer(conversation, wrong(code))
        lefts.append(refused.value.tries_left)
    assert lefts == [2, 1]
    open_challenge = challenge_open(conversation)
    assert open_challenge is not None
    assert open_challenge.tries_left == 1
    with django_capture_on_commit_callbacks(execute=True), pytest.raises(CodeLocked):
        answer(conversation, wrong(code))
    with pytest.raises(CodeLocked):
        answer(conversation, code)  # the right one, too late
    assert challenge_open(conversation) is None
    assert failed_contact(conversation) == Challenge.objects.latest("id").contact_key
    warnings = Notification.objects.filter(kind="identity_warning")
    assert [(row.recipient, row.state) for row in warnings] == [(EMAIL, "sent")]
    assert failed_contact(uuid4()) == ""


def test_the_right_code_is_accepted_on_the_last_attempt(
    david: Patient, conversation: UUID, code_of: CodeOf
) -> None:
    ask(conversation)
    code = code_of(conversation)
    for _ in range(2):
        with pytest.raises(CodeWrong):
            answer(conversation, wrong(code))
    assert answer(conversation, code) == david


def test_code_works_once(david: Patient, conversation: UUID, code_of: CodeOf) -> None:
    ask(conversation)
    code = code_of(conversation)
    answer(conversation, code)
    with pytest.raises(CodeExpired):
        answer(conversation, code)


def test_code_works_in_its_own_conversation_only(david: Patient, conversation: UUID, code_of: CodeOf) -> None:
    ask(conversation)
    with pytest.raises(CodeExpired):
        answer(uuid4(), code_of(conversation))


def test_code_expires(
    david: Patient, conversation: UUID, code_of: CodeOf, clock: Callable[[timedelta], None]
) -> None:
    ask(conversation)
    code = code_of(conversation)
    clock(timedelta(seconds=299))
    assert challenge_open(conversation) is not None
    clock(timedelta(seconds=1))
    assert challenge_open(conversation) is None
    with pytest.raises(CodeExpired):
        answer(conversation, code)
    assert failed_contact(conversation) == ""


def test_new_code_supersedes_the_older_one(david: Patient, conversation: UUID, code_of: CodeOf) -> None:
    ask(conversation)
    older = code_of(conversation)
    Challenge.objects.update(created_at=timezone.now() - timedelta(seconds=1))
    ask(conversation)
    newer = code_of(conversation)
    if older != newer:
        with pytest.raises(CodeWrong):
            answer(conversation, older)
    assert answer(conversation, newer) == david


def test_repeating_a_run_sends_no_second_code(david: Patient, conversation: UUID) -> None:
    ask(conversation, run_key="run-1")
    ask(conversation, run_key="run-1")
    assert (Challenge.objects.count(), Notification.objects.count()) == (1, 1)


@pytest.mark.parametrize(
    "identifier", ["nobody@example.com", "050-0000001", "052-9999999", "gibberish", "", "@", "%"]
)
def test_unknown_contact_takes_the_same_queries_and_gets_the_same_answer(
    david: Patient,
    identifier: str,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    ask(uuid4(), "warm.up@example.com", "10.9.9.9")
    shapes = []
    for typed in (EMAIL, identifier):
        started = uuid4()
        with CaptureQueriesContext(connection) as queries, django_capture_on_commit_callbacks(execute=False):
            ask(started, typed)
        shapes.append(
            [
                re.sub(r"\"s[0-9_]+x[0-9]+\"|_django_curs\w+|'(?:[^']|'')*'|\b\d+\b|NULL", "?", query["sql"])
                for query in queries
            ]
        )
        found = challenge_open(started)
        assert found is not None
        assert found.tries_left == 3
    assert shapes[0] == shapes[1]
    assert len(shapes[0]) > 10


def test_unknown_contact_gets_no_message_and_no_code_fits(
    db: None,
    conversation: UUID,
    code_of: CodeOf,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    ask(conversation, "nobody@example.com")
    with pytest.raises(CodeWrong):
        answer(conversation, code_of(conversation))  # even the code that the decoy was made with
    with django_capture_on_commit_callbacks(execute=True):
        ask(uuid4(), "nobody2@example.com")
    assert mail.outbox == []
    assert set(Notification.objects.values_list("state", "recipient")) == {("discarded", "")}
    assert not any(row.context for row in Notification.objects.all())


def test_limit_hits_known_and_unknown_contacts_at_the_same_count(david: Patient) -> None:
    counts = []
    for identifier in (EMAIL, "nobody@example.com"):
        for count in range(20):
            try:
                ask(uuid4(), identifier, f"10.0.1.{count}")
            except IdentityLimited:
                counts.append(count)
                break
    assert counts == [5, 5]


def test_limit_ends_after_a_day(david: Patient, clock: Callable[[timedelta], None]) -> None:
    for _ in range(5):
        ask(uuid4())
        clock(timedelta(hours=2))
    with pytest.raises(IdentityLimited):
        ask(uuid4())
    clock(timedelta(hours=15))
    ask(uuid4())


def test_an_address_is_limited_to_a_number_of_codes_per_hour(david: Patient, settings: Settings) -> None:
    settings.IDENTITY_CODES_PER_ADDRESS_HOUR = 4
    for count in range(4):
        ask(uuid4(), f"nobody{count}@example.com", "10.0.0.9")
    with pytest.raises(IdentityLimited):
        ask(uuid4(), EMAIL, "10.0.0.9")
    ask(uuid4(), EMAIL, "10.0.0.10")
    assert AuditEvent.objects.filter(what="identity_limited").count() == 1


def test_limits_do_not_reveal_that_two_contacts_belong_to_one_account(david: Patient) -> None:
    """Five codes by e-mail use the account up; asking by phone then looks as always, but nothing is sent."""
    for _ in range(5):
        ask(uuid4())
    ask(uuid4(), "050-1234567")
    assert Notification.objects.filter(recipient=EMAIL).count() == 5
    assert Notification.objects.filter(recipient="").count() == 1


def test_an_account_allows_at_most_fifteen_guesses_a_day(
    david: Patient, code_of: CodeOf, clock: Callable[[timedelta], None]
) -> None:
    evaluated = 0
    for attempt in range(14):
        # After the hour for which three wrong tries lock the account.
        clock(timedelta(minutes=66))
        conversation_id = uuid4()
        try:
            ask(conversation_id, (EMAIL, "0501234567")[attempt % 2], f"10.1.0.{attempt}")
        except IdentityLimited:
            continue
        real = Challenge.objects.get(conversation_id=conversation_id).patient_id is not None
        code = wrong(code_of(conversation_id))
        for _ in range(5):
            try:
                answer(conversation_id, code)
            except CodeWrong:
                evaluated += real
            except CodeLocked:
                pass
        evaluated += real  # the third try, which locks
    assert evaluated == 15
    assert Notification.objects.filter(kind="identity_warning", recipient=EMAIL).count() == 1


@pytest.mark.parametrize("tries", [(3,), (2, 1)])
def test_three_wrong_tries_lock_the_account_for_all_its_contacts(
    david: Patient,
    rachel: Patient,
    code_of: CodeOf,
    clock: Callable[[timedelta], None],
    tries: tuple[int, ...],
) -> None:
    """T4: nobody is told; no code is sent for an hour when the tries of one are used up, else for a quarter of an hour."""

    def sends(contact: str, number: int) -> bool:
        conversation_id = uuid4()
        ask(conversation_id, contact, f"10.3.0.{number}")
        return Challenge.objects.get(conversation_id=conversation_id).patient_id is not None

    for number, wrong_ones in enumerate(tries):
        conversation_id = uuid4()
        ask(conversation_id, EMAIL, f"10.3.1.{number}")
        for _ in range(wrong_ones):
            with pytest.raises((CodeWrong, CodeLocked)):
                answer(conversation_id, wrong(code_of(conversation_id)))
    assert not sends("0501234567", 1)
    assert sends("rachel.m@example.com", 2)
    clock(timedelta(minutes=20))
    assert sends("0501234567", 3) is (len(tries) > 1)
    clock(timedelta(minutes=66))
    assert sends("0501234567", 4)


def test_tries_that_are_left_in_other_conversations_count_until_they_are_over(
    david: Patient, settings: Settings, clock: Callable[[timedelta], None]
) -> None:
    settings.IDENTITY_CODES_PER_DAY = settings.IDENTITY_CODES_PER_CONTACT_HOUR = 100

    def sent() -> int:
        return Challenge.objects.filter(patient=david).count()

    for number in range(7):
        ask(uuid4(), address=f"10.2.0.{number}")
    assert sent() == 5
    clock(timedelta(seconds=301))  # nobody tried one, and nobody can any more
    ask(uuid4())
    assert sent() == 6


def test_a_challenge_that_nothing_answers_does_not_use_up_the_owners_notice(
    david: Patient, code_of: CodeOf
) -> None:
    real = [uuid4() for _ in range(5)]
    for one in real:
        ask(one)
    decoy = uuid4()
    ask(decoy, "050-1234567")
    for conversation_id in (decoy, real[0]):
        for _ in range(3):
            with pytest.raises((CodeWrong, CodeLocked)):
                answer(conversation_id, wrong(code_of(conversation_id)))
    warned = Notification.objects.filter(kind="identity_warning")
    assert sorted(warned.values_list("recipient", flat=True)) == ["", EMAIL]


def test_an_identifier_alone_is_accepted_only_under_the_identifier_policy(
    david: Patient, conversation: UUID, settings: Settings
) -> None:
    with pytest.raises(IdentityPolicyRefused):
        identifier_accept(conversation_id=conversation, identifier=EMAIL, address="10.0.0.1")
    settings.CHAT_IDENTITY = "identifier"
    assert identifier_accept(conversation_id=conversation, identifier=EMAIL, address="10.0.0.1") == david
    with pytest.raises(PatientNotFound):
        identifier_accept(conversation_id=conversation, identifier="nobody@example.com", address="10.0.0.1")
    assert list(AuditEvent.objects.order_by("number").values_list("what", "how")) == [
        ("identity_verified", "identifier"),
        ("identity_failed", "identifier"),
    ]


def test_no_personal_data_in_logs_or_the_audit_log(
    david: Patient,
    conversation: UUID,
    code_of: CodeOf,
    caplog: pytest.LogCaptureFixture,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    with caplog.at_level(logging.DEBUG, logger="prescriptions"):
        ask(conversation)
        code = code_of(conversation)
        with pytest.raises(CodeWrong):
            answer(conversation, wrong(code))
        with django_capture_on_commit_callbacks(execute=True):
            ask(uuid4(), "nobody@example.com")
    lines = caplog.text + json.dumps(
        list(AuditEvent.objects.values("who", "what", "where", "why", "how", "detail"))
    )
    for secret in (code, EMAIL, "nobody@", "David", "1234567", "10.0.0.1"):
        assert secret not in lines
