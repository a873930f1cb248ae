"""Ask an OpenAI-compatible server for one streamed chat completion, with the `openai` SDK.

The SDK sends the request and reads the stream. What it leaves to its caller is here: how long a server may be silent and
how long the whole answer may take, how much it may send, when to try again, when to leave a failing server alone, and one
short reason for whatever goes wrong. An answer that was cut off is no answer.
"""

import asyncio
import json
import logging
import random
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final, Self

import httpx  # noqa: F401  # the SDK looks into it as soon as another thread begins to load it (LangGraph does)
import httpx2
import openai

from agent.inference.base import ModelUnavailable, Usage, Withheld
from agent.inference.tracing import chat_span
from pharmacy_site.lib.breaker import Breaker

log = logging.getLogger(__name__)
MOST_OUTPUT_TOKENS: Final = 1_200
_MOST_CHARACTERS: Final = 20_000  # of one answer, if a server does not keep to the tokens
_MOST_BYTES: Final = 10_000_000  # of one response: each character may come as a chunk of its own
_RETRY_WAIT: Final = (0.2, 0.8)  # seconds, a random point between
_LONGEST_RETRY_AFTER: Final = 2.0
_CHARACTERS_PER_TOKEN: Final = 3  # a low guess for servers that report no usage: rather too many than too few
_MOST_REPORTED_TOKENS: Final = 10_000_000  # no request takes more
# Idle connections stay open longer than the SDK's 5 s; with those most turns would begin with a handshake.
_CONNECTIONS: Final = httpx2.Limits(
    max_connections=1_000, max_keepalive_connections=100, keepalive_expiry=60.0
)
_ANY_KEY: Final = "none"  # the SDK wants a key, also for a server that wants none
# Nobody has checked a chunk: any part may be missing or of another type.
_MALFORMED: Final = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


