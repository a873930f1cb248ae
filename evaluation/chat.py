"""A customer's end of the chat: one conversation over a real WebSocket."""

import asyncio
import json
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Final, Self

from websockets.asyncio.client import connect

from evaluation.scenario import Scenario, Turn
from evaluation.wording import plain

SECONDS: Final = 60  # the site gives up on an answer by itself after so long


@dataclass
class Answer:
    """What one message brought."""

    texts: list[str] = field(default_factory=list)
    lang: str = ""
    tools: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    cards: list[str] = field(default_factory=list)
    error: str = ""
    confirm_id: str = ""
    seconds: float = 0.0

    @property
    def text(self) -> str:
        """All that was said, without the isolates around names."""
        return plain("\n".join(self.texts))


class Chat:
    """One conversation; `secret` opens it."""

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

    async def send(self, frame: dict[str, Any]) -> None:
        """Sends one frame."""
        await self.socket.send(json.dumps({"v": 1, **frame}))

    async def receive(self, *types: str) -> dict[str, Any]:
        """The next frame, or the next of one of these types."""
        while True:
            frame: dict[str, Any] = json.loads(await asyncio.wait_for(self.socket.recv(), SECONDS))
            if not types or frame["type"] in types:
                return frame

    async def ask(self, frame: dict[str, Any]) -> Answer:
        """Sends a frame and gathers everything until its run is over."""
        begun = time.perf_counter()
        await self.send(frame)
        answer = Answer()
        while True:
            got = await self.receive()
            kind = got["type"]
            if kind == "message.completed" and got["role"] == "assistant":
                answer.texts.append(got["text"])
                answer.lang = got["lang"]
                answer.cards += [card["kind"] for card in got["cards"]]
                # What was called stands in the message; of a very quick answer no "started" may be heard.
                answer.tools = [call["name"] for call in got.get("tools", ())] or answer.tools
            elif kind == "tool.started":
                answer.tools.append(got["name"])
            elif kind == "error":
                answer.error = got["code"]
            elif "seq" in got and kind not in ("message.completed", "message.accepted"):
                answer.events.append(kind)
                answer.confirm_id = got.get("confirm_id", "") or answer.confirm_id
            if kind in ("run.completed", "run.failed", "error"):
                answer.seconds = time.perf_counter() - begun
                return answer


def frame_of(turn: Turn, scenario: Scenario, code: str = "", confirm_id: str = "") -> dict[str, Any]:
    """The frame that a turn sends; `code` is the one in the inbox, `confirm_id` the card that waits."""
    if turn.person:
        return {"type": "handoff.request"}
    if turn.confirm and confirm_id:
        return {"type": "confirm.answer", "confirm_id": confirm_id, "decision": turn.confirm}
    if turn.code_field:
        return {"type": "identity.code", "code": code or turn.code_field}
    return message(scenario, (code or turn.code) if turn.code else turn.say)


def message(scenario: Scenario, text: str) -> dict[str, Any]:
    """The frame of a written message."""
    frame: dict[str, Any] = {"type": "message.send", "client_msg_id": str(uuid.uuid4()), "text": text}
    return frame | ({"location": scenario.location} if scenario.location else {})
