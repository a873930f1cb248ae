"""Asking a served application over connections that stay open."""

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from benchmarks.servers import Server

CONNECTIONS = 16


@dataclass(frozen=True)
class Sample:
    """What one round of requests took: requests per second, the server's CPU per request, each one's milliseconds."""

    per_second: float
    cpu: float | None
    milliseconds: list[float]


def request_bytes(path: str, body: object, *, key: str = "") -> bytes:
    """Return one POST with a JSON body as it goes over the wire."""
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(content)}\r\n" + (f"Authorization: Bearer {key}\r\n" if key else "")
    return head.encode() + b"\r\n" + content


def load(server: Server, requests: Sequence[bytes], count: int) -> Sample:
    """Send so many of the requests in turn over all connections; any answer but 200 ends the measurement."""
    before = server.cpu()
    seconds, taken = asyncio.run(_load(server.port, list(islice(cycle(requests), count))))
    after = server.cpu()
    cpu = None if before is None or after is None else (after - before) * 1000 / count
    return Sample(count / seconds, cpu, taken)


async def _load(port: int, requests: list[bytes]) -> tuple[float, list[float]]:
    waiting = iter(requests)
    taken: list[float] = []
    pairs = [await asyncio.open_connection("127.0.0.1", port) for _ in range(CONNECTIONS)]

    async def work(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for request in waiting:
            began = time.perf_counter()
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
            body = await reader.readexactly(length)
            taken.append((time.perf_counter() - began) * 1000)
            if head.split(b" ", 2)[1] != b"200":
                raise RuntimeError(f"the server answered {head[:40]!r}: {body[:200]!r}")

    began = time.perf_counter()
    await asyncio.gather(*(work(*pair) for pair in pairs))
    seconds = time.perf_counter() - began
    for _reader, writer in pairs:
        writer.close()
    return seconds, taken
