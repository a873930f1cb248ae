"""Floods of frames, sockets and conversations: what is refused, how the client learns when to come back, and what it costs."""

import asyncio
import json
import os
import socket
import threading
import time
import uuid
from contextlib import suppress
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from agent.chat import admission
from agent.chat.admission import FrameAllowance

pytestmark = pytest.mark.django_db(databases=[])
FLOODED = 4429


def frame(kind: str, **fields: Any) -> str:
    return json.dumps({"v": 1, "type": kind, **fields})


def message() -> str:
    return frame("message.send", client_msg_id=str(uuid.uuid4()), text="Do you have Advil?")


async def opened(
    running: Any, secret: str = "", lang: str = "en", **more: Any
) -> tuple[ClientConnection, Any]:
    """A socket that has said hello, and the answer to it."""
    socket = await connect(running.ws_url, origin=running.url, **more)
    await socket.send(frame("hello", lang=lang, **({"conversation": secret} if secret else {})))
    return socket, json.loads(await asyncio.wait_for(socket.recv(), 20))


async def flooded(socket: ClientConnection, frames: list[Any]) -> tuple[list[Any], int | None]:
    """What comes for frames that are sent as fast as the line takes them, and with which code the socket is closed."""
    got: list[Any] = []

    async def read() -> None:
        try:
            while True:
                got.append(json.loads(await asyncio.wait_for(socket.recv(), 10)))
        except (ConnectionClosed, TimeoutError):
            pass

    reader = asyncio.create_task(read())
    try:
        for one in frames:
            await socket.send(one)
    except ConnectionClosed:
        pass
    await reader
    return got, socket.close_code


# -- Frames ------------------------------------------------------------------------------------------------------
def test_a_flood_of_frames_of_any_kind_gets_one_error_and_is_closed(site: Any) -> None:
    async def run(running: Any, sent: Any) -> None:
        socket, hello = await opened(running)
        got, code = await flooded(socket, [sent] * 1_000)
        # Three seconds' worth at once, and what was allowed meanwhile.
        assert 30 <= len(got) <= 45
        last = got[-1]
        assert (last["type"], last["code"], last["retryable"], last["retry_after"]) == (
            *("error", "rate_limited", True, 1),
        )
        assert "connect again in a moment" in last["message"]
        assert [one for one in got if one.get("code") == "rate_limited"] == [last]
        assert code == FLOODED
        # Who comes back more slowly is answered.
        again, hello = await opened(running, hello["conversation"], "he")
        assert hello["type"] == "hello.ok"
        await again.send(frame("ping"))
        assert json.loads(await asyncio.wait_for(again.recv(), 5)) == {"v": 1, "type": "pong"}
        await again.close()

    with site(CHAT_FRAMES_PER_SECOND="10") as running:
        for sent in (frame("ping"), "no json", b"\0", frame("hello")):
            asyncio.run(run(running, sent))


def test_frames_that_are_refused_reach_no_database(site: Any) -> None:
    """All are messages that could be accepted: the rows are those of the burst, whatever else came."""

    async def run(running: Any) -> int:
        socket, _ = await opened(running)
        got, code = await flooded(socket, [message() for _ in range(600)])
        assert code == FLOODED
        return sum(one["type"] == "message.accepted" for one in got)

    # Only frames are limited here: the daily limit of 200 would hide that more were accepted.
    no_other = dict.fromkeys(("CHAT_MESSAGES_PER_MINUTE", "CHAT_MESSAGES_PER_DAY"), "100000")
    with site(CHAT_FRAMES_PER_SECOND="10", **no_other) as running:
        began = time.monotonic()
        accepted = asyncio.run(run(running))
        seconds = time.monotonic() - began
    # A slow machine takes seconds for all, and each second allows ten more.
    assert 10 <= accepted < 90 + 10 * seconds


