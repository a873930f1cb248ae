"""Nothing that was accepted is lost, doubled or reordered: processes killed, Redis cut and flushed, readers that do not read.

The rows of safety.md in small: A1, A2, A3, B7's chat part, D2, D5, D7.
"""

import asyncio
import json
import os
import random
import signal
import socket
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import connection
from lines import Line
from served_site import missing
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from evaluation.chat import Chat

REDIS = os.environ["TEST_REDIS_URL"]
ASKED = "Do you have Cetirizine?"
pytestmark = pytest.mark.django_db(databases=[])


def needs_redis() -> None:
    with socket.socket() as probe:
        probe.settimeout(1)
        if probe.connect_ex(("127.0.0.1", 6379)):
            missing("Redis")


def needs_several_processes() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("several web processes need PostgreSQL; this run is on SQLite")
    needs_redis()


def message(text: str = ASKED, client_msg_id: str | None = None) -> dict[str, Any]:
    return {"type": "message.send", "client_msg_id": client_msg_id or str(uuid.uuid4()), "text": text}


@asynccontextmanager
async def back(site: Any, secret: str, **hello: Any) -> AsyncIterator[tuple[Chat, dict[str, Any]]]:
    """The same conversation on a new socket, with what hello.ok said."""
    chat = Chat(site.ws_url, site.url, "en")
    chat.socket = await connect(site.ws_url, origin=site.url)
    chat.secret = secret
    try:
        await chat.send({"type": "hello", "conversation": secret, **hello})
        yield chat, await chat.receive("hello.ok")
    finally:
        await chat.socket.close()


def ended(events: list[dict[str, Any]]) -> int:
    """How many messages have an answer, or failed after several processes died at them, which the customer sees."""
    return sum(event.get("role") == "assistant" or event["type"] == "run.failed" for event in events)


async def answers(site: Any, secret: str, number: int, seconds: float = 45) -> list[dict[str, Any]]:
    """The whole log of a conversation once so many messages have ended; nothing may be missing or double."""
    until = time.monotonic() + seconds
    while True:
        async with back(site, secret) as (_, hello):
            if ended(hello["events"]) >= number:
                await asyncio.sleep(0.3)  # a second answer would come now
                async with back(site, secret) as (_, again):
                    events: list[dict[str, Any]] = again["events"]
                assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
                assert ended(events) == number
                return events
        assert time.monotonic() < until, "not answered in time"
        await asyncio.sleep(0.2)


# -- Processes that die (A1) ---------------------------------------------------------------------------------
def test_a_killed_process_loses_no_accepted_message(site: Any) -> None:
    chance = random.Random(11)
    rounds = 4

    async def begun(running: Any) -> str:
        async with Chat(running.ws_url, running.url, "en") as chat:
            return chat.secret

    async def asked(running: Any, secret: str) -> None:
        async with back(running, secret) as (chat, _):
            await chat.send(message())
            await chat.receive("message.accepted")
            await asyncio.sleep(chance.random() * 0.12)
            running.process.send_signal(signal.SIGKILL)

    with site() as running:
        secret = asyncio.run(begun(running))
    for _ in range(rounds):
        with site() as running:
            asyncio.run(asked(running, secret))
    with site() as running:
        started = time.monotonic()
        events = asyncio.run(answers(running, secret, rounds))
        assert time.monotonic() - started < 15  # at once: it was the only process, and it is dead
    assert sum(event.get("role") == "user" for event in events) == rounds


