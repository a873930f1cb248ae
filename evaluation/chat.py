"""Talk to the chat as a customer's page does: one conversation over a real WebSocket."""

import asyncio
import json
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Final, Self

from websockets.asyncio.client import connect

from agent.answers.card_texts import card_lines
from evaluation.scenario import Scenario, Turn
from evaluation.wording import plain

SECONDS: Final = 60
"""The site itself gives up an answer after this time."""


@dataclass
class Answer:
    """Everything that came back for one message."""

    texts: list[str] = field(default_factory=list)
    lang: str = ""
    tools: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    cards: list[str] = field(default_factory=list)
    error: str = ""
    confirm_id: str = ""
    seconds: float = 0.0
    card_lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What the customer reads, without direction marks: the text, and what the cards beside it show without a click."""
        return plain("\n".join([*self.texts, *self.card_lines]))


class Chat:
    """One conversation; `secret` identifies it to the site."""

    def __init__(self, ws_url: str, site_url: str, lang: str) -> None:
        self._ws_url, self._site_url, self._lang = ws_url, site_url, lang
        self.secret = ""

    async def __aenter__(self) -> Self:
        self.socket = await connect(self._ws_url, origin=self._site_url)  # type: ignore[arg-type]
        await self.send({"type": "hello", "lang": self._lang})
        self.secret = (await self.receive("hello.ok"))["conversation"]
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.socket.close()

    async def send(self, message: dict[str, Any]) -> None:
        """Send one message."""
        await self.socket.send(json.dumps({"v": 1, **message}))

    async def receive(self, *types: str) -> dict[str, Any]:
        """Return the next message, or the next one of these types."""
        while True:
            message: dict[str, Any] = json.loads(await asyncio.wait_for(self.socket.recv(), SECONDS))
            if not types or message["type"] in types:
                return message

    async def ask(self, message: dict[str, Any]) -> Answer:
        """Send a message and collect everything that comes back until its run is over."""
        start = time.perf_counter()
        await self.send(message)
        answer = Answer()
        while True:
            got = await self.receive()
            kind = got["type"]
            if kind == "message.completed" and got["role"] == "assistant":
                answer.texts.append(got["text"])
                answer.lang = got["lang"]
                answer.cards += [card["kind"] for card in got["cards"]]
                answer.card_lines += [line for card in got["cards"] for line in card_lines(card)]
                # The message lists the calls; a very quick answer may come without a "tool.started".
                answer.tools = [call["name"] for call in got.get("tools", ())] or answer.tools
            elif kind == "tool.started":
                answer.tools.append(got["name"])
            elif kind == "error":
                answer.error = got["code"]
            elif "seq" in got and kind not in ("message.completed", "message.accepted"):
                answer.events.append(kind)
                answer.confirm_id = got.get("confirm_id", "") or answer.confirm_id
            if kind in ("run.completed", "run.failed", "error"):
                answer.seconds = time.perf_counter() - start
                return answer


def turn_message(turn: Turn, scenario: Scenario, code: str = "", confirm_id: str = "") -> dict[str, Any]:
    """Return the message that a turn sends; `code` is the one in the inbox, `confirm_id` that of the open question."""
    if turn.person:
        return {"type": "handoff.request"}
    if turn.confirm and confirm_id:
        return {"type": "confirm.answer", "confirm_id": confirm_id, "decision": turn.confirm}
    if turn.code_field:
        return {"type": "identity.code", "code": code or turn.code_field}
    return text_message(scenario, (code or turn.code) if turn.code else turn.say)


def text_message(scenario: Scenario, text: str) -> dict[str, Any]:
    """Return the message for a typed text."""
    message: dict[str, Any] = {"type": "message.send", "client_msg_id": str(uuid.uuid4()), "text": text}
    return message | ({"location": scenario.location} if scenario.location else {})