def test_a_flood_does_not_hold_up_other_customers(site: Any) -> None:
    async def attack(running: Any, until: float) -> int:
        refused = 0
        while time.monotonic() < until:
            socket, hello = await opened(running)
            if hello["type"] == "hello.ok":
                _, code = await flooded(socket, [frame("ping")] * 2_000)
                refused += code == FLOODED
        return refused

    async def run(running: Any) -> None:
        socket, _ = await opened(running)
        attackers = [asyncio.create_task(attack(running, time.monotonic() + 5)) for _ in range(3)]
        waits = []
        while not all(one.done() for one in attackers):
            began = time.monotonic()
            await socket.send(frame("ping"))
            await asyncio.wait_for(socket.recv(), 10)
            waits.append(time.monotonic() - began)
            await asyncio.sleep(0.2)
        assert sum([await one for one in attackers]) >= 3
        assert sorted(waits)[len(waits) // 2] < 0.5
        await socket.close()

    with site() as running:
        asyncio.run(run(running))


def test_who_goes_on_sending_after_the_close_is_dropped(site: Any) -> None:
    """A client that answers no close would be heard for ten seconds, at the cost of all others."""

    def seconds(running: Any) -> float:
        host = running.url.removeprefix("http://")
        with socket.create_connection(("127.0.0.1", int(host.rpartition(":")[2]))) as raw:
            raw.sendall(
                f"GET /ws/chat/ HTTP/1.1\r\nHost: {host}\r\nOrigin: {running.url}\r\nUpgrade: websocket\r\n"
                "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n".encode()
            )
            assert raw.recv(65_536).startswith(b"HTTP/1.1 101 ")
            threading.Thread(target=_read_all, args=(raw,), daemon=True).start()
            text = frame("ping").encode()
            ping = bytes([0x81, 0x80 | len(text)]) + b"\0\0\0\0" + text
            raw.settimeout(20)
            began = time.monotonic()
            with pytest.raises(OSError):
                while True:
                    raw.sendall(ping * 100)
            return time.monotonic() - began

    with site() as running:
        assert seconds(running) < 6


def _read_all(raw: socket.socket) -> None:
    with suppress(OSError):
        while raw.recv(65_536):
            pass


def test_an_allowance_fills_again_up_to_three_seconds(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.CHAT_FRAMES_PER_SECOND = 10
    now = 1_000.0
    monkeypatch.setattr(admission.time, "monotonic", lambda: now)

    def taken() -> int:
        return [allowance.take() for _ in range(100)].count(True)

    allowance = FrameAllowance()
    assert (taken(), taken()) == (30, 0)
    now += 0.5
    assert taken() == 5
    now += 3_600
    assert taken() == 30


def test_a_client_that_keeps_to_the_rate_is_never_refused(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.CHAT_FRAMES_PER_SECOND = 10
    now = 1_000.0
    monkeypatch.setattr(admission.time, "monotonic", lambda: now)
    allowance = FrameAllowance()
    for _ in range(10_000):
        now += 0.1001
        assert allowance.take()


# -- Conversations -----------------------------------------------------------------------------------------------
TOLD = {"en": "Please come back in", "he": "נא לחזור בעוד"}


def test_an_address_begins_only_so_many_conversations_in_an_hour(site: Any) -> None:
    async def run(running: Any) -> None:
        begun = [await opened(running) for _ in range(3)]
        assert [hello["type"] for _, hello in begun] == ["hello.ok"] * 3
        for lang, told in TOLD.items():
            socket, refused = await opened(running, lang=lang)
            assert (refused["type"], refused["code"], refused["retryable"]) == ("error", "rate_limited", True)
            assert 1 <= refused["retry_after"] <= 3_601
            assert told in refused["message"].replace("\u2068", "")
            with pytest.raises(ConnectionClosed):
                await asyncio.wait_for(socket.recv(), 10)
            assert socket.close_code == FLOODED
        # Who has a conversation goes on with it.
        socket, hello = await opened(running, begun[0][1]["conversation"])
        assert hello["type"] == "hello.ok"
        for one in (socket, *(socket for socket, _ in begun)):
            await one.close()

    with site(CHAT_CONVERSATIONS_PER_HOUR="3") as running:
        asyncio.run(run(running))


def test_behind_a_proxy_the_address_that_it_saw_is_counted(site: Any) -> None:
    async def run(running: Any) -> list[str]:
        # What a client writes before the proxy's own entry counts for nothing.
        sent = ["198.51.100.1", "198.51.100.1", "203.0.113.9, 198.51.100.1", "198.51.100.2"]
        kinds = []
        for forwarded in sent:
            socket, hello = await opened(running, additional_headers={"X-Forwarded-For": forwarded})
            kinds.append(hello["type"])
            await socket.close()
        return kinds

    with site(CHAT_CONVERSATIONS_PER_HOUR="2", TRUSTED_PROXIES="1") as running:
        assert asyncio.run(run(running)) == ["hello.ok", "hello.ok", "error", "hello.ok"]


def test_two_processes_count_conversations_together(site: Any) -> None:
    redis = pytest.importorskip("redis")
    url = os.environ["TEST_REDIS_URL"]
    try:
        redis.Redis.from_url(url).flushdb()
    except redis.ConnectionError:
        pytest.skip("Redis is missing")

    async def run(*sites: Any) -> list[str]:
        kinds = []
        for number in range(6):
            socket, hello = await opened(sites[number % 2])
            kinds.append(hello["type"])
            await socket.close()
        return kinds

    limits = {"REDIS_URL": url, "CHAT_CONVERSATIONS_PER_HOUR": "4"}
    with site(**limits) as first, site(**limits) as second:
        assert asyncio.run(run(first, second)) == ["hello.ok"] * 4 + ["error"] * 2


# -- Handshakes --------------------------------------------------------------------------------------------------
async def turned_away(running: Any, origin: str) -> Any:
    with pytest.raises(InvalidStatus) as refused:
        await connect(running.ws_url, origin=origin)  # type: ignore[arg-type]
    return refused.value.response


@pytest.mark.parametrize("limit", ["CHAT_SOCKETS_OPEN", "CHAT_SOCKETS_PER_MINUTE"])
def test_a_socket_too_many_is_told_when_to_come_back(site: Any, limit: str) -> None:
    async def run(running: Any) -> None:
        held = [await opened(running) for _ in range(2)]
        response = await turned_away(running, running.url)
        body = json.loads(response.body)
        assert (response.status_code, response.headers["Retry-After"]) == (429, "60")
        assert response.headers["Content-Type"] == "application/problem+json"
        assert body["status"] == 429 and body["detail"].endswith("onnect again in 60 seconds.")
        for one, _ in held:
            await one.close()

    with site(**{limit: "2"}) as running:
        asyncio.run(run(running))


def test_a_page_that_may_not_open_the_chat_is_told_what_to_do(site: Any) -> None:
    with site() as running:
        response = asyncio.run(turned_away(running, "https://evil.example"))
    assert response.status_code == 403 and "Retry-After" not in response.headers
    assert "Ask the pharmacy" in json.loads(response.body)["detail"]
