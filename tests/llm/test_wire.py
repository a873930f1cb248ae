"""The wire to a model, without a conversation: connections, lines and clocks, against servers that send what they like."""

import asyncio
import gc
import json
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from scripted_model import KEY, MODEL

from agent.inference.base import ModelUnavailable, Usage, Withheld
from agent.inference.openai import ChatCompletions, Completion, client_open
from pharmacy_site.lib.breaker import Breaker

Send = Callable[[bytes], Awaitable[None]]
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"
ASKED = [{"role": "user", "content": "Hi"}]


def event(text: str = "", finish: str | None = None) -> bytes:
    chunk = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]}
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


FAREWELL = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
ANSWER = event("Yes") + event(" indeed.") + event(finish="stop") + b"data: [DONE]\n\n"


OTHER = ANSWER.replace(b"Yes", b"No")
ANSWER_TO_ANOTHER = HEAD + b"%x\r\n%b\r\n" % (len(OTHER), OTHER) + LAST


class Server:
    """Answers each request as scripted; counts who connected and who is gone, and the tokens that its client counted."""

    def __init__(
        self,
        reply: Callable[[Send], Awaitable[None]],
        unasked: bytes = b"",
    ) -> None:
        self.reply, self.unasked = reply, unasked
        self.connected = self.gone = 0
        self.usage = Usage()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connected += 1

        async def send(data: bytes) -> None:
            writer.write(b"%x\r\n%b\r\n" % (len(data), data))
            await writer.drain()

        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]))
                writer.write(HEAD)
                await self.reply(send)
                writer.write(LAST)
                if self.unasked:
                    await asyncio.sleep(0.1)
                    writer.write(self.unasked)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.gone += 1
        finally:
            writer.close()


@asynccontextmanager
async def asking(
    reply: Callable[[Send], Awaitable[None]],
    *,
    first_token: float = 5.0,
    whole: float = 8.0,
    unasked: bytes = b"",
) -> AsyncIterator[tuple[Server, Callable[..., Awaitable[Completion]]]]:
    """A server, and a function that asks it and hears."""
    server = Server(reply, unasked)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    async with listening, client_open(KEY, address, whole) as client:
        completions = ChatCompletions(
            client,
            model=MODEL,
            breaker=Breaker("model", failures=5, seconds=30),
            first_token=first_token,
        )

        async def ask(hear: Callable[[str], Awaitable[None]]) -> Completion:
            until = asyncio.get_running_loop().time() + whole
            return await completions.complete(ASKED, [], server.usage, hear, until)

        yield server, ask


async def nothing(piece: str) -> None:
    pass


def sends(*pieces: bytes, pause: float = 0.0) -> Callable[[Send], Awaitable[None]]:
    async def reply(send: Send) -> None:
        for piece in pieces:
            await send(piece)
            await asyncio.sleep(pause)

    return reply


async def test_one_connection_serves_answer_after_answer() -> None:
    async with asking(sends(ANSWER)) as (server, ask):
        for _ in range(5):
            assert (await ask(nothing)).text == "Yes indeed."
        assert (server.connected, server.gone) == (1, 0)


@pytest.mark.parametrize("unasked", [ANSWER_TO_ANOTHER, FAREWELL])
async def test_unrequested_data_between_answers_is_discarded(unasked: bytes) -> None:
    async with asking(sends(ANSWER), unasked=unasked) as (server, ask):
        assert (await ask(nothing)).text == "Yes indeed."
        await asyncio.sleep(0.2)
        assert (await ask(nothing)).text == "Yes indeed."
        assert server.connected == 2


async def test_a_complete_answer_does_not_wait_for_the_end_of_the_response() -> None:
    async with asking(sends(ANSWER, *[b": still here\n\n"] * 50, pause=0.05)) as (server, ask):
        started = time.monotonic()
        assert (await ask(nothing)).text == "Yes indeed."
        assert time.monotonic() - started < 1
        assert (await ask(nothing)).text == "Yes indeed."
        assert server.connected == 2


async def test_a_complete_answer_counts_although_its_connection_breaks() -> None:
    async def reply(send: Send) -> None:
        await send(ANSWER)
        raise ConnectionError

    async with asking(reply) as (server, ask):
        for _ in range(2):
            assert (await ask(nothing)).text == "Yes indeed."
        assert server.connected == 2


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
async def test_lines_may_come_in_any_pieces(end: bytes) -> None:
    told = event("שלום\u2028\u0085 hi") + event(" ✓", "stop") + b"data: [DONE]"
    told = told.replace(b"\n", end)
    for size in (1, 7, len(told)):
        pieces = [told[start : start + size] for start in range(0, len(told), size)]
        async with asking(sends(*pieces)) as (_, ask):
            assert (await ask(nothing)).text == "שלום\u2028\u0085 hi ✓"