@dataclass(frozen=True)
class Call:
    """A function that the model wants called, with the arguments that it wrote."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Completion:
    """A whole answer; `is_cut` when it ended at the limit of output tokens."""

    text: str
    calls: tuple[Call, ...]
    is_cut: bool


class ChatCompletions:
    """A model behind an OpenAI-compatible address.

    `first_token` is the number of seconds until anything must come, and between any two pieces.
    """

    def __init__(
        self, client: openai.AsyncOpenAI, *, model: str, breaker: Breaker, first_token: float
    ) -> None:
        self.model = model
        self._client, self._breaker, self._first_token = client, breaker, first_token

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        functions: Sequence[Mapping[str, Any]],
        usage: Usage,
        hear: Callable[[str], Awaitable[None]],
        until: float,
        *,
        may_call: bool = True,
        retries: int = 1,
    ) -> Completion:
        """Return one answer; `hear` gets its text as it comes, and its tokens are added to `usage`.

        The tokens are counted also when the answer fails or the caller is cancelled. `functions` are those that may be
        called, as long as `may_call`. `until` is the time of the event loop by which the answer must be whole; `retries` is how often
        a busy server is asked again. Raises ModelUnavailable.
        """
        if not self._breaker.admits():
            raise ModelUnavailable("breaker_open")
        request = {
            "model": self.model,
            "messages": messages,
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_completion_tokens": MOST_OUTPUT_TOKENS,
            **({"tools": functions, "parallel_tool_calls": True} if functions else {}),
            **({} if may_call else {"tool_choice": "none"}),
        }
        answer = _Answer()
        with chat_span(self.model) as attributes:
            try:
                await self._receive(request, answer, hear, until, retries)
                completion = answer.completion()
            except ModelUnavailable as error:
                self._breaker.failed()
                log.warning("model %s unavailable: %s", self.model, error.reason)
                raise
            except Withheld:
                self._breaker.succeeded()
                raise
            finally:
                tokens_in, tokens_out = answer.tokens or _estimated_tokens(messages, answer)
                usage.tokens_in += tokens_in
                usage.tokens_out += tokens_out
                attributes["gen_ai.usage.input_tokens"] = tokens_in
                attributes["gen_ai.usage.output_tokens"] = tokens_out
        self._breaker.succeeded()
        return completion

    async def _receive(
        self,
        request: Mapping[str, Any],
        answer: "_Answer",
        hear: Callable[[str], Awaitable[None]],
        until: float,
        retries: int,
    ) -> None:
        """Fill `answer` from one request, against the clocks of silence and of the whole answer."""
        time = asyncio.get_running_loop().time
        try:
            async with (
                asyncio.timeout_at(min(until, time() + self._first_token)) as clock,
                aclosing(self._pieces(request, answer, retries)) as pieces,
            ):
                async for piece in pieces:
                    if piece:
                        clock.reschedule(until)  # the time that we take is no silence of the server
                        await hear(piece)
                    clock.reschedule(min(until, time() + self._first_token))
        except TimeoutError:
            raise ModelUnavailable("timeout") from None

    async def _pieces(
        self, request: Mapping[str, Any], answer: "_Answer", retries: int
    ) -> AsyncGenerator[str, None]:
        """Yield the text of an answer as it comes, "" for a part of a call. Raises ModelUnavailable.

        Only errors of the server's making are caught here: what `hear` raises is not raised inside this generator.
        """
        try:
            async with await self._stream(request, retries) as chunks:
                async for chunk in chunks:
                    piece = answer.add(chunk)
                    if piece is not None:
                        yield piece
        except openai.APIConnectionError:
            raise ModelUnavailable("cut") from None
        except openai.APIError:  # sent in the place of a chunk
            raise ModelUnavailable("overloaded") from None
        except _MALFORMED:
            raise ModelUnavailable("malformed") from None

    async def _stream(self, request: Mapping[str, Any], retries: int) -> openai.AsyncStream[object]:
        """Send the request, again when the server was only busy. Raises ModelUnavailable.

        The SDK's own retries would wait for as long as a server asks for, up to two minutes.
        """
        left = retries
        while True:
            try:
                # `chat.completions.create` would also walk through all messages and functions, and make an object of
                # each chunk without checking it, which is a tenth of the work of a whole turn.
                return await self._client.post(
                    "/chat/completions",
                    body=request,
                    cast_to=object,
                    stream=True,
                    stream_cls=openai.AsyncStream[object],
                )
            except (openai.APIError, httpx2.HTTPError) as error:
                wait = _retry_wait(error)
                if not left or wait is None:
                    raise ModelUnavailable(_reason(error)) from None
            left -= 1
            await asyncio.sleep(wait)


def client_open(key: str, base_url: str, seconds: float) -> openai.AsyncOpenAI:
    """Open a client with connections of its own; they belong to the event loop that uses them first."""
    http = openai.DefaultAsyncHttpxClient(
        limits=_CONNECTIONS, event_hooks={"response": [_limit]}, verify=_certificates()
    )
    return openai.AsyncOpenAI(
        api_key=key or _ANY_KEY,
        base_url=base_url or None,
        timeout=seconds,
        max_retries=0,
        http_client=http,
    )


@cache
def _certificates() -> ssl.SSLContext:
    """Read the trusted certificates once per process, since that takes longest in opening a client; new ones need a restart."""
    return httpx2.create_ssl_context()


class _LimitedBody(httpx2.AsyncByteStream):
    """A response's body that ends with an error when it grows too long: the SDK keeps a line of any length.

    No generator itself, so that nothing is left to the garbage collector when an answer is dropped in the middle.
    """

    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        self._body, self._pieces, self._size = body, aiter(body), 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        data = await anext(self._pieces)
        self._size += len(data)
        if self._size > _MOST_BYTES:
            raise ModelUnavailable("too_long")
        return data

    async def aclose(self) -> None:
        await self._body.aclose()
        # httpx2 leaves the generators that read the connection suspended. It is closed, so that reading on ends them.
        with suppress(httpx2.HTTPError):
            async for _ in self._pieces:
                pass


async def _limit(response: httpx2.Response) -> None:
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = _LimitedBody(response.stream)


@dataclass
class _PartialCall:
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass
class _Answer:
    """What has come of an answer so far; `tokens` (in, out) as far as the server reports them."""

    text: str = ""
    calls: dict[int, _PartialCall] = field(default_factory=dict)
    finish: str = ""
    tokens: tuple[int, int] | None = None
    size: int = 0

    def add(self, chunk: Any) -> str | None:
        """Add a chunk and return its text: "" for a part of a call, None when it brings nothing."""
        if usage := chunk.get("usage"):
            tokens = int(usage["prompt_tokens"]), int(usage["completion_tokens"])
            if all(0 <= count <= _MOST_REPORTED_TOKENS for count in tokens):
                self.tokens = tokens
        if not chunk.get("choices"):
            return None
        choice = chunk["choices"][0]
        self.finish = choice.get("finish_reason") or self.finish
        delta = choice.get("delta") or {}
        if delta.get("refusal"):
            raise ModelUnavailable("refused")
        text, calls = delta.get("content") or "", delta.get("tool_calls") or []
        self.text += text
        self.size += len(text)
        for call in calls:
            self._add_call(call)
        if self.size > _MOST_CHARACTERS:
            raise ModelUnavailable("too_long")
        return text if text or calls else None

    def _add_call(self, part: Mapping[str, Any]) -> None:
        call = self.calls.setdefault(int(part["index"]), _PartialCall())
        function = part.get("function") or {}
        call.id = part.get("id") or call.id
        call.name = function.get("name") or call.name
        call.arguments += function.get("arguments") or ""
        self.size += len(function.get("arguments") or "")

    def completion(self) -> Completion:
        """Return the whole answer. Raises ModelUnavailable when it is cut off or has calls that cannot be made."""
        if self.finish not in ("stop", "tool_calls", "length", "function_call"):
            raise ModelUnavailable("refused" if self.finish == "content_filter" else "cut")
        try:
            calls = [_call(place, self.calls[place]) for place in sorted(self.calls)]
            if len({call.id for call in calls}) < len(calls):
                calls = [replace(call, id=f"call_{place}") for place, call in enumerate(calls)]
        except _MALFORMED:
            raise ModelUnavailable("malformed") from None
        return Completion(self.text, tuple(calls), self.finish == "length")


def _call(place: int, part: _PartialCall) -> Call:
    arguments = json.loads(part.arguments or "{}")
    # No database takes these characters; half of a surrogate pair fails to encode.
    has_null = b"\\u0000" in json.dumps(arguments, ensure_ascii=False).encode()
    if not isinstance(arguments, dict) or not part.name or has_null:
        raise ModelUnavailable("malformed")
    return Call(part.id or f"call_{place}", part.name, arguments)


def _estimated_tokens(messages: Sequence[Mapping[str, Any]], answer: _Answer) -> tuple[int, int]:
    """Return the tokens in and out of a request whose server did not report them, or did not get so far."""
    return len(str(messages)) // _CHARACTERS_PER_TOKEN, answer.size // _CHARACTERS_PER_TOKEN


def _retry_wait(error: Exception) -> float | None:
    """Return the seconds until a second try, None when there is to be none."""
    wait = random.uniform(*_RETRY_WAIT)
    if not isinstance(error, openai.APIStatusError):
        return wait
    if not isinstance(error, openai.RateLimitError | openai.InternalServerError):
        return None
    try:
        requested = float(error.response.headers.get("retry-after", "0"))
    except ValueError:
        requested = 0.0
    # Written so that it also refuses NaN.
    return max(requested, wait) if requested <= _LONGEST_RETRY_AFTER else None


def _reason(error: Exception) -> str:
    match error:
        case openai.APITimeoutError():
            return "timeout"
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            return "key"
        case openai.RateLimitError() | openai.InternalServerError():
            return "overloaded"
        case openai.APIStatusError():
            return "request"
    return "unreachable"
