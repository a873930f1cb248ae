"""Serving an application in a process of its own, and asking it over connections that stay open."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from benchmarks.databases import ROOT

CONNECTIONS = 16


@dataclass(frozen=True)
class Sample:
    """What one round of requests took: requests per second, the server's CPU per request, each one's milliseconds."""

    per_second: float
    cpu: float | None
    milliseconds: list[float]


@dataclass(frozen=True)
class Server:
    """A server that was started here."""

    port: int
    pid: int

    def cpu(self) -> float | None:
        """Return the CPU seconds that it has used so far, where the system tells (Linux)."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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


@contextmanager
def served(server: str, application: str, env: dict[str, str]) -> Iterator[Server]:
    """Serve an application with daphne or uvicorn, one process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    commands = {
        "daphne": ["daphne", "-b", "127.0.0.1", "-p", str(port), "-v", "0", application],
        "uvicorn": ["uvicorn", "--host", "127.0.0.1", "--port", str(port), "--lifespan", "off",
                    "--no-access-log", "--log-level", "error", application],
    }  # fmt: skip
    process = subprocess.Popen([sys.executable, "-m", *commands[server]], cwd=ROOT, env=env)
    try:
        _wait(port, process)
        yield Server(port, process.pid)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the server did not answer in time")
