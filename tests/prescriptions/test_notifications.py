"""Messages: a row first, sent after the commit, away from the request, tried again; codes are removed afterwards."""

import hashlib
import hmac
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core import mail
from django.db import transaction
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings
from sinks import MailSink, WebSink

from prescriptions import channels as channels_module
from prescriptions import notifications, outbox, tasks
from prescriptions.audit import Access
from prescriptions.channels import Channels
from prescriptions.checks import webhook_signed
from prescriptions.dead_letters import (
    dead_letters,
    notifications_retry,
    notifications_set_aside,
    notifications_stuck,
)
from prescriptions.models import AuditEvent, Notification
from prescriptions.notices import notice
from prescriptions.notifications import inbox, notification_enqueue
from prescriptions.outbox import notification_claim, notifications_drain
from prescriptions.receipts import receipt_remove, receipt_write


def enqueue(key: str = "key", recipient: str = "david.cohen@example.com", **more: object) -> Notification:
    given = {"kind": "identity_code", "language": "en", "context": {"code": "123456"}, **more}
    return notification_enqueue(key=key, recipient=recipient, **given)  # type: ignore[arg-type]


@pytest.fixture
def mail_sink(settings: Settings) -> Iterator[MailSink]:
    """A mail server on a socket, which the site sends to."""
    with MailSink() as sink:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", sink.port, 5
        settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        yield sink


@pytest.fixture
def web_sink(settings: Settings) -> Iterator[WebSink]:
    """A webhook on a socket, which the site calls."""
    with WebSink() as sink:
        settings.HANDOFF_WEBHOOK, settings.HANDOFF_WEBHOOK_KEY = sink.url, "secret"
        yield sink


def make_due() -> None:
    Notification.objects.update(due_at=timezone.now() - timedelta(seconds=1))


@pytest.mark.django_db(transaction=True)
def test_sent_after_the_commit_and_never_after_a_rollback() -> None:
    with transaction.atomic():
        enqueue()
        assert mail.outbox == []
    assert len(mail.outbox) == 1

    def fail() -> None:
        with transaction.atomic():
            enqueue("other")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert len(mail.outbox) == 1
    assert Notification.objects.count() == 1


