"""An OpenAI-compatible server that says what a test scripted, and fails the test when something else happened.

    scripted_model.script(calls(("check_stock", {"medication_query": "Aspirin"})), says("It is in stock."))

It runs in a thread of its own, on a real socket: for the `openai` SDK here and for a site in another process.
"""

import asyncio
import json
import threading
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final

from request_rules import request_problems
from scripted_replies import (
    ANSWER,
    KINDS,
    Answering,
    Computed,
    Forever,
    Reply,
    by,
    calls,
    calls_for_customer,
    chooses,
    cuts,
    fails,
    forever,
    malformed,
    says,
    stalls,
    trickles,
)

__all__ = [
    "ANSWER", "KEY", "KINDS", "MODEL", "Reply", "Request", "ScriptedModel",
    "by", "calls", "calls_for_customer", "chooses", "cuts", "fails", "forever", "malformed", "says", "stalls", "trickles",
]  # fmt: skip

KEY: Final = "sk-scripted"
MODEL: Final = "scripted-1"
_REASONS: Final = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    429: "Too Many Requests",
}
_NO_RETRY: Final = {"x-should-retry": "false"}
_HTML: Final = b"<!doctype html><title>Sign in</title><h1>Welcome to this network</h1>"


@dataclass
class Request:
    """A request as it came; the key is masked. `arrived` is of the monotonic clock.

    `abandoned` turns true when the client hangs up before the reply is out.
    """

    body: Any
    headers: Mapping[str, str]
    text: str
    arrived: float = field(default_factory=time.monotonic)
    abandoned: bool = False
    problems: tuple[str, ...] = ()

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body["messages"]  # type: ignore[no-any-return]

    @property
    def tools_offered(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.body.get("tools", [])]


