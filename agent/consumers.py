"""The WebSocket door `/ws/chat/`: frames in, one call each, frames out. What is said lives in the database."""

import asyncio
import json
import logging
from collections import Counter
from typing import Any
from uuid import UUID

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.db import DatabaseError

from agent import events, loop, runs, wording
from agent.bell import DEAF
from agent.database import in_database
from agent.models import Conversation, Run
from agent.sockets import address_of, origin_allowed, socket_admitted
from pharmacy_site.lib.errors import trace_of

log = logging.getLogger(__name__)
MAX_DEPTH = 20
POLL_SECONDS = 1.0
_open: Counter[str] = Counter()  # open sockets per address, of this process
runner = runs.Runner(loop.answer)


class BadFrame(Exception):
    """A frame that is none of the protocol's; `code` is what the client is told."""

    def __init__(self, code: str = "bad_frame") -> None:
        self.code = code


class ChatConsumer(AsyncWebsocketConsumer):
    """One open socket of one conversation."""

    async def connect(self) -> None:
        self.conversation: Conversation | None = None
        self.language = "en"
        self.sent = 0
        self.address = address_of(self.scope)
        self.counted = False
        self.polling: asyncio.Task[None] | None = None
        if not origin_allowed(self.scope):
            await self.close()
            return
        if _open[self.address] >= settings.CHAT_SOCKETS_OPEN or not await socket_admitted(self.address):
            await self.close()
            return
        _open[self.address] += 1
        self.counted = True
        await self.accept()
        self.greeting = asyncio.get_running_loop().call_later(settings.CHAT_HELLO_TIMEOUT, self._no_hello)

    def _no_hello(self) -> None:
        if self.conversation is None:
            self.goodbye = asyncio.create_task(self.close(code=4408))

    async def disconnect(self, code: int) -> None:
        if self.counted:
            self.greeting.cancel()
            _open[self.address] -= 1
            if _open[self.address] <= 0:
                del _open[self.address]
        if self.polling:
            self.polling.cancel()
        elif self.conversation and self.channel_layer:
            try:
                await self.channel_layer.group_discard(events.group(self.conversation.pk), self.channel_name)
            except (
                Exception
            ) as error:  # any layer client's error; what it forgets it forgets by itself in time
                log.warning("channel layer unavailable: %s", type(error).__name__)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        frame: dict[str, Any] = {}
        try:
            frame = _read(text_data)
            handler = _HANDLERS.get(frame["type"])
            if handler is None or (self.conversation is None and frame["type"] not in ("hello", "ping")):
                raise BadFrame
            await handler(self, frame)
        except BadFrame as error:
            await self._error(error.code, frame)
        except runs.RateLimited:
            await self._error("rate_limited", frame, retryable=True)
        except DatabaseError as error:
            # Nothing was accepted, so nothing is lost: the client keeps the message and sends it again.
            log.error("database unavailable: %s", type(error).__name__)
            await self._error("busy", frame, retryable=True)
        except Exception as error:
            log.error("frame failed: %s at %s", type(error).__name__, trace_of(error))
            await self._error("internal", frame, retryable=True)

    # -- frames of the client -------------------------------------------------------------------------------
    async def on_hello(self, frame: dict[str, Any]) -> None:
        if self.conversation is not None:
            raise BadFrame
        language = frame.get("lang")
        if language not in (None, "en", "he"):
            raise BadFrame
        self.language = language or "en"
        secret, last = frame.get("conversation"), frame.get("last_seq", 0)
        if not isinstance(last, int) or isinstance(last, bool) or last < 0:
            raise BadFrame
        if secret is None:
            found, secret = await in_database(events.conversation_begin)(language=self.language)
        elif isinstance(secret, str) and len(secret) <= 200:
            existing = await in_database(events.conversation_find)(secret)
            if existing is None:
                await self._error("unknown_conversation", frame)
                return
            found = existing
            self.language = language or found.language
        else:
            raise BadFrame
        await self._join(found)  # before reading, so that no event falls between
        missed = await in_database(events.events_after)(found.pk, last)
        self.conversation = found
        self.sent = missed[-1]["seq"] if missed else min(last, found.seq_head)
        active = await in_database(_active_run)(found.pk)
        answer = {
            "type": "hello.ok",
            "conversation": secret,
            "last_seq": self.sent,
            "mode": found.mode,
            "events": missed,
        }
        await self._send(answer | ({"active_run": active} if active else {}))
        if active:
            runner.wake(found.pk)  # its process may have died; a run that is being worked on is not taken

    async def on_message(self, frame: dict[str, Any]) -> None:
        assert self.conversation is not None
        text, client_msg_id = frame.get("text"), _uuid(frame.get("client_msg_id"))
        if not isinstance(text, str) or not text.strip():
            raise BadFrame
        if len(text) > settings.CHAT_TEXT_LIMIT:
            raise BadFrame("too_long")
        accepted = await in_database(runs.message_accept)(
            conversation_id=self.conversation.pk,
            client_msg_id=client_msg_id,
            text=text,
            address=self.address,
            location=_location(frame.get("location")),
        )
        await self._send(
            {
                "type": "message.accepted",
                "client_msg_id": str(client_msg_id),
                "seq": accepted.seq,
                "duplicate": accepted.duplicate,
            }
        )
        await self._go_on()

    async def on_code(self, frame: dict[str, Any]) -> None:
        assert self.conversation is not None
        code = frame.get("code")
        if not isinstance(code, str) or not 1 <= len(code.strip()) <= 20:
            raise BadFrame
        outcome = await in_database(runs.code_submit)(
            conversation_id=self.conversation.pk, code=code.strip(), address=self.address
        )
        if outcome.outcome == "ok":
            await self._go_on()
            return
        await events.bell_ring(self.conversation.pk)
        told = {"wrong": "code_wrong", "expired": "code_expired", "locked": "locked"}[outcome.outcome]
        await self._error(told, frame, retryable=told == "code_wrong", tries_left=outcome.tries_left)

    async def on_handoff(self, frame: dict[str, Any]) -> None:
        assert self.conversation is not None
        await in_database(runs.handoff_request)(conversation_id=self.conversation.pk)
        await self._go_on()

    async def on_ping(self, frame: dict[str, Any]) -> None:
        await self._send({"type": "pong"})

    # -- news of the conversation ---------------------------------------------------------------------------
    async def bell(self, message: dict[str, Any]) -> None:
        """The log has grown: send what this socket has not sent yet."""
        assert self.conversation is not None
        for frame in await in_database(events.events_after)(self.conversation.pk, self.sent):
            self.sent = frame["seq"]
            await self._send(frame)

    async def ephemeral(self, message: dict[str, Any]) -> None:
        await self._send(message["frame"])

    async def _join(self, conversation: Conversation) -> None:
        """Listens for the conversation's bell; without a channel layer the log is read every second instead."""
        try:
            if self.channel_layer is None or self.channel_name.startswith(DEAF):
                raise ConnectionError
            await self.channel_layer.group_add(events.group(conversation.pk), self.channel_name)
        except Exception as error:  # any layer client's error
            log.warning("channel layer unavailable, polling: %s", type(error).__name__)
            self.polling = asyncio.create_task(self._poll())

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if self.conversation:
                try:
                    await self.bell({})
                except DatabaseError as error:
                    log.error("database unavailable: %s", type(error).__name__)

    async def _go_on(self) -> None:
        assert self.conversation is not None
        await events.bell_ring(self.conversation.pk)
        runner.wake(self.conversation.pk)

    async def _send(self, frame: dict[str, Any]) -> None:
        await self.send(text_data=json.dumps({"v": 1, **frame}, ensure_ascii=False))

    async def _error(
        self, code: str, frame: dict[str, Any], *, retryable: bool = False, tries_left: int | None = None
    ) -> None:
        told: dict[str, Any] = {
            "type": "error",
            "code": code,
            "message": wording.error_text(code, self.language, tries_left=tries_left),
            "retryable": retryable,
        }
        if isinstance(frame.get("client_msg_id"), str):
            told["client_msg_id"] = frame["client_msg_id"][:64]
        if tries_left is not None:
            told["tries_left"] = tries_left
        await self._send(told)


