"""What holds at the edges of delivery: codes that come twice, cancelled effects, order of locks, bells, sweeps and drains."""

import asyncio
import json
import time
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from channels.layers import InMemoryChannelLayer
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from talking import RecordingHub

from agent.chat import bell, chat_socket, consumer, hub, process, progress, protocol, runner
from agent.conversation import accept, events, modes, retention, runs
from agent.inference.base import Step
from agent.models import Conversation, Event, Run
from agent.threads import run_db
from agent.turn.actions import action_run
from prescriptions import identity
from prescriptions.audit import Access
from prescriptions.handoffs import services as handoffs
from prescriptions.models import Challenge, Handoff, Patient, Prescription, RefillRequest

HERE = "192.0.2.1"


class Listener(SimpleNamespace):
    """A socket as the hub sees it."""

    __hash__ = object.__hash__


def begun(**fields: Any) -> Conversation:
    conversation, _ = events.conversation_begin(language="en")
    if fields:
        Conversation.objects.filter(pk=conversation.pk).update(**fields)
        conversation.refresh_from_db()
    return conversation


def challenged(conversation: Conversation) -> str:
    """A conversation that waits for a code, and the code."""
    from unittest import mock

    with mock.patch("prescriptions.identity.secrets.randbelow", return_value=123456):
        identity.challenge_start(
            conversation_id=conversation.pk,
            identifier="david.cohen@example.com",
            address=HERE,
            run_key=str(uuid4()),
            language="en",
        )
    return "123456"


def submit(conversation: Conversation, code: str) -> str:
    return accept.code_submit(conversation_id=conversation.pk, code=code, address=HERE).outcome


# -- Codes ---------------------------------------------------------------------------------------------------
@pytest.mark.django_db(transaction=True)
def test_a_locked_code_is_reported_once(demo_committed: None) -> None:
    conversation = begun()
    challenged(conversation)
    for _ in range(3):
        submit(conversation, "000000")
    for _ in range(12):
        assert submit(conversation, "000000") == "locked"
    assert Handoff.objects.filter(conversation_id=conversation.pk).count() == 1
    assert Event.objects.filter(conversation=conversation, type="handoff.updated").count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_right_code_that_is_sent_twice_at_once_verifies_the_patient(
    demo_committed: None, monkeypatch: Any
) -> None:
    """The same message on two sockets: the one whose try is "expired" is the first to be stored."""
    conversation = begun()
    code = challenged(conversation)
    key = uuid4()

    def send() -> accept.Accepted:
        return accept.message_accept(
            conversation_id=conversation.pk, client_msg_id=key, text=f"it is {code}", address=HERE
        )

    real, inside = accept._code_try, []

    def tried(*args: Any) -> accept.CodeOutcome:
        outcome = real(*args)
        if not inside:
            inside.append(True)
            send()  # the other socket's, between this one's try and its transaction
        return outcome

    monkeypatch.setattr(accept, "_code_try", tried)
    send()
    assert Challenge.objects.get(conversation_id=conversation.pk).state == Challenge.State.USED
    assert Conversation.objects.get(pk=conversation.pk).patient is not None


def refill_asked(run: Run, patient: Patient) -> Any:
    """Collect a refill and return the question for the customer's yes."""
    prescription = Prescription.objects.get(patient=patient, medication__name_en="Metformin")
    step = Step("refill.collect", {"prescription_ids": [prescription.pk], "store_id": 1})
    [(_type, asked)] = action_run(run, step, HERE).events
    return asked