@pytest.mark.parametrize("told", [(-1, 5), (10**12, 5), (5, 10**12)])
async def test_an_impossible_token_count_is_replaced_by_an_estimate(told: tuple[int, int]) -> None:
    report = {"choices": [], "usage": dict(zip(("prompt_tokens", "completion_tokens"), told, strict=True))}
    async with asking(sends(b"data: " + json.dumps(report).encode() + b"\n\n" + ANSWER)) as (server, ask):
        assert (await ask(nothing)).text == "Yes indeed."
        assert (server.usage.tokens_in, server.usage.tokens_out) == (
            len(str(ASKED)) // 3,
            len("Yes indeed.") // 3,
        )


async def test_a_line_without_end_is_refused() -> None:
    async def reply(send: Send) -> None:
        while True:
            await send(b"x" * 50_000)

    async with asking(reply) as (_, ask):
        with pytest.raises(ModelUnavailable, match="too_long"):
            await ask(nothing)


@pytest.mark.parametrize("line", [b": still here\n\n", b"\n", b"x", b'data: {"choices": []}\n\n'])
async def test_lines_without_content_count_as_silence(line: bytes) -> None:
    async with asking(sends(*[line] * 1_000, pause=0.02), first_token=0.3) as (_, ask):
        started = time.monotonic()
        with pytest.raises(ModelUnavailable, match="timeout"):
            await ask(nothing)
        assert 0.25 < time.monotonic() - started < 1.5


async def test_silence_is_counted_from_the_last_piece() -> None:
    async def reply(send: Send) -> None:
        for _ in range(3):
            await send(event("Yes"))
            await asyncio.sleep(0.25)
        await asyncio.sleep(5)

    async with asking(reply, first_token=0.4) as (_, ask):
        started = time.monotonic()
        with pytest.raises(ModelUnavailable, match="timeout"):
            await ask(nothing)
        assert 0.85 < time.monotonic() - started < 2


async def test_our_own_processing_time_is_not_silence() -> None:
    async def slow(piece: str) -> None:
        await asyncio.sleep(0.5)

    async with asking(sends(ANSWER), first_token=0.2) as (_, ask):
        assert (await ask(slow)).text == "Yes indeed."
    async with asking(sends(ANSWER), first_token=0.2, whole=0.7) as (_, ask):
        with pytest.raises(ModelUnavailable, match="timeout"):  # but of the whole time
            await ask(slow)


@pytest.mark.parametrize("error", [KeyError, ValueError, TypeError])
async def test_an_error_of_the_caller_is_not_reported_as_the_models(error: type[Exception]) -> None:
    async def broken(piece: str) -> None:
        raise error("ours")

    async with asking(sends(ANSWER)) as (_, ask):
        with pytest.raises(error, match="ours"):
            await ask(broken)


async def test_a_cancelled_request_closes_its_connection() -> None:
    heard = asyncio.Event()

    async def hear(piece: str) -> None:
        heard.set()

    async with asking(sends(*[event("on and on ")] * 200, pause=0.02)) as (server, ask):
        asked: asyncio.Task[Any] = asyncio.ensure_future(ask(hear))
        await heard.wait()
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        async with asyncio.timeout(2):
            while not server.gone:
                await asyncio.sleep(0.02)


@contextmanager
def collected_generators() -> Iterator[list[str]]:
    """The names of asynchronous generators that are open when the garbage collector finds them."""
    first, close = sys.get_asyncgen_hooks()
    assert close
    names: list[str] = []

    def found(generator: AsyncGenerator[Any, Any]) -> None:
        # The SDK leaves its own generators and those of `httpx2.Response` open after every answer; they read no connection.
        if "/openai/" not in generator.ag_code.co_filename and "Response." not in generator.__qualname__:
            names.append(generator.__qualname__)
        close(generator)

    sys.set_asyncgen_hooks(first, found)
    try:
        yield names
        gc.collect()
    finally:
        sys.set_asyncgen_hooks(first, close)


@pytest.mark.parametrize("ending", ["whole", "withheld", "cancelled", "cut off by us"])
async def test_no_generator_that_reads_a_connection_is_left_to_the_garbage_collector(ending: str) -> None:
    heard = asyncio.Event()

    async def hear(piece: str) -> None:
        heard.set()
        if ending == "withheld":
            raise Withheld("advice")
        if ending == "cancelled":
            await asyncio.sleep(5)

    on_and_on = [event("on and on ")] * 5
    pieces = {"whole": [ANSWER], "cut off by us": [*on_and_on, b"x" * 11_000_000]}.get(ending, on_and_on)
    with collected_generators() as names:
        async with asking(sends(*pieces, pause=0.02)) as (_, ask):
            answer: asyncio.Future[Completion] = asyncio.ensure_future(ask(hear))
            await heard.wait()
            if ending == "cancelled":
                answer.cancel()
            [outcome] = await asyncio.gather(answer, return_exceptions=True)
            expected = {
                "whole": Completion,
                "withheld": Withheld,
                "cancelled": asyncio.CancelledError,
                "cut off by us": ModelUnavailable,
            }
            assert type(outcome) is expected[ending]
            del answer, outcome
    assert names == []