def test_a_restarted_process_continues_its_interrupted_runs(site: Any) -> None:
    async def begun(running: Any) -> str:
        async with Chat(running.ws_url, running.url, "en") as chat:
            await chat.send(message())
            await chat.receive("message.delta")
            return chat.secret

    async def watched(running: Any, secret: str) -> None:
        async with back(running, secret) as (chat, hello):
            if not any(event.get("role") == "assistant" for event in hello["events"]):
                await chat.receive("message.completed")

    with site.slow_answers(5), site() as running:
        secret = asyncio.run(begun(running))
        running.process.send_signal(signal.SIGKILL)
        running.process.wait()
    assert site.sql("SELECT state, attempts FROM agent_run") == [("running", 1)]
    with site() as running:
        started = time.monotonic()
        asyncio.run(watched(running, secret))
        assert time.monotonic() - started < 10
        asyncio.run(answers(running, secret, 1))
    assert site.sql("SELECT state, attempts FROM agent_run") == [("done", 2)]
    assert len(site.sql("SELECT id FROM agent_toolcall")) == 2  # of the attempt that counts


def test_another_process_continues_the_run_of_a_killed_one(site: Any) -> None:
    needs_several_processes()

    async def run(first: Any, second: Any) -> None:
        async with Chat(first.ws_url, first.url, "en") as chat:
            await chat.send({"type": "handoff.request"})
            await chat.receive("run.completed")
            with site.slow_answers(8):
                await chat.send(message())
                await chat.receive("message.delta")
                first.process.send_signal(signal.SIGKILL)
                first.process.wait()
            started = time.monotonic()
            events = await answers(second, chat.secret, 2)
            assert time.monotonic() - started < 45
            assert sum(event["type"] == "handoff.updated" for event in events) == 1

    with site(REDIS_URL=REDIS) as first, site(REDIS_URL=REDIS) as second:
        asyncio.run(run(first, second))


def test_a_run_that_crashes_its_processes_fails_visibly(site: Any) -> None:
    with site() as running:

        async def accepted() -> str:
            async with Chat(running.ws_url, running.url, "en") as chat:
                await chat.send(message())
                await chat.receive("message.accepted")
                return chat.secret

        secret = asyncio.run(accepted())
        asyncio.run(answers(running, secret, 1))
    site.sql(
        "DELETE FROM agent_toolcall",
        "DELETE FROM agent_event WHERE seq = 2",
        "UPDATE agent_conversation SET seq_head = 1",
        "UPDATE agent_run SET state = 'running', attempts = 3, lease_owner = 'elsewhere',"
        " lease_until = '2020-01-01 00:00:00+00'",
    )
    with site() as running:

        async def failed() -> dict[str, Any]:
            async with back(running, secret, last_seq=1) as (chat, hello):
                return hello["events"][0] if hello["events"] else await chat.receive("run.failed")

        told = asyncio.run(failed())
        assert (told["type"], told["seq"], told["retryable"]) == ("run.failed", 2, True)


@pytest.mark.parametrize("server", ["uvicorn", "daphne"])
def test_a_terminated_process_finishes_its_answers(site: Any, server: str) -> None:
    async def run(running: Any) -> tuple[str, int]:
        async with Chat(running.ws_url, running.url, "en") as chat:
            await chat.send(message())
            await chat.receive("message.delta")
            running.process.send_signal(signal.SIGTERM)
            with pytest.raises(ConnectionClosed):
                while True:
                    await asyncio.wait_for(chat.socket.recv(), 30)
            await asyncio.to_thread(running.process.wait, 30)
            return chat.secret, int(chat.socket.close_code or 0)

    with site.slow_answers(2), site(server) as running:
        _, code = asyncio.run(run(running))
    assert code == 1012 or server == "daphne"  # daphne drops its sockets when it ends
    assert site.sql("SELECT state, attempts FROM agent_run") == [("done", 1)]