# -- Effects of a run that is over --------------------------------------------------------------------------------
@pytest.mark.django_db(transaction=True)
def test_a_cancelled_run_has_no_effect(demo_committed: None) -> None:
    patient = Patient.objects.get(email="david.cohen@example.com")
    conversation = begun(patient=patient, verified_at=timezone.now())
    asking = Run.objects.create(conversation=conversation, input_seq=0, state="done")
    from agent.conversation import confirmations

    asked = refill_asked(asking, patient)
    confirmations.confirmation_answer(
        conversation_id=conversation.pk, key=conversation.secret_hash, confirm_id=asked["confirm_id"],
        decision="yes", address=HERE,
    )  # fmt: skip
    claim = runs.run_claim(conversation.pk)
    assert claim
    run = claim.run
    run.conversation = Conversation.objects.select_related("patient", "site").get(pk=conversation.pk)
    assert accept.run_cancel(conversation_id=conversation.pk)  # the customer sees: cancelled
    action_run(run, Step("refill.submit"), HERE)  # its thread goes on all the same
    assert not RefillRequest.objects.filter(is_confirmed=True).exists()


@pytest.mark.django_db(transaction=True)
def test_a_confirmation_can_be_repeated_after_its_run_failed(demo_committed: None) -> None:
    patient = Patient.objects.get(email="david.cohen@example.com")
    conversation = begun(patient=patient, verified_at=timezone.now())
    asking = Run.objects.create(conversation=conversation, input_seq=0, state="done")
    from agent.conversation import confirmations

    asked = refill_asked(asking, patient)
    yes = {"conversation_id": conversation.pk, "key": conversation.secret_hash, "confirm_id": asked["confirm_id"],
           "decision": "yes", "address": HERE}  # fmt: skip
    confirmations.confirmation_answer(**yes)
    claim = runs.run_claim(conversation.pk)
    assert claim
    run = claim.run
    runs.run_fail(run, "internal")
    assert events.events_after(conversation.secret_hash, 0)[-1]["retryable"]
    confirmations.confirmation_answer(**yes)


# -- Locks: conversation first, then its runs; the audit log's head last -----------------------------------------
@pytest.mark.django_db(transaction=True)
def test_ending_a_run_locks_its_conversation_first(monkeypatch: Any) -> None:
    conversation = begun()
    accept.message_accept(conversation_id=conversation.pk, client_msg_id=uuid4(), text="hi", address=HERE)
    claim = runs.run_claim(conversation.pk)
    assert claim
    run = claim.run
    locked: list[str] = []
    real_lock = events.conversation_locked
    monkeypatch.setattr(
        events, "conversation_locked", lambda *a, **k: (locked.append("conversation"), real_lock(*a, **k))[1]
    )
    real_end = runs.run_end
    monkeypatch.setattr(runs, "run_end", lambda *a, **k: (locked.append("run"), real_end(*a, **k))[1])
    runs.run_fail(run, "internal")
    # run_cancel and conversation_delete take the conversation's row first: the other order deadlocks on PostgreSQL.
    assert locked[0] == "conversation"


@pytest.mark.django_db(transaction=True)
def test_the_audit_logs_head_is_locked_last() -> None:
    conversation = begun()
    for _ in range(5):
        accept.message_accept(conversation_id=conversation.pk, client_msg_id=uuid4(), text="hi", address=HERE)
    opened = handoffs.handoff_open(
        conversation_id=conversation.pk, reason="asked", run_key=str(uuid4()), language="en"
    )
    for act in (
        lambda: handoffs.handoff_close(handoff=opened, access=Access("user:1", "admin")),
        lambda: retention.conversation_delete(conversation.pk, conversation.secret_hash),
    ):
        with CaptureQueriesContext(connection) as queries:
            act()
        written = [
            query["sql"] for query in queries if query["sql"].startswith(("UPDATE", "DELETE", "INSERT"))
        ]
        heads = [n for n, sql in enumerate(written) if "prescriptions_audithead" in sql]
        talks = [n for n, sql in enumerate(written) if "agent_conversation" in sql]
        # Two who take them in different orders wait for each other; and meanwhile nobody in the house records anything.
        assert heads and talks and min(heads) > max(talks)


# -- The bell -----------------------------------------------------------------------------------------------------
async def test_a_disconnected_bell_recovers(monkeypatch: Any) -> None:
    monkeypatch.setattr(bell, "get_channel_layer", InMemoryChannelLayer)
    monkeypatch.setattr(bell, "PULSE_SECONDS", 0.2)
    turned: list[bool] = []
    ours = bell.Bell(lambda news: None, lambda: turned.append(ours.disconnected))
    tasks = ours.start()
    try:
        await asyncio.sleep(0.1)
        ours._set_disconnected(True, why="once")
        await asyncio.sleep(3)  # fifteen pulses, all of them received
        assert turned == [True, False]
    finally:
        for task in tasks:
            task.cancel()


