"""Many guesses at who somebody is (safety.md, T4): on one account from many addresses and conversations, and spread on many.

`make test-faults` plays the full figures: 1,000 guesses on one account, 10,000 on 5,000 accounts.
"""

import os
import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import date, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connections
from talking import Talk

from agent.conversation import accept, events
from agent.models import Conversation, Event
from prescriptions import identity
from prescriptions.errors import IdentityLimited
from prescriptions.models import AuditEvent, Challenge, Handoff, Notification, Patient

FULL = "FAULTS_EXAMPLES" in os.environ
CONVERSATIONS, GUESSES = (200, 5) if FULL else (12, 5)
"""On one account: each conversation has an address of its own."""
ACCOUNTS, EACH = (5_000, 2) if FULL else (100, 2)
THREADS = 8
EMAIL = "david.cohen@example.com"
TRIED = ["identity_failed", "identity_locked", "identity_verified"]
"""Audit lines of guesses that were compared with something."""
pytestmark = pytest.mark.usefixtures("demo_committed")
Guess = Callable[[], str]


@pytest.fixture(params=["otp", "dob"])
def guess(request: pytest.FixtureRequest, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Guess:
    """A guess as an attacker makes it: any code, or any day of seventy years. Codes are drawn from a seed, too."""
    settings.CHAT_IDENTITY = request.param
    drawn, guessed = random.Random(1), random.Random(2)
    monkeypatch.setattr("prescriptions.identity.secrets.randbelow", drawn.randrange)
    if request.param == "otp":
        return lambda: f"{guessed.randrange(10**6):06d}"
    return lambda: any_day(guessed).isoformat()


def any_day(drawn: random.Random) -> date:
    """A day of seventy years, but not David's: by chance one guess in 25,550 is right, and that is no matter of limits."""
    day = date(1930, 1, 1) + timedelta(days=drawn.randrange(70 * 365))
    return date(1930, 1, 1) if day == date(1978, 6, 11) else day


def begun(identifier: str, address: str) -> UUID:
    """A conversation that asked to be this account's, whether or not that was allowed."""
    conversation, _ = events.conversation_begin(language="en")
    with suppress(IdentityLimited):
        identity.challenge_start(
            conversation_id=conversation.pk,
            identifier=identifier,
            address=address,
            run_key=str(uuid4()),
            language="en",
        )
    return conversation.pk


def attack(identifiers: list[str], guess: Guess) -> Counter[str]:
    """Guess in all conversations at once; what came of it, by outcome."""

    def one(number: int) -> list[str]:
        try:
            address = f"10.0.{number // 250}.{number % 250}"
            pk = begun(identifiers[number % len(identifiers)], address)
            tries = [
                accept.code_submit(conversation_id=pk, code=guess(), address=address) for _ in range(GUESSES)
            ]
            return [tried.outcome for tried in tries]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(THREADS) as pool:
        return Counter(outcome for tried in pool.map(one, range(CONVERSATIONS)) for outcome in tried)


def warned() -> list[str]:
    rows = Notification.objects.filter(kind=Notification.Kind.IDENTITY_WARNING).exclude(recipient="")
    return list(rows.values_list("recipient", flat=True))


def test_guesses_on_one_account_end_in_one_case_and_one_notice(guess: Guess) -> None:
    outcomes = attack([EMAIL], guess)
    assert outcomes.total() == CONVERSATIONS * GUESSES and outcomes["ok"] == 0
    assert outcomes["wrong"] and outcomes["locked"] and outcomes["expired"]
    david = Patient.objects.get(email=EMAIL)
    tried = AuditEvent.objects.filter(what__in=TRIED)
    # A challenge that began before another one was used up can still be answered.
    assert 3 <= tried.filter(patient_id=david.pk).count() <= 15
    assert not Conversation.objects.filter(patient__isnull=False).exists()
    assert warned() == [EMAIL]
    case = Handoff.objects.get()
    assert (case.reason, case.contact, case.contact_why) == (
        "identity_failed",
        "pharmacist",
        "identity_failed",
    )
    # Each conversation that used its tries up was told of it, and is known to whoever takes the case.
    failed = Challenge.objects.filter(state="failed").values_list("conversation_id", flat=True)
    told = Event.objects.filter(type="handoff.updated", payload__number=case.number)
    assert (
        {str(pk) for pk in failed}
        == set(case.package["conversations"])
        == {str(pk) for pk in told.values_list("conversation", flat=True)}
    )
    assert len(failed) == 5 == told.count()


def test_the_owner_still_reaches_a_person(guess: Guess) -> None:
    attack([EMAIL], guess)
    case = Handoff.objects.get()
    joined = case.package["conversations"][-1]
    # In a new conversation, and in one in which they failed themselves.
    for conversation in (None, Conversation.objects.get(pk=joined)):
        talk = Talk(conversation=conversation)
        accept.handoff_request(conversation_id=talk.conversation.pk)
        talk.answer()
        own = Handoff.objects.get(conversation_id=talk.conversation.pk, reason="customer_asked")
        assert own.number in talk.payload["text"]


def test_guesses_by_all_contacts_of_an_account_are_one_case_each_and_one_notice(guess: Guess) -> None:
    contacts = [EMAIL, "050-1234567", "10000101"]
    attack(contacts, guess)
    david = Patient.objects.get(email=EMAIL)
    assert 3 <= AuditEvent.objects.filter(what__in=TRIED, patient_id=david.pk).count() <= 15
    assert warned() == [EMAIL] and 1 <= Handoff.objects.count() <= len(contacts)
    assert not Conversation.objects.filter(patient__isnull=False).exists()


def seen_by(contacts: list[str], *, apart: bool) -> list[list[str]]:
    """What somebody reads who uses up the tries at one contact after the other, `apart` in a conversation for each.

    Numbers of hand-offs are written as their order.
    """
    talks: list[Talk] = []
    for contact in contacts:
        if apart or not talks:
            talks.append(Talk())
        for text in ("what prescriptions do I have?", contact, "111111", "222222", "333333"):
            talks[-1].say(text)
    seen = [
        [f"{one['type']} {one.get('text') or one.get('message') or one.get('mode')}" for one in talk.page]
        for talk in talks
    ]
    numbers = list(Handoff.objects.order_by("pk").values_list("number", flat=True))
    Handoff.objects.all().delete()
    Challenge.objects.all().delete()
    for place, number in enumerate(numbers):
        seen = [[line.replace(number, f"H{place}").replace(contact, "-") for line in lines] for lines in seen]
    return seen


@pytest.mark.parametrize("apart", [True, False])
def test_nobody_learns_which_contacts_belong_to_one_account(apart: bool) -> None:
    own, *others = [
        seen_by([EMAIL, other], apart=apart) for other in ("050-1234567", "10000124", "054-9999999")
    ]
    assert any("H0" in line for line in own[0]) and any("H1" in line for line in own[-1])
    assert own == others[0] == others[1]


def test_guesses_spread_on_many_accounts_find_what_chance_finds_and_lock_none(
    guess: Guess, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after the other, so that codes and guesses are those of their seeds.

    No limit of an account keeps from two guesses at each: a code's million does, and of dates of birth chance finds some.
    """
    monkeypatch.setattr("prescriptions.notifications.notifications_drain", lambda: 0)  # nobody reads these
    born = random.Random(3)
    Patient.objects.bulk_create(
        Patient(
            mrn=str(20_000_000 + number),
            name_en="Test",
            name_he="בדיקה",
            email=f"spread{number}@example.com",
            phone=f"+9725{20_000_000 + number}",
            born=any_day(born),
            language="en",
        )
        for number in range(ACCOUNTS)
    )
    outcomes: Counter[str] = Counter()
    right = 0
    for number in range(ACCOUNTS):
        address = (
            f"10.{number // 6_250}.{number // 25 % 250}.1"  # 25 accounts from each: its limit is 30 an hour
        )
        pk = begun(f"spread{number}@example.com", address)
        birth = Patient.objects.values_list("born", flat=True).get(email=f"spread{number}@example.com")
        for guessed in (guess() for _ in range(EACH)):
            right += guessed == birth.isoformat()
            outcome = accept.code_submit(conversation_id=pk, code=guessed, address=address).outcome
            outcomes[outcome] += 1
            if outcome == "ok":
                break
    assert outcomes["ok"] == right and not outcomes.keys() - {"ok", "wrong"}
    assert outcomes.total() >= ACCOUNTS * EACH - right
    assert right == 0 or (settings.CHAT_IDENTITY == "dob" and FULL and right <= 3)
    assert Conversation.objects.filter(patient__isnull=False).count() == right
    assert warned() == [] and not Handoff.objects.exists()


def test_one_address_reaches_thirty_accounts_an_hour(guess: Guess) -> None:
    numbers = range(10_000_101, 10_000_141)
    outcomes = Counter(
        accept.code_submit(
            conversation_id=begun(str(number), "10.9.9.9"), code=guess(), address="10.9.9.9"
        ).outcome
        for number in numbers
    )
    assert outcomes == {"wrong": 30, "expired": len(numbers) - 30}
