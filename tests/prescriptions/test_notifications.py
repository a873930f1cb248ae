"""Messages: a row first, sent after the commit, away from the request, tried again; codes are removed afterwards."""

import logging
import smtplib
import threading
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.core import mail
from django.db import transaction
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from prescriptions import notifications, outbox, tasks
from prescriptions.models import Notification
from prescriptions.notices import notice
from prescriptions.notifications import inbox, notification_enqueue
from prescriptions.outbox import notification_claim, notifications_drain


def enqueue(key: str = "key", recipient: str = "david.cohen@example.com", **more: object) -> Notification:
    given = {"kind": "identity_code", "language": "en", "context": {"code": "123456"}, **more}
    return notification_enqueue(key=key, recipient=recipient, **given)  # type: ignore[arg-type]


class DeadServer:
    """A mail server that refuses everything and quotes the recipient, as real ones do."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, *args: object, **kwargs: object) -> int:
        self.calls += 1
        raise smtplib.SMTPRecipientsRefused({"david.cohen@example.com": (550, b"no")})


@pytest.fixture
def dead_server(monkeypatch: pytest.MonkeyPatch) -> DeadServer:
    server = DeadServer()
    monkeypatch.setattr(outbox, "send_mail", server)
    return server


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
    db: None, dead_server: DeadServer, caplog: pytest.LogCaptureFixture
) -> None:
    row = enqueue()
    waits = []
    for attempt in range(1, 6):
        with caplog.at_level(logging.DEBUG):
            assert notifications_drain() == 0
            assert notifications_drain() == 0  # not due yet
        assert dead_server.calls == attempt
        row.refresh_from_db()
        waits.append((row.due_at - timezone.now()).total_seconds())
        make_due()
    assert row.state == "failed"
    assert row.context == {}
    assert waits[:4] == pytest.approx([15, 30, 60, 120], abs=5)
    assert notifications_drain() == 0
    assert dead_server.calls == 5
    assert "david" not in caplog.text
    assert "SMTPRecipientsRefused" in caplog.text


def test_a_failed_message_is_sent_when_the_server_is_back(
    db: None, monkeypatch: pytest.MonkeyPatch, dead_server: DeadServer
) -> None:
    enqueue()
    notifications_drain()
    monkeypatch.undo()
    make_due()
    assert notifications_drain() == 1


def test_row_of_a_lost_sender_is_sent_when_its_lease_ends(db: None) -> None:
    row = enqueue()
    assert notification_claim(row.pk)
    assert not notification_claim(row.pk)
    assert notifications_drain() == 0
    make_due()
    assert notifications_drain() == 1


@pytest.mark.django_db(transaction=True)
def test_sent_by_another_thread_when_not_inline(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.NOTIFICATIONS_INLINE = False
    done, seen = threading.Event(), []

    def drained() -> int:
        seen.append(threading.current_thread().name)
        done.set()
        return 0

    monkeypatch.setattr(notifications, "notifications_drain", drained)
    enqueue()
    assert done.wait(timeout=10)
    notifications._pool().submit(lambda: None).result(timeout=10)  # the thread is done with the database
    assert seen[0].startswith("notifications")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("broker_is_up", [True, False])
def test_the_task_is_published_from_the_pools_thread_and_sent_from_there_without_a_broker(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, broker_is_up: bool
) -> None:
    settings.NOTIFICATIONS_INLINE = False
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    published: list[str] = []

    def publish(**kwargs: object) -> None:
        assert kwargs == {"retry": False}
        published.append(threading.current_thread().name)
        if not broker_is_up:
            raise ConnectionError

    monkeypatch.setattr(tasks.notifications_deliver, "apply_async", publish)
    enqueue()
    notifications._pool().submit(lambda: None).result(timeout=10)
    assert [name.startswith("notifications") for name in published] == [True]
    assert Notification.objects.get().state == ("pending" if broker_is_up else "sent")
    assert len(mail.outbox) == (0 if broker_is_up else 1)


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
