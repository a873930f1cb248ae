"""Each refusal that time ends says when it ends: over HTTP, in the chat, in an answer."""

import re
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
import time_machine
from django.test import Client
from django.utils import timezone
from talking import Talk

from agent.answers.render import error_text, waited
from agent.conversation import accept, events
from agent.models import ApiKey, ChatSite, IdempotentCall, Run
from agent.web import idempotency
from agent.web.authentication import key_issue
from prescriptions import identity
from prescriptions.errors import IdentityLimited
from prescriptions.models import Challenge

Clock = Callable[[timedelta], None]


@pytest.fixture
def clock() -> Any:
    with time_machine.travel(timezone.now(), tick=False) as traveller:
        yield lambda ahead: traveller.shift(ahead)


def asked(identifier: str, address: str = "10.0.0.1") -> None:
    identity.challenge_start(
        conversation_id=uuid4(), identifier=identifier, address=address, run_key=str(uuid4()), language="en"
    )


# -- Over HTTP -------------------------------------------------------------------------------------------------
@pytest.mark.usefixtures("db", "clock")  # the clock stands still: the limit is counted anew each minute
def test_a_key_that_calls_too_often_reads_when_to_call_again(client: Client, settings: Any) -> None:
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "DEFAULT_THROTTLE_RATES": {"key": "1/min"}}
    headers = {"authorization": f"Bearer {key_issue(name='x', scopes=['tools'])}"}
    answers = [client.get("/api/v1/tools/", headers=headers) for _ in range(3)]
    assert answers[-1].status_code == 429
    seconds = answers[-1]["Retry-After"]
    assert answers[-1].json()["detail"] == f"Too many calls with this key. Try again in {seconds} seconds."


def test_a_call_that_waits_for_its_first_one_reads_when_to_try_again(
    db: None, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.web.idempotency._WAIT_SECONDS", 0.0)
    headers = {
        "authorization": f"Bearer {key_issue(name='x', scopes=['patients'])}",
        "idempotency-key": "one",
    }
    path, body = "/api/v1/refills/", {"patient_id": "1", "prescription_id": 1, "pickup": 1}
    first = SimpleNamespace(method="POST", path=path, data=body)
    IdempotentCall.objects.create(
        api_key=ApiKey.objects.get(), key="one", fingerprint=idempotency._fingerprint(first)
    )
    answer = client.post(path, body, "application/json", headers=headers)
    assert answer.status_code == 503, answer.json()
    assert answer["Retry-After"] == "5"
    assert "Try again in 5 seconds." in answer.json()["detail"]


def test_a_frame_that_asks_for_too_many_tickets_reads_when_to_ask_again(
    db: None, client: Client, settings: Any
) -> None:
    settings.CHAT_SOCKETS_PER_MINUTE = 1
    shop = ChatSite.objects.create(name="Shop", origins=["https://shop.example.com"])
    path, headers = f"/embed/{shop.public_id}/ticket/", {"origin": "http://testserver"}
    address = f"192.0.2.{uuid4().int % 250}"
    answers = [client.post(path, headers=headers, REMOTE_ADDR=address) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 429]
    assert answers[1].json()["error"] == "rate_limited"
    assert f"Try again in {answers[1]['Retry-After']} seconds." in answers[1].json()["detail"]


# -- In the chat ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("limit", "period"), [("MINUTE", 60), ("DAY", 24 * 3600)])
def test_a_message_too_many_is_accepted_after_the_seconds_that_were_said(
    db: None, settings: Any, clock: Clock, limit: str, period: int
) -> None:
    setattr(settings, f"CHAT_MESSAGES_PER_{limit}", 3)
    conversation, _ = events.conversation_begin(language="en")

    def send() -> None:
        accept.message_accept(
            conversation_id=conversation.pk, client_msg_id=uuid4(), text="hello", address="192.0.2.1"
        )

    for _ in range(3):
        send()
        clock(timedelta(seconds=10))
    with pytest.raises(accept.RateLimited) as refused:
        send()
    # The first of the three is 30 seconds old.
    assert refused.value.retry_after == period - 30 + 1
    clock(timedelta(seconds=refused.value.retry_after - 2))
    with pytest.raises(accept.RateLimited):
        send()
    clock(timedelta(seconds=2))
    send()
    assert Run.objects.count() == 4


@pytest.mark.parametrize("lang", ["en", "he"])
def test_sentences_say_the_time(lang: str) -> None:
    times = {
        1: ("in a moment", "בעוד רגע"),
        20: ("in 20 seconds", "בעוד 20 שניות"),
        60: ("in a minute", "בעוד דקה"),
        61: ("in 2 minutes", "בעוד שתי דקות"),
        7_140: ("in 119 minutes", "בעוד 119 דקות"),
        7_141: ("in 2 hours", "בעוד שעתיים"),
        7_201: ("in 3 hours", "בעוד 3 שעות"),
    }
    for seconds, texts in times.items():
        when = texts[lang == "he"]
        assert waited(seconds, lang) == when  # type: ignore[arg-type]
        for code in ("rate_limited", "too_many_frames", "too_many_conversations", "busy"):
            text = re.sub("[\u2066-\u2069]", "", error_text(code, lang, retry_after=seconds))
            assert re.search(rf"{when}[.,]", text), text
            assert "{" not in text


# -- Codes ---------------------------------------------------------------------------------------------------------
def test_a_code_too_many_for_a_contact_is_sent_after_the_time_that_was_said(
    demo: None, settings: Any, clock: Clock
) -> None:
    settings.IDENTITY_CODES_PER_CONTACT_HOUR, settings.IDENTITY_CODES_PER_DAY = 2, 3
    email = "nobody@example.com"

    def wait() -> int:
        with pytest.raises(IdentityLimited) as limited:
            asked(email)
        return limited.value.retry_after

    asked(email)
    clock(timedelta(minutes=5))
    asked(email)
    # When the first is an hour old.
    assert wait() == 55 * 60 + 1
    clock(timedelta(minutes=54, seconds=59))
    assert wait() == 2
    clock(timedelta(seconds=2))
    asked(email)
    # When the first is a day old.
    assert wait() == 23 * 3600
    assert Challenge.objects.count() == 3


def test_a_code_too_many_for_an_address_names_the_time_and_a_person(
    demo_committed: None, settings: Any
) -> None:
    settings.IDENTITY_CODES_PER_ADDRESS_HOUR = 1
    talks = [Talk(), Talk("he")]
    talks[0].say("What prescriptions do I have?")
    talks[0].say("nobody@example.com")
    for talk, first, told in (
        (Talk(), "What prescriptions do I have?", "try again in 60 minutes, or ask for a pharmacist"),
        (talks[1], "אילו מרשמים יש לי?", "נסו שוב בעוד 60 דקות"),
    ):
        talk.say(first)
        assert told in re.sub("[\u2066-\u2069]", "", talk.say("someone.else@example.com"))