def test_one_key_is_sent_once(
    db: None, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    for _ in range(3):
        with django_capture_on_commit_callbacks(execute=True):
            enqueue()
    assert notifications_drain() == 0
    assert len(mail.outbox) == 1


@pytest.mark.parametrize(("debug", "left"), [(False, {}), (True, {"code": "123456"})])
def test_the_code_is_deleted_after_sending_unless_debugging(
    db: None, settings: Settings, debug: bool, left: dict[str, str]
) -> None:
    settings.DEBUG = debug
    enqueue()
    assert notifications_drain() == 1
    row = Notification.objects.get()
    assert (row.state, row.context) == ("sent", left)
    assert row.sent_at is not None
    assert "123456" in str(mail.outbox[0].body)


def test_inbox_is_for_debugging_and_one_conversation_only(
    db: None, settings: Settings, conversation: UUID
) -> None:
    enqueue("mine", conversation_id=conversation)
    enqueue("decoy", recipient="", conversation_id=conversation)
    enqueue("other", conversation_id=uuid4())
    assert inbox(conversation) == []
    settings.DEBUG = True
    notifications_drain()
    (message,) = inbox(conversation)
    assert (message.to, message.code) == ("david.cohen@example.com", "123456")
    assert "123456" in message.text


def test_decoy_and_outdated_code_are_discarded(db: None) -> None:
    enqueue("decoy", recipient="")
    enqueue("late", expires_at=timezone.now() - timedelta(seconds=1))
    assert notifications_drain() == 0
    assert mail.outbox == []
    assert set(Notification.objects.values_list("state", flat=True)) == {"discarded"}
    assert all(row.context == {} for row in Notification.objects.all())


def test_failure_is_tried_again_later_and_given_up_after_five(
    db: None, mail_sink: MailSink, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[str] = []
    mail_sink.refuses = lambda recipient: not asked.append(recipient)  # type: ignore[func-returns-value]
    row = enqueue()
    waits = []
    for attempt in range(1, 6):
        with caplog.at_level(logging.DEBUG):
            assert notifications_drain() == 0
            assert notifications_drain() == 0  # not due yet
        assert len(asked) == attempt
        row.refresh_from_db()
        waits.append((row.due_at - timezone.now()).total_seconds())
        make_due()
    assert (row.state, row.last_error, row.unknown) == ("failed", "SMTPRecipientsRefused", 0)
    assert row.context == {}
    assert waits[:4] == pytest.approx([15, 30, 60, 120], abs=5)
    assert notifications_drain() == 0
    assert len(asked) == 5
    assert "david" not in caplog.text
    assert "SMTPRecipientsRefused" in caplog.text
    assert [record.levelname for record in caplog.records].count("ERROR") == 1


def test_a_failed_message_is_sent_when_the_server_is_back(db: None, mail_sink: MailSink) -> None:
    mail_sink.refuses = lambda recipient: True
    enqueue()
    notifications_drain()
    mail_sink.refuses = lambda recipient: False
    make_due()
    assert notifications_drain() == 1
    assert [mail.subject for mail in mail_sink.mails] == ["Your pharmacy code"]


def test_row_of_a_lost_sender_is_sent_when_its_lease_ends(db: None, mail_sink: MailSink) -> None:
    row = enqueue()
    assert notification_claim(row.pk)
    assert not notification_claim(row.pk)
    assert notifications_drain() == 0
    make_due()
    assert notifications_drain() == 1
    assert mail_sink.mails[0].subject == "Your pharmacy code"  # nothing had gone out


@pytest.mark.parametrize(("language", "mark"), [("en", "Sent again: "), ("he", "נשלח שוב: ")])
def test_a_mail_of_unknown_outcome_is_sent_once_more_and_marked(
    db: None, settings: Settings, mail_sink: MailSink, language: str, mark: str
) -> None:
    settings.EMAIL_TIMEOUT = 0.3
    mail_sink.is_mute = True
    row = enqueue(language=language)
    for _ in range(3):
        assert notifications_drain() == 0
        make_due()
    first, second = mail_sink.mails
    assert second.subject == mark + first.subject
    assert (second.message_id, second.body) == (first.message_id, first.body)
    row.refresh_from_db()
    assert (row.state, row.last_error, row.unknown) == ("failed", "SMTPServerDisconnected", 2)


def begun(row: Notification) -> Notification:
    """The row as a sender leaves it that dies while the message goes out."""
    claimed = notification_claim(row.pk)
    assert claimed
    outbox._begin(claimed)
    make_due()
    return claimed


def test_a_mail_whose_sender_died_is_sent_once_more_and_then_given_up(db: None, mail_sink: MailSink) -> None:
    row = enqueue()
    begun(row)
    begun(row)
    assert notifications_drain() == 0
    row.refresh_from_db()
    assert (row.state, row.last_error, row.unknown) == ("failed", "outcome_unknown", 2)
    other = enqueue("other")
    begun(other)
    assert notifications_drain() == 1
    assert [mail.subject for mail in mail_sink.mails] == ["Sent again: Your pharmacy code"]


def test_a_mail_that_the_server_took_before_its_sender_died_is_not_sent_again(
    db: None, mail_sink: MailSink
) -> None:
    row = enqueue()
    receipt_write(begun(row))
    assert notifications_drain() == 0
    row.refresh_from_db()
    assert (row.state, row.unknown, mail_sink.mails) == ("sent", 0, [])
    receipt_remove(begun(enqueue("other")))


def test_a_sender_whose_row_was_claimed_by_another_sends_and_stores_nothing(
    db: None, mail_sink: MailSink
) -> None:
    row = enqueue()
    late = notification_claim(row.pk)
    make_due()
    assert late and notification_claim(row.pk)
    with Channels() as channels:
        assert outbox._deliver(late, channels) == 0
    row.refresh_from_db()
    assert (row.state, row.attempts, mail_sink.mails) == ("sending", 2, [])


def test_a_row_that_kills_its_senders_is_given_up(db: None) -> None:
    row = enqueue()
    for _ in range(5):
        assert notification_claim(row.pk)
        make_due()
    assert notifications_drain() == 0
    row.refresh_from_db()
    assert (row.state, row.last_error) == ("failed", "sender_died")


def test_what_cannot_be_worded_stops_no_other(db: None, mail_sink: MailSink) -> None:
    enqueue("before")
    enqueue("poison", kind="no_such_kind")
    enqueue("injection", kind="handoff_opened", context={"number": "H-1\nBcc: x@example.com"})
    enqueue("after")
    assert notifications_drain() == 2
    failed = Notification.objects.filter(state="pending").order_by("id")
    assert [row.last_error for row in failed] == ["KeyError", "BadHeaderError"]


# -- The webhook ---------------------------------------------------------------------------------------------
HANDOFF = {
    "number": "H-1001",
    "reason": "a refill",
    "reason_code": "refill",
    "urgency": "soon",
    "link": "http://x/1",
}


def hook(key: str = "handoff:H-1001:handoff_opened:webhook", **more: object) -> Notification:
    given = {
        "kind": "handoff_opened",
        "context": HANDOFF,
        "channel": "webhook",
        "lane": "H-1001:webhook",
        **more,
    }
    return enqueue(key, "", **given)


def test_the_webhook_gets_a_signed_call_with_ids_and_codes_only(db: None, web_sink: WebSink) -> None:
    row = hook()
    assert notifications_drain() == 1
    (call,) = web_sink.calls
    assert call.key == row.key
    assert call.json == {
        "number": "H-1001", "kind": "handoff_opened", "reason": "refill", "urgency": "soon", "link": "http://x/1",
    }  # fmt: skip
    moment = call.headers["X-Pharmacy-Timestamp"]
    signed = hmac.new(b"secret", moment.encode() + b"." + call.body, hashlib.sha256).hexdigest()
    assert call.headers["X-Pharmacy-Signature"] == f"sha256={signed}"
    assert abs(time.time() - int(moment)) < 5
    row.refresh_from_db()
    assert (row.state, row.context) == ("sent", {})


def test_the_check_of_the_signature_in_the_readme_accepts_our_calls_only(db: None, web_sink: WebSink) -> None:
    hook()
    notifications_drain()
    (call,) = web_sink.calls
    section = (Path(__file__).parents[2] / "README.md").read_text().split("### The webhook of hand-offs")[1]
    names: dict[str, Any] = {}
    exec(section.split("```python")[1].split("```")[0], names)  # noqa: S102  # our own page's
    is_ours = names["is_ours"]
    assert is_ours(call.body, call.headers, "secret")
    assert not is_ours(call.body + b" ", call.headers, "secret")
    assert not is_ours(call.body, call.headers, "another")
    assert not is_ours(call.body, {**call.headers, "X-Pharmacy-Timestamp": "1790000000"}, "secret")


def test_the_webhook_is_called_again_under_its_key_until_it_answers_2xx(db: None, web_sink: WebSink) -> None:
    answers = iter([500, 302, 404, 200])
    web_sink.status = lambda call: next(answers)
    row = hook()
    errors = []
    for _ in range(4):
        notifications_drain()
        row.refresh_from_db()
        errors.append(row.last_error)
        make_due()
    assert errors == ["http_500", "http_302", "http_404", "http_404"]
    assert row.state == "sent"
    assert {call.key for call in web_sink.calls} == {row.key} and len(web_sink.calls) == 4


def test_a_webhook_that_answers_too_late_is_called_again_under_the_same_key(
    db: None, web_sink: WebSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channels_module, "_WEBHOOK_SECONDS", 0.3)
    web_sink.seconds = lambda call: 1.0 if len(web_sink.calls) < 4 else 0.0
    row = hook()
    for _ in range(4):
        notifications_drain()
        make_due()
    row.refresh_from_db()
    assert (row.state, row.last_error) == ("sent", "ReadTimeout")
    assert len(web_sink.calls) == 4 and list(web_sink.effects) == [row.key]


def test_a_webhook_that_is_down_is_tried_five_times_and_one_that_was_switched_off_never(
    db: None, settings: Settings
) -> None:
    settings.HANDOFF_WEBHOOK, settings.HANDOFF_WEBHOOK_KEY = "http://127.0.0.1:1/", "secret"
    row, off = hook(), hook("off", lane="")
    for _ in range(6):
        notifications_drain()
        make_due()
    row.refresh_from_db()
    assert (row.state, row.last_error, row.attempts) == ("failed", "ConnectError", 5)
    assert row.context == HANDOFF  # a person may have it sent again
    settings.HANDOFF_WEBHOOK = ""
    off.refresh_from_db()
    assert off.state == "failed"
    hook("later")
    assert notifications_drain() == 0
    assert Notification.objects.get(key="later").state == "discarded"


def test_the_rows_of_one_hand_off_are_sent_in_their_order(db: None, web_sink: WebSink) -> None:
    bad = {"H-1001:opened"}
    web_sink.status = lambda call: 503 if call.key in bad else 204
    for key in ("H-1001:opened", "H-1001:reminder", "H-1001:raised"):
        hook(key)
    hook("H-1002:opened", lane="H-1002:webhook")
    assert notifications_drain() == 1
    assert [call.key for call in web_sink.calls] == ["H-1001:opened", "H-1002:opened"]
    bad.clear()
    make_due()
    assert notifications_drain() == 3
    assert [call.key for call in web_sink.calls][2:] == ["H-1001:opened", "H-1001:reminder", "H-1001:raised"]


def test_a_row_that_is_given_up_holds_back_no_other(db: None, web_sink: WebSink) -> None:
    web_sink.status = lambda call: 503 if call.key == "first" else 204
    hook("first"), hook("second")
    for _ in range(5):
        assert not web_sink.effects
        notifications_drain()
        make_due()
    assert list(web_sink.effects) == ["second"]


def test_a_webhook_without_a_key_is_refused(settings: Settings) -> None:
    settings.HANDOFF_WEBHOOK, settings.HANDOFF_WEBHOOK_KEY = "https://example.com/", ""
    assert [error.id for error in webhook_signed()] == ["prescriptions.E001"]
    settings.HANDOFF_WEBHOOK_KEY = "secret"
    assert webhook_signed() == []


# -- Dead letters ----------------------------------------------------------------------------------------------
DESK = Access("user:1", "admin")


def dead(key: str, **more: object) -> Notification:
    row = enqueue(key, **({"kind": "identity_warning", "context": {}} | more))
    Notification.objects.filter(pk=row.pk).update(state="failed", attempts=5, last_error="SMTPDataError")
    return row


def test_dead_letters_are_sent_again_or_set_aside_on_record(db: None) -> None:
    again, aside = dead("again"), dead("aside")
    code = dead("code", kind="identity_code", context={})
    late = dead("late", expires_at=timezone.now() - timedelta(seconds=1))
    sent = enqueue("sent", kind="identity_warning", context={})
    assert set(dead_letters()) == {again, aside}
    every = [row.pk for row in (again, code, late, sent)]
    assert (notifications_retry(every, access=DESK), notifications_set_aside([aside.pk], access=DESK)) == (
        1,
        1,
    )
    assert notifications_retry(every, access=DESK) == 0
    assert notifications_drain() == 2
    states = dict(Notification.objects.values_list("key", "state"))
    assert states == {
        "again": "sent",
        "aside": "discarded",
        "code": "failed",
        "late": "failed",
        "sent": "sent",
    }
    events = AuditEvent.objects.filter(what__startswith="notification_").order_by("number")
    assert [(event.what, event.who, event.detail) for event in events] == [
        ("notification_retried", "user:1", {"row": again.pk}),
        ("notification_set_aside", "user:1", {"row": aside.pk}),
    ]


def test_a_retried_mail_that_may_have_arrived_stays_marked(db: None, mail_sink: MailSink) -> None:
    row = dead("again")
    Notification.objects.update(unknown=2)
    notifications_retry([row.pk], access=DESK)
    assert notifications_drain() == 1
    assert mail_sink.mails[0].subject.startswith("Sent again: ")


def test_what_nobody_sends_is_noticed_when_it_is_its_turn(db: None) -> None:
    for key in ("one", "two"):
        enqueue(key, lane="lane")
    assert notifications_stuck().count() == 0
    Notification.objects.update(due_at=timezone.now() - timedelta(minutes=3))
    assert notifications_stuck().count() == 1


# -- Who sends ---------------------------------------------------------------------------------------------
@pytest.mark.django_db(transaction=True)
def test_sent_by_another_thread_when_not_inline(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.NOTIFICATIONS_INLINE = False
    done, seen = threading.Event(), []

    def drained(senders: int) -> int:
        seen.append(threading.current_thread().name)
        done.set()
        return 0

    monkeypatch.setattr(notifications, "notifications_drain", drained)
    enqueue()
    assert done.wait(timeout=10)
    notifications._pool().submit(lambda: None).result(timeout=10)  # the thread is done with the database
    assert seen[0].startswith("notifications")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("scheme", ["redis", "amqp"])
@pytest.mark.parametrize("is_there", [True, False])
def test_without_an_answer_of_the_broker_the_message_is_sent_from_here_at_once(
    settings: Settings, scheme: str, is_there: bool
) -> None:
    """A broker that hangs (it takes connections and says nothing), and one that is not there."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as silent:
        port = silent.getsockname()[1] if is_there else 1
        settings.NOTIFICATIONS_INLINE = False
        settings.CELERY_BROKER_URL = f"{scheme}://127.0.0.1:{port}/0"
        began = time.monotonic()
        with app_of(settings.CELERY_BROKER_URL):
            for number in range(5):
                enqueue(f"key-{number}")
            assert time.monotonic() - began < 0.5  # nobody who writes one waits
            notifications._pool().submit(lambda: None).result(timeout=30)
        assert time.monotonic() - began < 5
    assert set(Notification.objects.values_list("state", flat=True)) == {"sent"}
    assert len(mail.outbox) == 5


@contextmanager
def app_of(broker: str) -> Iterator[None]:
    """The Celery application with another broker: it reads the settings once."""
    conf = tasks.notifications_deliver.app.conf
    before = conf.broker_url
    conf.broker_url = broker
    try:
        yield
    finally:
        conf.broker_url = before


def test_the_task_sends_what_is_due(db: None) -> None:
    enqueue()
    tasks.notifications_deliver()
    assert len(mail.outbox) == 1


@pytest.mark.parametrize("kind", Notification.Kind.values)
@pytest.mark.parametrize("language", ["en", "he"])
def test_every_kind_has_a_text_in_both_languages(kind: str, language: str) -> None:
    text = notice(kind, language, {"code": "123456"}, ttl=300)
    hebrew: Callable[[str], bool] = lambda part: any("א" <= char <= "ת" for char in part)  # noqa: E731
    assert hebrew(text.subject) == hebrew(text.body) == (language == "he")
    assert "{" not in text.subject + text.body
    assert "123456" not in notice(kind, language, {}, ttl=300).body
