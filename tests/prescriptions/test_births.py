"""Dates of birth as people type them, and the policy `dob` that compares them with the record."""

import json
from datetime import date, timedelta
from uuid import UUID, uuid4

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings
from random_text import without_random

from prescriptions.births import birth_read, birth_typed
from prescriptions.errors import BirthUnreadable, CodeLocked, CodeWrong, IdentityLimited
from prescriptions.identity import challenge_answer, challenge_start
from prescriptions.models import AuditEvent, Challenge, Notification, Patient

TODAY = date(2026, 11, 24)
BORN = date(1985, 12, 31)


@pytest.mark.parametrize(
    "text",
    [
        "31/12/1985", "31.12.85", "31-12-1985", "31 12 1985", "1985-12-31", "1985/12/31", "31121985", "19851231", "311285",
        "12/31/1985", "31 Dec 1985", "31dec1985", "31-Dec-85", "31/Dec/1985", "Dec 31 '85", "December 31st, 1985",
        "the 31st of December 1985", "1985 Dec 31", "I was born on 31.12.85", "31 בדצמבר 1985", "ב-31 לדצמבר 1985",
        "נולדתי ב31 בדצמבר 85", "٣١/١٢/١٩٨٥", "３１.１２.１９８５", "31 . 12 . 1985", "\u200f31.12.1985\u200f",
    ],
)  # fmt: skip
def test_a_date_of_birth_is_read_and_masked_in_any_usual_form(text: str) -> None:
    typed = birth_typed(text, today=TODAY)
    assert typed.born == BORN
    assert "85" not in typed.text and "١٩٨٥" not in typed.text and "１９８５" not in typed.text


@pytest.mark.parametrize(
    ("text", "born"),
    [
        ("03/04/1985", date(1985, 4, 3)),
        ("March 4, 1985", date(1985, 3, 4)),
        ("04.03.1985", date(1985, 3, 4)),
        ("5 במרץ 1985", date(1985, 3, 5)),
        ("101112", date(2012, 11, 10)),
        ("1.1.27", date(1927, 1, 1)),
        ("29.2.2000", date(2000, 2, 29)),
        ("24.11.26", TODAY),
        ("25.11.26", date(1926, 11, 25)),
    ],
)
def test_what_could_be_two_dates_has_one_reading(text: str, born: date) -> None:
    assert birth_read(text, today=TODAY) == born


@pytest.mark.parametrize(
    "text",
    [
        "", "hello", "31.02.1985", "29.2.1985", "13/13/1985", "00.12.1985", "31.12.2030", "31.12.1800", "1985", "12/1985",
        "31.12", "31.12.1985 or 30.12.1985", "31.12.1985, 31.02.1985", "order 311285 please", "10000101", "99999999",
    ],
)  # fmt: skip
def test_nonsense_and_several_dates_are_no_date_of_birth(text: str) -> None:
    assert birth_read(text, today=TODAY) is None


@pytest.fixture
def by_birth(settings: Settings, _sent_in_place: None) -> None:
    settings.CHAT_IDENTITY = "dob"


def ask(conversation: UUID, identifier: str, address: str = "10.0.0.1") -> None:
    challenge_start(
        conversation_id=conversation,
        identifier=identifier,
        address=address,
        run_key=str(uuid4()),
        language="en",
    )


def answer(conversation: UUID, text: str) -> Patient:
    return challenge_answer(conversation_id=conversation, code=text, address="10.0.0.1")


@pytest.mark.usefixtures("by_birth")
@pytest.mark.parametrize("identifier", ["david.cohen@example.com", "050-1234567", "10000101"])
def test_the_date_on_file_proves_the_patient_and_nothing_is_sent(
    david: Patient, conversation: UUID, identifier: str
) -> None:
    ask(conversation, identifier)
    assert answer(conversation, "11 June 1978") == david
    assert not Notification.objects.exists()
    assert set(AuditEvent.objects.values_list("how", flat=True)) == {"dob"}
    rows = [*AuditEvent.objects.values("detail", "why"), *Challenge.objects.values()]
    assert "1978" not in without_random(json.dumps(rows, default=str))


@pytest.mark.usefixtures("by_birth")
def test_three_wrong_dates_lock_and_a_date_that_cannot_be_read_costs_no_try(
    david: Patient, conversation: UUID
) -> None:
    ask(conversation, "10000101")
    with pytest.raises(BirthUnreadable):
        answer(conversation, "31.02.1978")
    for left in (2, 1):
        with pytest.raises(CodeWrong) as wrong:
            answer(conversation, "12.06.1978")
        assert wrong.value.tries_left == left
    for _ in range(2):
        with pytest.raises(CodeLocked):
            answer(conversation, "11.06.1978" if _ else "12.06.1978")
    assert Notification.objects.get().kind == "identity_warning"


@pytest.mark.usefixtures("by_birth")
def test_an_account_allows_at_most_fifteen_guesses_a_day(david: Patient) -> None:
    rights = 0
    with time_machine.travel(timezone.now(), tick=False) as clock:
        for number in range(8):
            clock.shift(timedelta(minutes=70))  # three wrong ones lock the account for an hour
            conversation = uuid4()
            contact = ["10000101", "david.cohen@example.com", "050-1234567"][number % 3]
            try:
                ask(conversation, contact, f"10.0.0.{number}")
            except IdentityLimited:
                continue
            for text in ("1.1.1970", "2.1.1970", "11.6.1978" if number > 4 else "3.1.1970"):
                try:
                    answer(conversation, text)
                    rights += 1
                except (CodeWrong, CodeLocked):
                    pass
    assert rights == 0
    assert Challenge.objects.filter(patient=david).count() == 5


@pytest.mark.usefixtures("by_birth")
def test_an_unknown_account_takes_the_same_queries_and_gets_the_same_refusal(
    david: Patient,
) -> None:
    seen = []
    for identifier in ("10000101", "10000999", "nobody@example.com", "nonsense"):
        conversation = uuid4()
        with CaptureQueriesContext(connection) as asked:
            ask(conversation, identifier)
        with CaptureQueriesContext(connection) as answered, pytest.raises(CodeWrong) as wrong:
            answer(conversation, "1.1.1970")
        seen.append((len(asked), len(answered), str(wrong.value)))
    assert len(set(seen)) == 1


def test_a_date_answers_no_code(david: Patient, conversation: UUID, settings: Settings) -> None:
    ask(conversation, "10000101")
    settings.CHAT_IDENTITY = "dob"
    with pytest.raises(CodeWrong):
        answer(conversation, "11.06.1978")
