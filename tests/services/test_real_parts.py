"""The site with its real neighbours: Celery workers, a broker or Redis that is down, two web processes, a busy database."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from evaluation.chat import Chat

ROOT = Path(__file__).resolve().parents[2]
REDIS = os.environ["TEST_REDIS_URL"]
RABBIT = os.environ.get("TEST_AMQP_URL", "amqp://guest:guest@127.0.0.1:5672//")
CLOSED = "127.0.0.1:1"  # nobody listens there


def listening(address: str) -> bool:
    host, port = address.split("//")[1].split("@")[-1].strip("/").split("/")[0].split(":")
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((host, int(port))) == 0


def message(text: str) -> dict[str, Any]:
    return {"type": "message.send", "client_msg_id": str(uuid.uuid4()), "text": text}


def code_mailed(folder: Path, seconds: float = 20) -> str:
    """The code in the newest mail that a worker has sent."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        texts = [path.read_text() for path in folder.glob("*")] if folder.exists() else []
        digits = [word.strip(".:") for text in texts for word in text.split() if word.strip(".:").isdigit()]
        codes = [word for word in digits if len(word.strip(".:")) == 6]
        if codes:
            return codes[-1]
        time.sleep(0.1)
    raise AssertionError("no mail with a code was sent")


@pytest.mark.parametrize("broker", [REDIS, RABBIT], ids=["redis", "rabbitmq"])
def test_a_celery_worker_mails_the_code(site: Any, broker: str) -> None:
    from served_site import missing

    if not listening(broker):
        missing(broker.split(":")[0])
    # Another run of the tests on this machine must not take this one's tasks.
    own = {"DJANGO_SETTINGS_MODULE": "delivery_settings", "TEST_QUEUE": f"parts-{os.getpid()}"}
    env = {**site.env, **own, "CELERY_BROKER_URL": broker}
    command = [
        sys.executable,
        "-m",
        "celery",
        "-A",
        "pharmacy_site",
        "worker",
        "--pool",
        "solo",
        "-l",
        "WARNING",
    ]
    worker = subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:

        async def run(running: Any) -> None:
            async with Chat(running.ws_url, running.url, "en") as chat:
                await chat.ask(message("What prescriptions do I have?"))
                await chat.ask(message("david.cohen@example.com"))
                code = await asyncio.to_thread(code_mailed, site.mail)
                answer = await chat.ask({"type": "identity.code", "code": code})
                assert "David Cohen" in answer.text

        with site(CELERY_BROKER_URL=broker, **own) as running:
            asyncio.run(run(running))
    finally:
        worker.terminate()
        worker.wait(20)


def test_without_the_broker_the_chat_works_and_the_code_is_sent(site: Any) -> None:
    async def run(running: Any) -> None:
        async with Chat(running.ws_url, running.url, "en") as chat:
            await chat.ask(message("What prescriptions do I have?"))
            started = time.monotonic()
            await chat.ask(message("david.cohen@example.com"))
            assert time.monotonic() - started < 5
            assert await asyncio.to_thread(code_mailed, site.mail)

    with site(CELERY_BROKER_URL=f"redis://{CLOSED}/0") as running:
        asyncio.run(run(running))


def test_without_redis_the_chat_answers_from_the_database(site: Any) -> None:
    async def run(running: Any) -> None:
        async with Chat(running.ws_url, running.url, "en") as chat:
            await chat.send(message("Do you have Cetirizine?"))
            accepted = await chat.receive("message.accepted")
            while True:
                frame = await chat.receive("message.completed")
                if frame["role"] == "assistant":
                    assert frame["seq"] > accepted["seq"] and "200 units" in frame["text"]
                    return

    with site(REDIS_URL=f"redis://{CLOSED}/0") as running:
        asyncio.run(run(running))
        with urllib.request.urlopen(f"{running.url}/readyz", timeout=10) as ready:
            assert "degraded" in ready.read().decode().lower()


def test_two_web_processes_show_one_conversation(site: Any) -> None:
    from served_site import missing

    if connection.vendor != "postgresql":
        pytest.skip("several web processes need PostgreSQL; this run is on SQLite")
    if not listening(REDIS):
        missing("Redis")

    async def run(first: Any, second: Any) -> None:
        async with Chat(first.ws_url, first.url, "en") as chat:
            other = Chat(second.ws_url, second.url, "en")
            from websockets.asyncio.client import connect

            other.socket = await connect(second.ws_url, origin=second.url)
            await other.send({"type": "hello", "conversation": chat.secret})
            await other.receive("hello.ok")
            await chat.ask(message("Do you have Cetirizine?"))
            seen = [await other.receive("message.completed") for _ in range(2)]
            assert [frame["role"] for frame in seen] == ["user", "assistant"]
            await other.ask(message("does it need a prescription?"))
            assert (await chat.receive("message.completed"))["text"] == "does it need a prescription?"
            await other.socket.close()

    with site(REDIS_URL=REDIS) as first, site(REDIS_URL=REDIS) as second:
        asyncio.run(run(first, second))


def test_a_busy_database_is_reported_and_the_message_can_be_sent_again(site: Any, tmp_path: Path) -> None:
    url = site.env["DATABASE_URL"]

    @contextmanager
    def locked() -> Iterator[None]:
        if url.startswith("sqlite"):
            import sqlite3

            holder = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
            holder.execute("BEGIN IMMEDIATE")
            yield
            holder.execute("ROLLBACK")
            holder.close()
        else:
            import psycopg

            with psycopg.connect(url) as holder:
                holder.execute("LOCK TABLE agent_conversation IN EXCLUSIVE MODE")
                yield
                holder.rollback()

    async def run(running: Any) -> None:
        async with Chat(running.ws_url, running.url, "en") as chat:
            frame = message("Do you have Cetirizine?")
            with locked():
                await chat.send(frame)
                error = await chat.receive("error")
                assert (error["code"], error["retryable"]) == ("busy", True)
                assert error["client_msg_id"] == frame["client_msg_id"]
            answer = await chat.ask(frame)
            assert "200 units" in answer.text

    with site(DATABASE_LOCK_TIMEOUT="1") as running:
        asyncio.run(run(running))


def test_log_lines_contain_no_messages_and_no_personal_data(site: Any, tmp_path: Path) -> None:
    async def run(running: Any) -> None:
        async with Chat(running.ws_url, running.url, "en") as chat:
            await chat.ask(message("What prescriptions do I have? I was born 1965-03-15, canary-phrase"))
            await chat.ask(message("john.doe@example.com"))
            code = await asyncio.to_thread(code_mailed, site.mail)
            await chat.ask(message(code))
            await chat.ask(message("refill my lisinopril"))
        body = json.dumps({"user_identifier": "john.doe@example.com", "action": "LIST"}).encode()
        request = urllib.request.Request(f"{running.url}/api/v1/tools/prescription_management/", body)
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(request, timeout=5)
        log = "\n".join(path.read_text() for path in tmp_path.glob("*.log"))
        for canary in (
            "canary-phrase",
            "john.doe",
            "John Doe",
            "1965-03-15",
            "lisinopril",
            "Lisinopril",
            code,
            chat.secret,
        ):
            assert canary not in log

    with site() as running:
        asyncio.run(run(running))
