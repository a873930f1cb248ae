"""A run that hands over to a person beside others that do something about the same conversation."""

import threading
import time
from uuid import uuid4

import pytest
from django.db import connection, transaction
from talking import Talk

from agent.conversation import accept, events
from agent.conversation.handoff import HandedOver, run_hand_over
from agent.models import Run
from prescriptions.handoffs.limits import handoff_admit
from prescriptions.models import AuditEvent, Handoff, Notification

pytestmark = pytest.mark.usefixtures("demo_committed")


def running() -> tuple[Talk, Run]:
    """A conversation with a run at work."""
    talk = Talk()
    talk.send("I want to talk to a person")
    return talk, talk.claim().run


def hand_over(run: Run) -> HandedOver | None:
    return run_hand_over(
        run,
        reason="customer_asked",
        run_key=str(uuid4()),
        earlier=Handoff.objects.filter(conversation_id=run.conversation_id),
        patient=None,
        address_key="",
    )


def test_a_run_that_was_cancelled_meanwhile_opens_nothing() -> None:
    talk, run = running()
    accept.run_cancel(conversation_id=talk.conversation.pk)
    audited = AuditEvent.objects.count()
    assert hand_over(run) is None
    assert not Handoff.objects.exists() and not Notification.objects.exists()
    assert AuditEvent.objects.count() == audited
    talk.conversation.refresh_from_db()
    assert talk.conversation.mode == "bot"


def test_an_escalation_of_the_same_conversation_and_a_run_do_not_lock_each_other_out() -> None:
    """Whoever opens a hand-off holds its locks first and the conversation's then."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time")
    talk, run = running()
    done: list[HandedOver | None] = []
    failed: list[str] = []

    def work() -> None:
        try:
            done.append(hand_over(run))
        except Exception as error:
            failed.append(repr(error))
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    with transaction.atomic():
        handoff_admit(talk.conversation.pk, "", urgent=False)
        thread.start()
        time.sleep(1.0)
        events.conversation_locked(talk.conversation.pk)
    thread.join(30)
    assert failed == [] and done[0] is not None and done[0].row is not None