async def test_the_bell_goes_on_after_a_message_that_it_cannot_read(monkeypatch: Any) -> None:
    layer = InMemoryChannelLayer()
    monkeypatch.setattr(bell, "get_channel_layer", lambda: layer)
    heard: list[str] = []

    def hear(news: Any) -> None:
        heard.append(news["news"][0]["type"])

    ours = bell.Bell(hear, lambda: None)
    tasks = ours.start()
    try:
        await asyncio.sleep(0.05)
        await ours.subscribe("k")
        for message in ({"news": []}, {"news": [{"type": "second"}]}):  # the first is a newer version's
            await layer.group_send(bell.group_of("k"), {"type": "news", "from": "x", "key": "k", **message})
            await asyncio.sleep(0.05)
        assert heard == ["second"]
    finally:
        for task in tasks:
            task.cancel()


async def test_news_reach_other_processes_in_order(monkeypatch: Any, settings: Any) -> None:
    """A finished answer and the beginning of the next run, in one breath."""
    layer = InMemoryChannelLayer()
    monkeypatch.setattr(bell, "get_channel_layer", lambda: layer)
    settings.REDIS_URL = "memory"
    names = iter(["here", "there"])
    monkeypatch.setattr(bell, "own_name", lambda: next(names))
    here, there = hub.Hub(), hub.Hub()
    seen: list[str] = []
    socket = Listener(
        key="k", sent_seq=0, received_at=time.monotonic(), log_grown=lambda: seen.append("grown"),
        send_ephemeral=lambda message: seen.append(message["type"]), leave=seen.append,
    )  # fmt: skip
    try:
        await asyncio.sleep(0.05)
        await there.join(socket)
        here.send("k", {"type": "message.delta"})
        here.ring("k")  # the answer is in the log
        here.send("k", {"type": "run.started"})  # the next one begins
        await asyncio.sleep(0.2)
        assert seen == ["message.delta", "grown", "run.started"]
    finally:
        here.close()
        there.close()


@pytest.mark.django_db(transaction=True)
async def test_after_a_short_outage_of_the_bell_no_conversation_stays_degraded(monkeypatch: Any) -> None:

    conversations = [await run_db(begun)() for _ in range(40)]
    keys = [conversation.secret_hash for conversation in conversations]
    house = process.Process.__new__(process.Process)
    house.hub = SimpleNamespace(
        sockets=lambda: [SimpleNamespace(key=key) for key in keys], ring=lambda key: None, disconnected=False
    )
    house._mode_lock = asyncio.Lock()
    real = modes.set_degraded

    def slowly(pk: Any, *, degraded: bool) -> str:
        if degraded:
            time.sleep(0.01)
        return real(pk, degraded=degraded)

    monkeypatch.setattr(modes, "set_degraded", slowly)
    house.hub.disconnected = True
    house._on_change()
    first = house._publishing
    await asyncio.sleep(0.1)
    house.hub.disconnected = False
    house._on_change()
    await asyncio.gather(first, house._publishing)
    left = await run_db(Conversation.objects.filter(mode="degraded").count)()
    assert left == 0


# -- Sockets -------------------------------------------------------------------------------------------------------
def socket_of(monkeypatch: Any) -> tuple[consumer.ChatConsumer, list[dict[str, Any]]]:
    """A consumer with a hello behind it, and what it pushes."""
    socket = consumer.ChatConsumer()
    pushed: list[dict[str, Any]] = []
    socket.ready, socket.key = True, "k"
    monkeypatch.setattr(socket, "push", pushed.append)
    return socket, pushed


