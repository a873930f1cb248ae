"""The wire to a language model: one streamed chat completion of any OpenAI-compatible server.

Nothing here knows what is asked. Whatever goes wrong is ModelUnavailable with a short reason; an answer that was cut off is
no answer.
"""

import asyncio
import json
import logging
import math
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Final, Self

import httpx2
import openai

from agent.inference.base import ModelUnavailable, Usage, Withheld
from agent.inference.tracing import chat_span
from pharmacy_site.lib.breaker import Breaker

log = logging.getLogger(__name__)
MOST_OUTPUT_TOKENS: Final = 1_200
MOST_CHARACTERS: Final = 20_000  # of one answer, if a server does not keep to the tokens
_RETRY_WAIT: Final = (0.2, 0.8)  # seconds, a random point between
_LONGEST_RETRY_AFTER: Final = 2.0
_CHARACTERS_PER_TOKEN: Final = 3  # a low guess for servers that report no usage: rather too many than too few
_FIRST_RETRYABLE: Final = 500
_MOST_TOLD_TOKENS: Final = 10_000_000  # no request takes more; what a server tells beyond is no count
_LONGEST_LINE: Final = 20 * MOST_CHARACTERS  # bytes: each character may come as twelve
_REST_WAIT: Final = 0.1  # seconds for what a server sends after its answer
_MISSHAPEN: Final = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
_JSON: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class Call:
    """A function that the model wants called; the arguments are what it wrote, an object."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Completion:
    """A whole answer."""

    text: str
    calls: tuple[Call, ...]
    is_cut: bool  # at the limit of output tokens


@dataclass
class _Parts:
    """What has come so far."""

    text: list[str] = field(default_factory=list)
    calls: dict[int, dict[str, str]] = field(default_factory=dict)
    finish: str = ""
    usage: Usage | None = None
    size: int = 0


class _NotAnswered(Exception):
    """No answer began: why, and in how many seconds it may be asked again (None: not at all)."""

    def __init__(self, reason: str, wait: float | None) -> None:
        self.reason, self.wait = reason, wait


class Server:
    """An OpenAI-compatible server: the SDK's address, headers and connections."""

    def __init__(self, client: openai.AsyncOpenAI, http: httpx2.AsyncClient) -> None:
        """`http` is the one that the client was given."""
        self._http, self._timeout = http, client.timeout
        self._url = f"{client.base_url}chat/completions"
        headers: dict[str, Any] = {**client.default_headers, **client.auth_headers}
        self._headers = {name: value for name, value in headers.items() if isinstance(value, str)}

    async def post(self, body: bytes) -> httpx2.Response:
        """Asks for a chat completion; the answer is to be read and closed. Raises _NotAnswered.

        Not by the SDK's `create` nor its stream, and not by its `post`: to look through a request for values to convert, to
        build its options and to make an object of each chunk cost more than all the rest of a request.
        """
        request = self._http.build_request(
            "POST", self._url, content=body, headers=self._headers, timeout=self._timeout
        )
        try:
            response = await self._http.send(request, stream=True)
        except httpx2.TimeoutException:
            raise _NotAnswered("timeout", random.uniform(*_RETRY_WAIT)) from None
        except httpx2.HTTPError:
            raise _NotAnswered("unreachable", random.uniform(*_RETRY_WAIT)) from None
        if response.is_success:
            return response
        await response.aclose()
        raise _NotAnswered(_reason(response.status_code), _retry_wait(response))


