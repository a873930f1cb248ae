"""Codes of one account, asked for and guessed in many conversations: what is sent, and what staff get of it."""

from typing import Any

import pytest
from django.core.cache.backends.redis import RedisCache
from talking import Talk

from agent.conversation import accept
from agent.models import Event
from prescriptions.models import AuditEvent, Challenge, Handoff, Notification, Patient

CONTACTS = ("david.cohen@example.com", "050-1234567", "+972501234567", "David.Cohen@example.com")
CODES = Notification.Kind.IDENTITY_CODE


@pytest.fixture
def david(demo_committed: None) -> Patient:
    return Patient.objects.get(email=CONTACTS[0])


def asking(number: int, lang: str = "en") -> Talk:
    """A conversation that asked for a code by one of the account's contacts."""
    talk = Talk(lang)
    talk.say("What prescriptions do I have?")
    talk.say(CONTACTS[number % len(CONTACTS)])
    return talk


def test_a_code_guessed_in_many_conversations_opens_one_hand_off(david: Patient) -> None:
    talks = [asking(0) for _ in range(8)]
    for talk in talks:
        for number in range(4):
            assert "Amoxicillin" not in talk.say(f"00000{number}")
    case = Handoff.objects.get()
    assert (case.reason, case.patient_id) == ("identity_failed", None)
    failed = Challenge.objects.filter(state="failed")
    told = Event.objects.filter(type="handoff.updated", payload__number=case.number)
    assert len(case.package["conversations"]) == failed.count() == told.count() > 3
    # The owner is warned once, and no more was compared than a day allows.
    warnings = Notification.objects.filter(kind=Notification.Kind.IDENTITY_WARNING, recipient=david.email)
    assert warnings.count() == 1
    tried = AuditEvent.objects.filter(what__in=("identity_failed", "identity_locked"), patient_id=david.pk)
    assert tried.count() <= 15


def test_an_account_is_sent_so_many_codes_by_whichever_contact(david: Patient, settings: Any) -> None:
    settings.IDENTITY_CODES_PER_CONTACT_HOUR = 100
    answers = {asking(number).payload["text"] for number in range(12)}
    assert Notification.objects.filter(kind=CODES, recipient=david.email).count() == 5
    # Nobody reads in the answer that two contacts are one account's.
    sent = {text for text in answers if "try again" not in text}
    assert len(sent) == 1


def test_without_the_cache_codes_and_guesses_are_limited_all_the_same(
    david: Patient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    gone = RedisCache("redis://127.0.0.1:1/0", {})
    monkeypatch.setattr("pharmacy_site.lib.counters.counters", lambda: gone)
    talks = [asking(0) for _ in range(7)]
    assert Notification.objects.filter(kind=CODES, recipient=david.email).count() == 5
    assert "try again in" in talks[-1].payload["text"]
    outcomes = [
        accept.code_submit(
            conversation_id=talks[0].conversation.pk, code=f"00000{number}", address="192.0.2.1"
        )
        for number in range(5)
    ]
    assert [one.outcome for one in outcomes] == ["wrong", "wrong", "locked", "locked", "locked"]
    assert "the cache failed" in caplog.text