# -- Coming back in the middle of an answer --------------------------------------------------------------------
def test_a_client_that_reconnects_during_an_answer_gets_one_delta_and_then_the_rest(site: Any) -> None:
    async def run(running: Any) -> None:
        async with Chat(running.ws_url, running.url, "en") as chat:
            await chat.send(message())
            run_id = (await chat.receive("run.started"))["run_id"]
            text = ""
            while len(text) < 40:
                text += (await chat.receive("message.delta"))["text"]
            secret = chat.secret
        async with back(running, secret) as (chat, hello):
            assert hello["active_run"] == {"run_id": run_id}
            assert (await chat.receive())["type"] == "run.started"
            frames = [await chat.receive() for _ in range(3)]
            assert [frame["type"] for frame in frames] == ["tool.started", "tool.finished", "tool.started"]
            assert (await chat.receive())["type"] == "tool.finished"
            whole = await chat.receive()
            assert (whole["type"], whole["offset"]) == ("message.delta", 0)
        active = {"run_id": run_id, "offset": 20, "attempt": 1}
        async with back(running, secret, active_run=active) as (chat, _):
            rest = await chat.receive("message.delta")
            assert (rest["offset"], rest["text"]) == (20, whole["text"][20:])
            completed = await chat.receive("message.completed")
            assert completed["text"].startswith(whole["text"])

    with site.slow_answers(3), site() as running:
        asyncio.run(run(running))


def test_a_cancelled_run_sends_nothing_more_and_the_next_one_is_answered(site: Any) -> None:
    async def run(running: Any) -> None:
        async with Chat(running.ws_url, running.url, "en") as chat:
            await chat.send({"type": "run.cancel"})  # nothing to cancel: nothing happens
            with site.slow_answers(2):
                await chat.send(message())
                run_id = (await chat.receive("run.started"))["run_id"]
                await chat.receive("tool.started")
                await chat.send({"type": "run.cancel"})
                cancelled = await chat.receive("run.cancelled", "message.completed")
                while cancelled.get("role") == "user":
                    cancelled = await chat.receive("run.cancelled", "message.completed")
            if cancelled["type"] == "run.cancelled":
                assert cancelled["run_id"] == run_id
            else:  # it was too late, and the answer is valid
                await chat.receive("run.completed")
            await chat.ask(message("Do you have Omeprazole?"))
        async with back(running, chat.secret) as (_, hello):
            said = [event for event in hello["events"] if event.get("role") == "assistant"]
            assert len([event for event in said if event["run_id"] == run_id]) == (
                cancelled["type"] != "run.cancelled"
            )
            assert len([event for event in said if event["run_id"] != run_id]) == 1

    with site() as running:
        asyncio.run(run(running))


# -- The bell is lost (B7) --------------------------------------------------------------------------------------
def test_two_processes_show_one_conversation_while_redis_is_lost_flushed_and_restored(site: Any) -> None:
    needs_several_processes()
    line = Line(6379)
    url = line.url.replace("http://", "redis://") + urlsplit(REDIS).path

    modes: dict[int, str] = {}

    async def heard(chat: Chat) -> dict[str, Any]:
        frame = await chat.receive("message.completed", "mode.changed")
        if frame["type"] == "mode.changed":
            modes[id(chat)] = frame["mode"]
        return frame

    async def seen(chat: Chat, text: str, seconds: float) -> None:
        started = time.monotonic()
        while (await heard(chat)).get("text") != text:
            pass
        assert time.monotonic() - started < seconds

    async def mode(chat: Chat, wanted: str) -> None:
        while modes.get(id(chat)) != wanted:
            await heard(chat)

    async def run(first: Any, second: Any) -> None:
        async with Chat(first.ws_url, first.url, "en") as near, back(second, near.secret) as (far, _):
            await near.send(message("one, Cetirizine?"))
            await seen(far, "one, Cetirizine?", 3)
            line.cut()
            await near.send(message("two, Cetirizine?"))
            await seen(near, "two, Cetirizine?", 3)
            await seen(far, "two, Cetirizine?", 9)
            await mode(near, "degraded")
            await near.send(message("three, Cetirizine?"))
            await seen(far, "three, Cetirizine?", 4)  # the log is read every second now
            async with back(first, near.secret) as (_, hello):
                assert hello["mode"] == "degraded"
            line.mend()
            await mode(near, "bot")
            await mode(far, "bot")
            await near.send(message("four, Cetirizine?"))
            await seen(far, "four, Cetirizine?", 4)
            import redis

            redis.Redis.from_url(REDIS).flushdb()
            await near.send(message("five, Cetirizine?"))
            await seen(far, "five, Cetirizine?", 6)
            await answers(second, near.secret, 5)

    try:
        with site(REDIS_URL=url) as first, site(REDIS_URL=url) as second:
            asyncio.run(run(first, second))
    finally:
        line.close()