class ChatCompletions:
    """A model behind an OpenAI-compatible address.

    `first_token` are the seconds until anything comes, and between any two pieces.
    """

    def __init__(self, server: Server, *, model: str, breaker: Breaker, first_token: float) -> None:
        self.model = model
        self._server, self._breaker, self._first_token = server, breaker, first_token

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        functions: str,
        usage: Usage,
        hear: Callable[[str], Awaitable[None]],
        until: float,
    ) -> Completion:
        """Asks for one answer; `hear` gets its text as it comes, `usage` what it cost.

        `functions` are those that may be called, a JSON list or nothing. `until` is the time of the event loop by which the
        answer must be whole. Raises ModelUnavailable.
        """
        if not self._breaker.admits():
            raise ModelUnavailable("breaker_open")
        request = {
            "model": self.model,
            "messages": messages,
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_completion_tokens": MOST_OUTPUT_TOKENS,
        }
        parts = _Parts()
        with chat_span(self.model) as seen:
            try:
                completion = await self._asked(request, functions, parts, hear, until)
            except ModelUnavailable as error:
                self._breaker.failed()
                log.warning("model %s unavailable: %s", self.model, error.reason)
                raise
            except Withheld:
                self._breaker.succeeded()
                raise
            else:
                self._breaker.succeeded()
                return completion
            finally:
                spent = parts.usage or _guessed(messages, parts)
                usage.add(spent)
                seen |= {
                    "gen_ai.usage.input_tokens": spent.tokens_in,
                    "gen_ai.usage.output_tokens": spent.tokens_out,
                }

    async def _asked(
        self,
        request: dict[str, Any],
        functions: str,
        parts: _Parts,
        hear: Callable[[str], Awaitable[None]],
        until: float,
    ) -> Completion:
        """One request, and once more when the server was only busy."""
        first_by = asyncio.get_running_loop().time() + self._first_token
        try:
            told = f',"tools":{functions},"parallel_tool_calls":true' if functions else ""
            body = f"{_JSON.encode(request)[:-1]}{told}}}".encode()
            async with asyncio.timeout_at(until):
                for is_last in (False, True):
                    try:
                        return await self._streamed(body, parts, hear, first_by)
                    except _NotAnswered as error:
                        if is_last or error.wait is None:
                            raise ModelUnavailable(error.reason) from None
                        await asyncio.sleep(error.wait)
        except TimeoutError:
            raise ModelUnavailable("timeout") from None
        except httpx2.HTTPError:
            raise ModelUnavailable("cut") from None
        except UnicodeError:  # half a character in what is told
            raise ModelUnavailable("malformed") from None
        raise AssertionError

    async def _streamed(
        self, body: bytes, parts: _Parts, hear: Callable[[str], Awaitable[None]], first_by: float
    ) -> Completion:
        async with (
            _Silence(first_by, self._first_token) as silence,
            aclosing(await self._server.post(body)) as response,
            aclosing(_lines(response)) as lines,
        ):
            async for line in lines:
                if not line.startswith(b"data:"):
                    continue
                data = line[5:].strip()
                if data == b"[DONE]":
                    silence.pause()
                    await _read_on(lines)
                    break
                try:
                    piece = _taken(json.loads(data.decode(errors="replace")), parts)
                except _MISSHAPEN:  # only of the answer's own shape: what `hear` raises is ours
                    raise ModelUnavailable("malformed") from None
                if piece is None:
                    continue
                if piece:
                    silence.pause()
                    await hear(piece)
                silence.begin()
        try:
            return _whole(parts)
        except _MISSHAPEN:
            raise ModelUnavailable("malformed") from None


class _Silence:
    """A timeout of the time in which nothing comes.

    It has one timer, which looks how long that is: to set it anew for each piece costs more than to parse the piece.
    """

    def __init__(self, first_by: float, seconds: float) -> None:
        self._until, self._seconds = first_by, seconds
        self._loop = asyncio.get_running_loop()
        self._timeout = asyncio.timeout(None)

    def pause(self) -> None:
        """It is our turn: the time does not count."""
        self._until = math.inf

    def begin(self) -> None:
        """The server's time begins anew."""
        self._until = self._loop.time() + self._seconds

    def _look(self) -> None:
        now = self._loop.time()
        if now >= self._until:
            self._timeout.reschedule(now)
        else:
            self._timer = self._loop.call_at(min(self._until, now + self._seconds), self._look)

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        self._timer = self._loop.call_at(self._until, self._look)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        await self._timeout.__aexit__(kind, error, trace)