class ScriptedModel:
    """The server. As a context manager it starts and stops; `verify` is what the fixture does after each test."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.base_url = ""
        self._script: deque[Reply | Computed | Forever] = deque()
        self._repeating = False
        self._failures: list[str] = []
        self._answered = 0
        self._news = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._open: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="scripted-model", daemon=True)

    # -- For tests -------------------------------------------------------------------------------------------
    def script(self, *replies: Reply | Computed | Forever) -> None:
        """Adds replies, one for each request to come."""
        with self._news:
            for reply in replies:
                if self._script and isinstance(self._script[-1], Forever):
                    raise ValueError("what lasts forever is the last of a script")
                self._script.append(reply)

    @property
    def last(self) -> Request:
        """The request that came last."""
        return self.requests[-1]

    @property
    def env(self) -> dict[str, str]:
        """What makes a site in another process talk to this model."""
        return {"OPENAI_BASE_URL": self.base_url, "OPENAI_API_KEY": KEY, "OPENAI_MODEL": MODEL}

    def wait_for(self, requests: int, seconds: float = 10) -> None:
        """Returns when so many requests have come."""
        with self._news:
            if not self._news.wait_for(lambda: len(self.requests) >= requests, seconds):
                raise AssertionError(f"{len(self.requests)} requests in {seconds:g} s, not {requests}")

    def wait_until_abandoned(self, request: Request, seconds: float = 10) -> None:
        """Returns when the client has hung up on the reply to a request."""
        with self._news:
            if not self._news.wait_for(lambda: request.abandoned, seconds):
                raise AssertionError(f"the client did not hang up within {seconds:g} s")

    def verify(self) -> None:
        """Fails on requests that nobody scripted or OpenAI would refuse, and on replies that nobody asked for."""
        with self._news:
            failures = list(self._failures)
            left = [reply for reply in self._script if not (isinstance(reply, Forever) and self._repeating)]
        if left:
            failures.append(f"{len(left)} scripted replies were not asked for: {left!r:.500}")
        if failures:
            raise AssertionError("the scripted model: " + "\n  ".join(failures))

    def forget(self) -> None:
        """Drops what is left of the script."""
        with self._news:
            self._script.clear()
            self._repeating = False

    def reset(self) -> None:
        """Hangs up on everybody and forgets script, requests and failures."""
        asyncio.run_coroutine_threadsafe(self._hang_up(), self._loop).result(10)
        with self._news:
            self.requests, self._failures = [], []
            self._script.clear()
            self._repeating = False

    def __enter__(self) -> "ScriptedModel":
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(
            self._loop.create_server(self._line, "127.0.0.1", 0, backlog=1_000), self._loop
        ).result(10)
        self.base_url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._server.close)
        asyncio.run_coroutine_threadsafe(self._hang_up(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    # -- HTTP/1.1, as much as the API needs ------------------------------------------------------------------
    async def _hang_up(self) -> None:
        tasks = list(self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _line(self) -> "_Line":
        return _Line(asyncio.StreamReader(loop=self._loop), self._accept, loop=self._loop)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = self._loop.create_task(self._connection(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            writer.transport.abort()
            raise
        except Exception as broken:
            self._fail(f"the server broke: {broken!r}")
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its reply. Returns whether the connection stays open."""
        start, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        text = await reader.readexactly(int(headers.get("content-length", 0)))
        method, path, _ = start.split(" ")
        authorization = headers.pop("authorization", "")
        headers["authorization"] = "Bearer ***" if authorization.startswith("Bearer ") else ""
        if (method, path) == ("GET", "/v1/models") and authorization:
            model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "tests"}
            _send(writer, 200, json.dumps({"object": "list", "data": [model]}).encode())
            return True
        if (method, path) != ("POST", "/v1/chat/completions"):
            self._fail(f"an unexpected request: {method} {path}")
            _send(writer, 404, _error("no such page", "invalid_request_error"))
            return True
        try:
            body = json.loads(text)
        except ValueError:
            body = None
        request = Request(body, headers, text.decode("utf-8", "replace"))
        problems = request_problems(body, authorization)
        return await self._reply(request, problems, writer)

    async def _reply(self, request: Request, problems: list[str], writer: asyncio.StreamWriter) -> bool:
        request.problems = tuple(problems)
        with self._news:
            self.requests.append(request)
            number = len(self.requests)
            reply = None if problems else self._next()
            self._news.notify_all()
        if problems:
            self._fail(f"request {number} would be refused: {'; '.join(problems)}")
            _send(writer, 400, _error("; ".join(problems), "invalid_request_error"))
            return True
        if isinstance(reply, Computed):
            reply = reply.function(request.body)
        if reply is None:
            self._fail(f"request {number} was not expected: {request.text[-300:]}")
            _send(writer, 500, _error("no reply is scripted for this request", "server_error"), _NO_RETRY)
            return True
        if reply.status != 200:
            _send(writer, reply.status, json.dumps({"error": reply.error}).encode(), reply.headers)
            return True
        return await self._answer(request, Answering(reply, request.body, self._count()), writer)

    async def _answer(self, request: Request, answering: Answering, writer: asyncio.StreamWriter) -> bool:
        """The answer while the client listens."""
        speaking = asyncio.ensure_future(_speak(answering, writer))
        line = writer.transport.get_protocol()
        assert isinstance(line, _Line)
        leaving = asyncio.ensure_future(line.left.wait())
        try:
            await asyncio.wait({speaking, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if speaking.done() and not isinstance(speaking.exception(), ConnectionError):
                return speaking.result()
            with self._news:
                request.abandoned = True
                self._news.notify_all()
            return False
        finally:
            for task in (speaking, leaving):
                task.cancel()
            await asyncio.gather(speaking, leaving, return_exceptions=True)

    def _next(self) -> Reply | Computed | None:
        if not self._script:
            return None
        if isinstance(reply := self._script[0], Forever):
            self._repeating = True
            return reply.reply
        self._script.popleft()
        return reply

    def _count(self) -> int:
        """A number for the answer's ids, never used before by this server."""
        self._answered += 1
        return self._answered

    def _fail(self, text: str) -> None:
        with self._news:
            self._failures.append(text)


class _Line(asyncio.StreamReaderProtocol):
    """A connection that tells when the client has hung up, without reading from it."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.left = asyncio.Event()

    def eof_received(self) -> bool | None:
        self.left.set()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self.left.set()
        super().connection_lost(exc)


async def _speak(answering: Answering, writer: asyncio.StreamWriter) -> bool:
    """Sends the reply as scripted. Returns whether the connection stays open."""
    reply = answering.reply
    streamed = bool(answering.request.get("stream"))
    if not reply.headers_first:
        await asyncio.sleep(reply.stall)
    if reply.malformed == "html":
        _send(writer, 200, _HTML, {"content-type": "text/html"})
    elif streamed:
        _send_headers(
            writer, 200, {"content-type": "text/event-stream; charset=utf-8", "transfer-encoding": "chunked"}
        )
        if not await _stream(answering, writer):
            return False
        writer.write(b"0\r\n\r\n")
    else:
        body = answering.whole()
        _send_headers(writer, 200, {"content-type": "application/json", "content-length": str(len(body))})
        if reply.stops_after is not None:
            writer.write(body[: len(body) // 2])
            if not reply.stall:
                return False
            await asyncio.sleep(reply.stall if reply.headers_first else 0)
            body = body[len(body) // 2 :]
        await asyncio.sleep(reply.pause)
        writer.write(body)
    await writer.drain()
    return True


async def _stream(answering: Answering, writer: asyncio.StreamWriter) -> bool:
    reply, stopped = answering.reply, answering.reply.stops_after is None
    before = 0
    for pieces, event in answering.chunks():
        if not stopped and pieces > (reply.stops_after or 0):
            stopped = True
            if not reply.stall:
                return False
            await asyncio.sleep(reply.stall if reply.headers_first else 0)
        if reply.pause and pieces > before:
            await asyncio.sleep(reply.pause)
        before = pieces
        if event:
            writer.write(b"%x\r\n%b\r\n" % (len(event), event))
            await writer.drain()
    return True


def _send(
    writer: asyncio.StreamWriter, status: int, body: bytes, headers: Mapping[str, str] | None = None
) -> None:
    usual = {"content-type": "application/json", "content-length": str(len(body))}
    _send_headers(writer, status, {**usual, **(headers or {})})
    writer.write(body)


def _send_headers(writer: asyncio.StreamWriter, status: int, headers: Mapping[str, str]) -> None:
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}", "x-request-id: req_scripted"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))


def _error(message: str, kind: str) -> bytes:
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": None}}).encode()