_HANDLERS = {
    "hello": ChatConsumer.on_hello,
    "message.send": ChatConsumer.on_message,
    "identity.code": ChatConsumer.on_code,
    "handoff.request": ChatConsumer.on_handoff,
    "ping": ChatConsumer.on_ping,
}


def _active_run(conversation_id: UUID) -> dict[str, str] | None:
    run = Run.objects.filter(conversation_id=conversation_id, state__in=["pending", "running"]).first()
    return {"run_id": str(run.pk)} if run else None


def _read(text: str | None) -> dict[str, Any]:
    """The JSON object of a frame; raises BadFrame for anything else."""
    if text is None:
        raise BadFrame
    if len(text.encode("utf-8", "surrogatepass")) > settings.CHAT_FRAME_LIMIT:
        raise BadFrame("too_large")
    try:
        frame = json.loads(text)
    except (ValueError, RecursionError):
        raise BadFrame from None
    if not isinstance(frame, dict) or frame.get("v", 1) != 1 or not isinstance(frame.get("type"), str):
        raise BadFrame
    if _depth(frame) > MAX_DEPTH or any(isinstance(value, str) and "\0" in value for value in frame.values()):
        raise BadFrame
    return frame


def _depth(value: object) -> int:
    level, values = 0, [value]
    while values:
        level += 1
        inner: list[object] = []
        for item in values:
            inner += item.values() if isinstance(item, dict) else item if isinstance(item, list) else []
        values = inner
    return level


def _uuid(value: object) -> UUID:
    if not isinstance(value, str):
        raise BadFrame
    try:
        return UUID(value)
    except ValueError:
        raise BadFrame from None


def _location(value: object) -> tuple[float, float] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise BadFrame
    lat, lng = value.get("lat"), value.get("lng")
    for number, most in ((lat, 90), (lng, 180)):
        if isinstance(number, bool) or not isinstance(number, int | float) or not -most <= number <= most:
            raise BadFrame
    return float(lat), float(lng)  # type: ignore[arg-type]