async def test_no_progress_is_sent_after_the_end_of_a_run(monkeypatch: Any) -> None:
    gate = asyncio.Event()

    def run_db(function: Any) -> Any:
        async def slow(*args: Any) -> Any:
            await gate.wait()
            return {"run_id": "r", "attempt": 1, "calls": [], "text": "Half an ans"}

        return slow

    monkeypatch.setattr(chat_socket, "run_urgent", run_db)
    socket, pushed = socket_of(monkeypatch)
    socket.send_ephemeral(
        {"type": "message.delta", "run_id": "r", "offset": 5, "text": "an ans"}
    )  # a hole: it is read
    await asyncio.sleep(0)
    socket._deliver({"type": "message.completed", "role": "assistant", "run_id": "r", "seq": 2})
    gate.set()
    await asyncio.sleep(0.01)
    assert [frame["type"] for frame in pushed] == ["message.completed", "run.completed"]


async def test_progress_of_a_quick_run_is_sent_before_its_end(monkeypatch: Any) -> None:
    gate = asyncio.Event()

    def run_urgent(function: Any) -> Any:
        async def slow(*args: Any) -> Any:
            await gate.wait()
            asked = {"type": "message.completed", "role": "user", "seq": 1}
            return [asked, {"type": "message.completed", "role": "assistant", "run_id": "r", "seq": 2}]

        return slow

    monkeypatch.setattr(chat_socket, "run_urgent", run_urgent)
    socket, pushed = socket_of(monkeypatch)
    socket.log_grown()  # the message: the log is being read while its run begins, calls a tool and ends
    for kind in ("run.started", "tool.started", "tool.finished"):
        socket.send_ephemeral({"type": kind, "run_id": "r"})
    socket.send_ephemeral({"type": "run.started", "run_id": "next"})
    gate.set()
    await asyncio.sleep(0.01)
    assert [(frame["type"], frame.get("run_id")) for frame in pushed] == [
        ("message.completed", None),
        ("run.started", "r"),
        ("tool.started", "r"),
        ("tool.finished", "r"),
        ("message.completed", "r"),
        ("run.completed", "r"),
        ("run.started", "next"),
    ]


def test_reading_the_progress_does_not_prevent_storing_it() -> None:
    here = progress.RunProgress(RecordingHub(), "k", uuid4(), 1)
    here.say("Half an answer")
    here.snapshot()  # a second tab says hello
    assert here.changed


async def test_a_hello_that_fails_half_way_reports_an_error_and_closes_the_socket(monkeypatch: Any) -> None:
    """Its key is known by then: left open, it would hear nothing and could not say hello again."""
    sent: list[str] = []

    async def half(socket: Any, frame: Any) -> None:
        socket.conversation_id, socket.key = uuid4(), "k"
        raise RuntimeError

    async def send(text_data: str) -> None:
        sent.append(json.loads(text_data)["code"])

    async def close(code: int) -> None:
        sent.append(str(code))

    monkeypatch.setitem(consumer.HANDLERS, protocol.Hello, half)
    socket = consumer.ChatConsumer()
    socket._frames = consumer.FrameAllowance()
    monkeypatch.setattr(socket, "send", send)
    monkeypatch.setattr(socket, "close", close)
    await socket.receive(text_data='{"v": 1, "type": "hello"}')
    async with asyncio.timeout(5):
        while len(sent) < 2:
            await asyncio.sleep(0.01)
    assert sent == ["internal", "1012"]


