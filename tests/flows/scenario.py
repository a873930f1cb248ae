"""Scenarios as data: who talks, what is said, which tools run in what order, what must and must not be answered.

A file is a list of scenarios:

    - name: advil-in-jaffa                 # unique
      lang: en                             # the page's language (hello)
      location: {lat: 32.07, lng: 34.77}   # optional, sent with each message
      turns:
        - say: Do you have Advil in Jaffa? # or `code: demo` (the code from the demo inbox as a message),
                                           # `code_field: demo` (in its own field), `person: true` (the button)
          tools: [check_stock]             # exactly these, in this order; [] means none; absent: not looked at
          tools_include: [check_stock]     # among these
          must: [Jaffa, ["out of stock", "none"]]   # a list inside: any of them; case is ignored
          must_not: [you should]
          lang: en                         # language of the answer
          events: [identity.requested]     # numbered events beside the messages
          cards: [stock]                   # kinds among the cards
      database:                            # afterwards: rows of a table that fulfil SQL, counted
        - {table: prescriptions_handoff, where: "conversation_id = :conversation", count: 1}

Isolates around names are taken out before texts are compared.
"""

import json
import re
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from websockets.asyncio.client import connect

FOLDER = Path(__file__).parent
_ISOLATES = re.compile("[\u2066-\u2069]")


class Mismatch(AssertionError):
    """A turn that was answered otherwise than the scenario says."""


@dataclass
class Answer:
    """What one message brought."""

    texts: list[str] = field(default_factory=list)
    lang: str = ""
    tools: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    cards: list[str] = field(default_factory=list)
    error: str = ""

    @property
    def text(self) -> str:
        return _ISOLATES.sub("", "\n".join(self.texts))


def scenarios() -> list[dict[str, Any]]:
    """All scenarios of the folder, each with the file it stands in."""
    found = []
    for path in sorted(FOLDER.glob("*.yaml")):
        for scenario in yaml.safe_load(path.read_text(encoding="utf-8")) or []:
            found.append({"file": path.stem, **scenario})
    return found


class Chat:
    """One conversation over a real WebSocket."""

    def __init__(self, ws_url: str, site_url: str, lang: str) -> None:
        self.ws_url, self.site_url, self.lang = ws_url, site_url, lang
        self.secret = ""

    async def __aenter__(self) -> "Chat":
        self.socket = await connect(self.ws_url, origin=self.site_url)
        await self.send({"type": "hello", "lang": self.lang})
        self.secret = (await self.receive("hello.ok"))["conversation"]
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.socket.close()

    async def send(self, frame: dict[str, Any]) -> None:
        await self.socket.send(json.dumps({"v": 1, **frame}))

    async def receive(self, *types: str) -> dict[str, Any]:
        """The next frame of one of these types."""
        import asyncio

        while True:
            frame = json.loads(await asyncio.wait_for(self.socket.recv(), 20))
            if not types or frame["type"] in types:
                return frame

    async def ask(self, frame: dict[str, Any]) -> Answer:
        """Sends a frame and gathers everything until its run is over."""
        await self.send(frame)
        answer = Answer()
        while True:
            got = await self.receive()
            kind = got["type"]
            if kind == "message.completed" and got["role"] == "assistant":
                answer.texts.append(got["text"])
                answer.lang = got["lang"]
                answer.cards += [card["kind"] for card in got["cards"]]
            elif kind == "tool.started":
                answer.tools.append(got["name"])
            elif kind == "error":
                answer.error = got["code"]
                return answer
            elif "seq" in got and kind not in ("message.completed", "message.accepted"):
                answer.events.append(kind)
            if kind in ("run.completed", "run.failed"):
                return answer


def frame_of(turn: dict[str, Any], scenario: dict[str, Any], code: str) -> dict[str, Any]:
    """The frame that a turn sends."""
    if turn.get("person"):
        return {"type": "handoff.request"}
    if "code_field" in turn:
        return {
            "type": "identity.code",
            "code": code if turn["code_field"] == "demo" else str(turn["code_field"]),
        }
    text = code if turn.get("code") == "demo" else str(turn.get("code") or turn["say"])
    frame = {"type": "message.send", "client_msg_id": str(uuid.uuid4()), "text": text}
    return frame | ({"location": scenario["location"]} if scenario.get("location") else {})


def check(turn: dict[str, Any], answer: Answer) -> None:
    """Raises Mismatch with everything that is not as the turn says."""
    wrong = []
    text = answer.text.casefold()
    if "tools" in turn and answer.tools != turn["tools"]:
        wrong.append(f"tools {answer.tools}, not {turn['tools']}")
    missing = [name for name in turn.get("tools_include", []) if name not in answer.tools]
    if missing:
        wrong.append(f"tools {answer.tools} lack {missing}")
    for wanted in turn.get("must", []):
        options = wanted if isinstance(wanted, list) else [wanted]
        if not any(str(option).casefold() in text for option in options):
            wrong.append(f"does not say {wanted!r}")
    wrong += [f"says {banned!r}" for banned in turn.get("must_not", []) if str(banned).casefold() in text]
    if "lang" in turn and answer.lang != turn["lang"]:
        wrong.append(f"answers in {answer.lang!r}")
    wrong += [f"no event {name}" for name in turn.get("events", []) if name not in answer.events]
    wrong += [f"no card {kind}" for kind in turn.get("cards", []) if kind not in answer.cards]
    if answer.error != turn.get("error", ""):
        wrong.append(f"error {answer.error!r}")
    if wrong:
        said = turn.get("say") or turn
        raise Mismatch(f"{said!r}: " + "; ".join(wrong) + f"\n--- answer ---\n{answer.text}")