async def _lines(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    """The lines of a response as they come. Those of `Response.aiter_lines` would also end within a JSON text, at U+2028."""
    rest = b""
    async with aclosing(response.aiter_bytes()) as chunks:
        async for chunk in chunks:
            *lines, rest = (rest + chunk).replace(b"\r", b"\n").split(b"\n")
            for line in lines:
                yield line
            if len(rest) > _LONGEST_LINE:
                raise ModelUnavailable("too_long")
    yield rest


async def _read_on(lines: AsyncGenerator[bytes, None]) -> None:
    """Reads to the end behind a whole answer, for a moment: only then its connection can be used again."""
    with suppress(TimeoutError, httpx2.HTTPError, ModelUnavailable):
        async with asyncio.timeout(_REST_WAIT):
            async for _ in lines:
                pass


def _taken(chunk: dict[str, Any], parts: _Parts) -> str | None:
    """Keeps what a chunk brings; returns its text, "" for a piece of a call, None when it brings nothing."""
    if used := chunk.get("usage"):
        told_in, told_out = int(used["prompt_tokens"]), int(used["completion_tokens"])
        if min(told_in, told_out) >= 0 and max(told_in, told_out) <= _MOST_TOLD_TOKENS:
            parts.usage = Usage(told_in, told_out)  # else nobody's count: ours stands
    if chunk.get("error"):
        raise ModelUnavailable("overloaded")
    if not chunk["choices"]:
        return None
    choice = chunk["choices"][0]
    parts.finish = choice.get("finish_reason") or parts.finish
    delta = choice.get("delta") or {}
    if delta.get("refusal"):
        raise ModelUnavailable("refused")
    text: str = delta.get("content") or ""
    parts.size += len(text)
    for call in delta.get("tool_calls") or ():
        told = parts.calls.setdefault(int(call["index"]), {"id": "", "name": "", "arguments": ""})
        function = call.get("function") or {}
        told["id"] = call.get("id") or told["id"]
        told["name"] = function.get("name") or told["name"]
        told["arguments"] += function.get("arguments") or ""
        parts.size += len(function.get("arguments") or "")
    if parts.size > MOST_CHARACTERS:
        raise ModelUnavailable("too_long")
    if text:
        parts.text.append(text)
    return text if text or delta.get("tool_calls") else None


def _guessed(messages: Sequence[Mapping[str, Any]], parts: _Parts) -> Usage:
    """What a request cost whose server did not say, or did not come to it."""
    return Usage(len(str(messages)) // _CHARACTERS_PER_TOKEN, parts.size // _CHARACTERS_PER_TOKEN)


def _whole(parts: _Parts) -> Completion:
    if parts.finish not in ("stop", "tool_calls", "length", "function_call"):
        raise ModelUnavailable("refused" if parts.finish == "content_filter" else "cut")
    calls = []
    for place in sorted(parts.calls):
        told = parts.calls[place]
        arguments = json.loads(told["arguments"] or "{}")
        unwritable = (
            b"\\u0000" in json.dumps(arguments, ensure_ascii=False).encode()
        )  # nor are lone surrogates
        if not isinstance(arguments, dict) or not told["name"] or unwritable:
            raise ModelUnavailable("malformed")
        calls.append(Call(told["id"] or f"call_{place}", told["name"], arguments))
    if len({call.id for call in calls}) < len(calls):
        calls = [replace(call, id=f"call_{place}") for place, call in enumerate(calls)]
    return Completion("".join(parts.text), tuple(calls), parts.finish == "length")


def _retry_wait(response: httpx2.Response) -> float | None:
    """Seconds until a second try, None when there is to be none."""
    status = response.status_code
    if status != httpx2.codes.TOO_MANY_REQUESTS and status < _FIRST_RETRYABLE:
        return None
    try:
        asked = float(response.headers.get("retry-after", "0"))
    except ValueError:
        asked = 0.0
    if not asked <= _LONGEST_RETRY_AFTER:  # also what is no number
        return None
    return max(asked, random.uniform(*_RETRY_WAIT))


def _reason(status: int) -> str:
    if status in (401, 403):
        return "key"
    return "overloaded" if status == 429 or status >= _FIRST_RETRYABLE else "request"