# -- Cancelling ----------------------------------------------------------------------------------------------------
@pytest.mark.django_db(transaction=True)
async def test_a_cancelled_run_stops_working_and_the_next_is_answered(demo_committed: None) -> None:
    began, ended = asyncio.Event(), []

    async def slow(claim: runs.Claim, here: progress.RunProgress) -> None:
        if not began.is_set():
            began.set()
            try:
                await asyncio.sleep(60)
            finally:
                ended.append("stopped")
        ended.append(str(claim.run.input_seq))
        await run_db(runs.run_fail)(claim.run, "internal")

    def send() -> None:
        accept.message_accept(conversation_id=conversation.pk, client_msg_id=uuid4(), text="hi", address=HERE)

    conversation = await run_db(begun)()
    ours = runner.Runner(SimpleNamespace(send=lambda *a: None, ring=lambda key: None), slow)
    try:
        await run_db(send)()
        await run_db(send)()
        ours.wake(conversation.pk)
        await asyncio.wait_for(began.wait(), 10)
        run_id = await run_db(accept.run_cancel)(conversation_id=conversation.pk)
        ours.stop(run_id)
        async with asyncio.timeout(10):
            while await run_db(conversation.runs.filter(state__in=runs.OPEN).exists)():
                await asyncio.sleep(0.1)
    finally:
        await ours.drain(0)
    # Not the first one's answer, and no wait for its 60 seconds.
    assert ended == ["stopped", "2"]
    states = await run_db(
        lambda: list(conversation.runs.order_by("input_seq").values_list("state", flat=True))
    )()
    assert states == ["cancelled", "failed"]


# -- Tasks that may not die ---------------------------------------------------------------------------------------
@pytest.mark.django_db(transaction=True)
async def test_the_sweep_goes_on_after_an_error_of_the_operating_system(
    monkeypatch: Any, settings: Any
) -> None:
    settings.CHAT_SWEEP = 0.05
    looks: list[int] = []

    def abandoned() -> list[Any]:
        looks.append(1)
        if len(looks) == 1:
            raise OSError(24, "Too many open files")
        return []

    monkeypatch.setattr(runs, "runs_abandoned", abandoned)
    ours = runner.Runner(SimpleNamespace(), None)
    await asyncio.sleep(0.5)
    await ours.drain(0)
    assert len(looks) > 1


async def test_a_shutdown_keeps_its_time_limit_while_a_run_is_being_claimed(monkeypatch: Any) -> None:
    run = SimpleNamespace(
        pk=uuid4(), conversation_id=uuid4(), attempts=1, conversation=SimpleNamespace(secret_hash="k")
    )
    claimed = SimpleNamespace(run=run, conversation=run.conversation)

    def run_db(function: Any) -> Any:
        async def call(*args: Any) -> Any:
            found = function(*args) if function == ours._claim else function is not runs.runs_abandoned or []
            await asyncio.sleep(0.2)
            return found

        return call

    async def long(run: Any, live: Any) -> None:
        await asyncio.sleep(20)

    monkeypatch.setattr(runs, "run_claim", lambda conversation_id: claimed)
    monkeypatch.setattr(runner, "run_db", run_db)
    ours = runner.Runner(SimpleNamespace(send=lambda *a: None, ring=lambda key: None), long)
    ours.wake(run.conversation_id)
    await asyncio.sleep(0.1)  # the claim is on its way
    started = time.monotonic()
    await asyncio.wait_for(ours.drain(1), 5)
    assert time.monotonic() - started < 2


async def test_a_database_that_does_not_answer_does_not_prevent_shutdown(monkeypatch: Any) -> None:
    def hanging(function: Any) -> Any:
        async def call(*args: Any) -> Any:
            await asyncio.sleep(60)

        return call

    monkeypatch.setattr(runner, "run_db", hanging)
    monkeypatch.setattr(runner, "GIVE_BACK_SECONDS", 0.2)
    ours = runner.Runner(SimpleNamespace(), None)
    ours.wake(uuid4())
    await asyncio.sleep(0)
    await asyncio.wait_for(ours.drain(0.2), 5)


# -- Idle time ---------------------------------------------------------------------------------------------------
@pytest.mark.django_db(transaction=True)
def test_only_the_customers_activity_extends_the_verification(demo_committed: None) -> None:
    conversation = begun(
        patient=Patient.objects.first(),
        verified_at=timezone.now() - timedelta(minutes=20),
        active_at=timezone.now() - timedelta(minutes=16),
    )
    modes.set_degraded(conversation.pk, degraded=True)  # Redis fails while the customer is away
    accept.message_accept(conversation_id=conversation.pk, client_msg_id=uuid4(), text="hi", address=HERE)
    assert Conversation.objects.get(pk=conversation.pk).patient is None