# -- Too many, too slow (D2, D5) --------------------------------------------------------------------------------
def test_sockets_beyond_the_limit_of_an_address_are_refused_and_others_keep_working(site: Any) -> None:
    async def run(running: Any) -> None:
        async with Chat(running.ws_url, running.url, "en") as chat:
            half_open = [
                socket.create_connection(("127.0.0.1", int(running.url.rsplit(":", 1)[1]))) for _ in range(20)
            ]
            opened, refused = [], 0
            for _ in range(12):
                try:
                    opened.append(await connect(running.ws_url, origin=running.url))
                except Exception as error:  # refused at the handshake
                    refused += "429" in str(error)
            assert (len(opened), refused) == (9, 3)
            assert (await chat.ask(message())).texts
            for one in opened:
                await one.close()
            async with Chat(running.ws_url, running.url, "en") as again:
                assert (await again.ask(message())).texts
            for one in half_open:  # closed by the server, since they sent no request
                one.settimeout(15)
                assert one.recv(1) == b""
                one.close()

    with site(CHAT_SOCKETS_OPEN="10") as running:
        asyncio.run(run(running))


@pytest.mark.parametrize("frames", ["20", "1000000"])
def test_a_client_that_does_not_read_is_disconnected_without_affecting_others(site: Any, frames: str) -> None:
    """Whether the limit on what it sends stops it, or the queue of what it is to read."""

    def flood(running: Any) -> bool:
        """Asks for errors and reads none of them; True when the server has hung up."""
        port = int(running.url.rsplit(":", 1)[1])
        raw = socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_304)
        raw.connect(("127.0.0.1", port))
        raw.sendall(
            (
                f"GET /ws/chat/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: {running.url}\r\nUpgrade: websocket\r\n"
                "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
                "MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"
            ).encode()
        )
        body = json.dumps({"v": 1, "type": "hello"}).encode()
        raw.sendall(bytes([0x81, 0x80 | len(body)]) + b"\0\0\0\0" + body)
        nonsense = bytes([0x81, 0x80 | 2]) + b"\0\0\0\0" + b"{}"
        raw.settimeout(5)
        until = time.monotonic() + 40
        try:
            while time.monotonic() < until:
                raw.sendall(nonsense * 500)
        except (TimeoutError, OSError):
            return True
        finally:
            raw.close()
        return False

    async def run(running: Any) -> None:
        async with Chat(running.ws_url, running.url, "en") as chat:
            before = await settled(running.process.pid)
            flooding = asyncio.create_task(asyncio.to_thread(flood, running))
            slowest = 0.0
            while not flooding.done():
                started = time.monotonic()
                assert (await chat.ask(message())).texts
                slowest = max(slowest, time.monotonic() - started)
                await asyncio.sleep(2)
            assert await flooding
            assert slowest < 10
            assert resident(running.process.pid) - before < 50_000_000

    with site(CHAT_MESSAGES_PER_MINUTE="1000", CHAT_FRAMES_PER_SECOND=frames) as running:
        asyncio.run(run(running))


async def settled(pid: int) -> int:
    """Bytes of memory that a process holds once it has loaded what it loads after its start: it grows no more for two seconds."""
    until, since, held = time.monotonic() + 40, time.monotonic(), 0
    while time.monotonic() < until and time.monotonic() - since < 2:
        await asyncio.sleep(0.2)
        now = resident(pid)
        if now > held + 1_000_000:
            held, since = now, time.monotonic()
    return held


def resident(pid: int) -> int:
    """Bytes of memory that a process holds."""
    with open(f"/proc/{pid}/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
