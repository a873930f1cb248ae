"""Limits that only a served site shows: sockets that come at once, slow senders, the last words, a Redis that hangs."""

import asyncio
import json
import signal
import socket
import threading
import uuid
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from evaluation.chat import Chat

pytestmark = pytest.mark.django_db(databases=[])


def test_simultaneous_sockets_are_counted_against_the_limit(site: Any) -> None:
    async def run(running: Any) -> tuple[int, set[int]]:
        came = await asyncio.gather(
            *(connect(running.ws_url, origin=running.url) for _ in range(60)), return_exceptions=True
        )
        refused = {each.response.status_code for each in came if isinstance(each, InvalidStatus)}
        opened = [each for each in came if not isinstance(each, BaseException)]
        await asyncio.gather(*(each.close() for each in opened))
        return len(opened), refused

    with site(CHAT_SOCKETS_OPEN="5") as running:
        assert asyncio.run(run(running)) == (5, {429})


def test_a_client_that_sends_one_byte_is_disconnected(site: Any) -> None:
    with site() as running:
        one = socket.create_connection(("127.0.0.1", int(running.url.rsplit(":", 1)[1])))
        one.sendall(b"G")
        one.settimeout(20)
        try:
            assert one.recv(1) == b""
        finally:
            one.close()


@pytest.mark.parametrize(
    "body",
    ["Content-Length: 40", "Transfer-Encoding: chunked", "Content-Length: 5\r\nTransfer-Encoding: chunked"],
)
def test_a_handshake_with_a_body_is_refused_and_what_is_in_it_is_not_answered(site: Any, body: str) -> None:
    """The client must not be left waiting: such a connection is counted by no limit."""
    with site() as running:
        host = running.url.removeprefix("http://")
        head = (
            f"GET /ws/chat/ HTTP/1.1\r\nHost: {host}\r\nOrigin: {running.url}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{body}\r\n\r\n"
        )
        inner = f"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", int(host.rsplit(":", 1)[1]))) as one:
            one.settimeout(20)
            one.sendall((head + inner).encode())
            came = b""
            while piece := one.recv(65_536):
                came += piece
    assert came.startswith(b"HTTP/1.1 400 ") and came.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize("server", ["uvicorn", "daphne"])
def test_an_answer_that_is_streamed_at_shutdown_is_sent_to_its_end(site: Any, server: str) -> None:
    """D7: finish turns, then close 1012."""

    async def run(running: Any) -> tuple[list[str], int | None]:
        seen = []
        async with Chat(running.ws_url, running.url, "en") as chat:
            frame = {
                "type": "message.send",
                "client_msg_id": str(uuid.uuid4()),
                "text": "Do you have Cetirizine?",
            }
            await chat.send(frame)
            await chat.receive("message.delta")
            running.process.send_signal(signal.SIGTERM)
            try:
                while True:
                    got = json.loads(await asyncio.wait_for(chat.socket.recv(), 30))
                    seen.append(f"{got['type']} {got.get('role', '')}")
            except ConnectionClosed:
                pass
            return seen, chat.socket.close_code

    with site.slow_answers(2), site(server) as running:
        seen, code = asyncio.run(run(running))
    assert "message.completed assistant" in seen
    assert code == 1012 or server == "daphne"  # daphne drops its sockets when it ends


def test_clients_are_admitted_although_redis_does_not_answer(site: Any) -> None:
    """Not refused, not cut: it takes connections and never answers (a stopped process, a full disk)."""
    listener = socket.create_server(("127.0.0.1", 0))
    kept: list[socket.socket] = []

    def take() -> None:
        while True:
            try:
                kept.append(listener.accept()[0])
            except OSError:
                return

    taking = threading.Thread(target=take, daemon=True)
    taking.start()

    async def run(running: Any) -> int:
        async def one() -> bool:
            try:
                socket = await connect(running.ws_url, origin=running.url, open_timeout=10)
                await socket.send(json.dumps({"v": 1, "type": "hello"}))
                await asyncio.wait_for(socket.recv(), 10)
                await socket.close()
            except (OSError, TimeoutError, ConnectionClosed):
                return False
            return True

        return sum(await asyncio.gather(*(one() for _ in range(40))))

    with site(REDIS_URL=f"redis://127.0.0.1:{listener.getsockname()[1]}/0") as running:
        came_in = asyncio.run(run(running))
    listener.shutdown(socket.SHUT_RDWR)  # `accept` in the thread would go on after a mere close
    taking.join(10)
    for one in (listener, *kept):
        one.close()
    assert came_in == 40


def test_a_lone_surrogate_gets_an_error(site: Any) -> None:
    async def run(running: Any) -> None:
        async with Chat(running.ws_url, running.url, "en") as chat:
            await chat.socket.send('{"v":1,"type":"message.send","client_msg_id":"\\ud800","text":"hi"}')
            got = json.loads(await asyncio.wait_for(chat.socket.recv(), 5))
            assert got["code"] == "bad_frame"

    with site() as running:
        asyncio.run(run(running))
