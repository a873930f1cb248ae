"""A language model that answers at once: an OpenAI-compatible server in a process of its own, with ready bytes.

    python -m benchmarks.model_server

It prints its port, and ends when its stdin does. A request that has no results yet is answered with two calls, one that
has with a text in thirty pieces. Nothing is checked here: the tests have a strict server.
"""

import asyncio
import json
import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

MESSAGE = "Do you have Advil in Florentin?"
CALLS = (
    ("get_medication_by_name", {"medication_name": "Advil"}),
    ("check_stock", {"medication_query": "Advil", "store_query": "Florentin", "show_all_stores": None}),
)
ANSWER = (
    "Happy to check that for you! [f23] About the prescription that you may need for it: [f6] "
    "Is there anything else that I can look up for you?"
)
"""It names facts by the ids that the site gives them; the other loops show it as it is."""
PIECES = 30
_TOLD = b"tool_call_id"


def _pieces(text: str) -> list[str]:
    """A text in thirty pieces."""
    ends = [round(len(text) * place / PIECES) for place in range(PIECES + 1)]
    return [text[start:end] for start, end in pairwise(ends)]


def _deltas_calling() -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": None}
    for place, (name, arguments) in enumerate(CALLS):
        function = {"name": name, "arguments": ""}
        yield {
            "tool_calls": [{"index": place, "id": f"call_{place}", "type": "function", "function": function}]
        }
        yield {"tool_calls": [{"index": place, "function": {"arguments": json.dumps(arguments)}}]}


def _deltas_answering() -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    for piece in _pieces(ANSWER):
        yield {"content": piece}


def response(deltas: Iterator[dict[str, Any]], finish: str) -> bytes:
    """A streamed chat completion as it goes over the wire: each event a chunk of the transfer."""
    frame = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    chunks: list[dict[str, Any]] = [
        {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    chunks.append({**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    usage = {"prompt_tokens": 900, "completion_tokens": 40, "total_tokens": 940}
    chunks.append({**frame, "choices": [], "usage": usage})
    events = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"]
    body = "".join(f"{len(event):x}\r\n{event}\r\n" for event in events) + "0\r\n\r\n"
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return (head + body).encode()


class Connection(asyncio.Protocol):
    """One client's connection, which stays open."""

    calling = response(_deltas_calling(), "tool_calls")
    answering = response(_deltas_answering(), "stop")

    def reply(self, body: bytes) -> bytes:
        """Return the response to a request's body."""
        return self.answering if _TOLD in body else self.calling

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._come = b""

    def data_received(self, data: bytes) -> None:
        self._come += data
        head, ends, body = self._come.partition(b"\r\n\r\n")
        if not ends:
            return
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        if len(body) >= length:
            self._transport.write(self.reply(body))
            self._come = body[length:]


async def main(connection: type[Connection] = Connection) -> None:
    """Serve until stdin ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(connection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
