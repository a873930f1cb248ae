"""Any order of sending, sending again, dropping the line, coming back and cancelling: what a client has seen is the log."""

import asyncio
import json
import uuid
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from websockets.asyncio.client import ClientConnection, connect

TEXTS = [
    "Do you have Cetirizine?",
    "Does Advil need a prescription?",
    "שלום",
    "where is Jaffa branch",
    "thanks",
]


class Client:
    """One customer's page: stores what it receives, as a widget does."""

    def __init__(self, site: Any) -> None:
        self.site = site
        self.secret = ""
        self.last = 0
        self.events: list[dict[str, Any]] = []
        self.sent: dict[str, str] = {}
        self.accepted: dict[str, int] = {}
        self.socket: ClientConnection | None = None
        self.streams: dict[str, str] = {}

    async def open(self) -> None:
        self.socket = await connect(self.site.ws_url, origin=self.site.url)
        hello = {"type": "hello", "lang": "en", "last_seq": self.last}
        await self.send(hello | ({"conversation": self.secret} if self.secret else {}))
        self.streams.clear()
        while not await self.take("hello.ok"):
            pass

    async def drop(self) -> None:
        assert self.socket
        self.socket.transport.abort()  # no good-bye
        self.socket = None

    async def send(self, frame: dict[str, Any]) -> None:
        assert self.socket
        await self.socket.send(json.dumps({"v": 1, **frame}))

    async def take(self, wanted: str = "", seconds: float = 10) -> bool:
        """The next frame; whether it was of the wanted type."""
        assert self.socket
        frame = json.loads(await asyncio.wait_for(self.socket.recv(), seconds))
        kind = frame["type"]
        assert kind != "error", frame
        if kind == "hello.ok":
            self.secret = frame["conversation"]
            for event in frame["events"]:
                self.keep(event)
            assert frame["last_seq"] == self.last
        elif kind == "message.accepted":
            assert self.accepted.setdefault(frame["client_msg_id"], frame["seq"]) == frame["seq"]
        elif kind == "message.delta":
            said = self.streams.get(frame["run_id"], "")
            assert frame["offset"] == len(said)
            self.streams[frame["run_id"]] = said + frame["text"]
        elif "seq" in frame:
            self.keep(frame)
        return bool(kind == wanted)

    def keep(self, event: dict[str, Any]) -> None:
        assert event["seq"] == self.last + 1, "a hole, a double or an inversion"
        self.last = event["seq"]
        self.events.append(event)
        if event.get("role") == "assistant" and event["run_id"] in self.streams:
            assert event["text"].startswith(self.streams[event["run_id"]])

    async def settle(self) -> None:
        """Waits until every message that was sent has come to its end."""
        while True:
            ended = {
                event["run_id"]
                for event in self.events
                if event["type"] in ("run.failed", "run.cancelled") or event.get("role") == "assistant"
            }
            if len(self.accepted) == len(self.sent) == len(ended):
                return
            await self.take()

    async def replay(self) -> list[dict[str, Any]]:
        async with connect(self.site.ws_url, origin=self.site.url) as socket:
            await socket.send(json.dumps({"v": 1, "type": "hello", "conversation": self.secret}))
            return list(json.loads(await socket.recv())["events"])


class Actions(RuleBasedStateMachine):
    """What a page and its network can do."""

    site: Any

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.client = Client(self.site)

    def wait(self, work: Any) -> Any:
        return self.runner.run(work)

    @initialize()
    def begin(self) -> None:
        self.wait(self.client.open())

    def is_open(self) -> bool:
        return self.client.socket is not None

    @precondition(is_open)
    @rule(text=st.sampled_from(TEXTS))
    def send(self, text: str) -> None:
        key = str(uuid.uuid4())
        self.client.sent[key] = text
        self.wait(self.client.send({"type": "message.send", "client_msg_id": key, "text": text}))

    @precondition(lambda self: self.is_open() and self.client.sent)
    @rule(data=st.data())
    def send_again(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.client.sent.values())))
        key = next(one for one, text in self.client.sent.items() if text == key)
        frame = {"type": "message.send", "client_msg_id": key, "text": self.client.sent[key]}
        self.wait(self.client.send(frame))

    @precondition(is_open)
    @rule(frames=st.integers(1, 6))
    def listen(self, frames: int) -> None:
        async def some() -> None:
            for _ in range(frames):
                try:
                    await self.client.take(seconds=0.05)
                except TimeoutError:
                    return

        self.wait(some())

    @precondition(is_open)
    @rule()
    def cancel(self) -> None:
        self.wait(self.client.send({"type": "run.cancel"}))

    @precondition(is_open)
    @rule()
    def drop(self) -> None:
        self.wait(self.client.drop())

    @precondition(lambda self: not self.is_open())
    @rule()
    def come_back(self) -> None:
        self.wait(self.client.open())

    def teardown(self) -> None:
        async def end() -> None:
            client = self.client
            if client.socket is None:
                await client.open()
            for key, text in client.sent.items():  # what a page does with messages that it has no word of
                if key not in client.accepted:
                    await client.send({"type": "message.send", "client_msg_id": key, "text": text})
            await asyncio.wait_for(client.settle(), 30)
            assert client.socket
            await client.socket.close()
            log = await client.replay()
            assert log == client.events
            said = [event["client_msg_id"] for event in log if event.get("role") == "user"]
            assert sorted(said) == sorted(client.sent)
            numbers = {event["client_msg_id"]: event["seq"] for event in log if event.get("role") == "user"}
            assert numbers == client.accepted

        try:
            if self.client.secret:
                self.wait(end())
        finally:
            self.runner.close()


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # sockets that were dropped on purpose
def test_after_any_actions_a_client_has_seen_exactly_the_log(chat_server: Any) -> None:
    run_state_machine_as_test(
        type("ActionsHere", (Actions,), {"site": chat_server}),
        settings=settings(
            max_examples=8, stateful_step_count=14, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
