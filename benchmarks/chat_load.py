"""Many open conversations on the served site, against echoes on the same servers: memory, latency, lost sockets, CPU.

python benchmarks/run.py --only chat_load [--connections 500 2000] [--seconds 60] [--ramp 30]
"""

import os
import sys
import time
from dataclasses import dataclass
from typing import Any

import psycopg
import redis

from benchmarks.chat_client import Job, Steps
from benchmarks.databases import POSTGRES, Databases
from benchmarks.measure import SEED, percentile
from benchmarks.servers import Server, served

CONNECTIONS = [int(size) for size in os.environ.get("BENCH_CONNECTIONS", "500 2000").split()]
SECONDS = float(os.environ.get("BENCH_SECONDS", "60"))
RAMP = float(os.environ.get("BENCH_RAMP", "30"))
REDIS = os.environ.get("BENCH_REDIS", "redis://127.0.0.1:6379/9")
EVERY = 30.0  # seconds between a conversation's messages
SETTLE = 2.0  # seconds until the memory is read
IDLE = max(SETTLE, RAMP / 3)  # seconds in which nobody says anything
SERVE, UVICORN, DAPHNE = "serve", "uvicorn", "daphne"
CHAT, CHANNELS, STARLETTE = "chat", "Channels echo", "Starlette echo"
APPLICATIONS = {
    CHAT: ("pharmacy_site.asgi:application", "/ws/chat/"),
    CHANNELS: ("benchmarks.chat_echo:channels", "/echo/"),
    STARLETTE: ("benchmarks.chat_echo:starlette", "/echo/"),
}
FLAGS = {SERVE: [], UVICORN: ["--ws-per-message-deflate", "false"], DAPHNE: []}
TITLE = "Open conversations, each with a message every 30 s"
NOTES = (
    f"Command: python benchmarks/run.py --only chat_load --connections {' '.join(map(str, CONNECTIONS))}"
    f" --seconds {SECONDS:g} --ramp {RAMP:g}",
    "`serve` is `manage.py serve` (uvicorn); × 2: two processes. SQLite rows: without Redis; PostgreSQL rows: with it.",
    "Baselines, in the same run, by the same client at the same rate, one process: `Channels echo` is a bare",
    "AsyncWebsocketConsumer, `Starlette echo` a bare route; uvicorn without compression.",
    "KB: memory (PSS, all processes of the server) that each of the second half of the conversations added when it had said",
    "hello and no more (the first half takes up what the start left free); KB talk: what each had added when all had",
    "talked. × Channels, × Starlette: our KB over theirs at this size, on the same kind of server (Starlette: on uvicorn).",
    "ack: message.send to message.accepted, of an echo to the echo; × echo: our p50 over that of the Channels echo. answer:",
    "to the whole answer. Times in milliseconds. msg/s, answers/s: accepted, finished in the window.",
    "lost: sockets that closed by themselves. errors: refused or failed. open: messages without an answer when as much time",
    "as the window had passed again. CPU ms: of the server's processes (not of PostgreSQL and Redis) per message; idle %: of",
    "one core while nobody says anything. client: cores that the client used; late: how late it was itself (p99), which is",
    "in the times. sessions, Redis: most connections of the site to PostgreSQL and to Redis in the window.",
)
Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One measurement: what is served, by which server, in how many processes, for how many conversations."""

    what: str
    server: str
    workers: int
    size: int


def absent(vendor: str) -> str:
    """Return why this cannot be measured here, empty when it can."""
    try:
        redis.Redis.from_url(REDIS).ping()
    except redis.RedisError as error:
        return f"Redis is needed, set BENCH_REDIS: {error}" if vendor == "postgresql" else ""
    return ""


def measure(own: Databases) -> list[Row]:
    """Return a row per case, the baselines behind what they are baselines of."""
    rows = []
    for size in CONNECTIONS if own.vendor == "postgresql" else CONNECTIONS[:1]:
        echoes = {
            case: case_measure(case, own)
            for case in (
                Case(CHANNELS, UVICORN, 1, size),
                Case(STARLETTE, UVICORN, 1, size),
                Case(CHANNELS, DAPHNE, 1, size),
            )
        }
        several = [Case(CHAT, SERVE, 2, size)] if own.vendor == "postgresql" else []
        for case in (Case(CHAT, SERVE, 1, size), Case(CHAT, DAPHNE, 1, size), *several):
            same = echoes[Case(CHANNELS, DAPHNE if case.server == DAPHNE else UVICORN, 1, size)]
            starlette = echoes[Case(STARLETTE, UVICORN, 1, size)]
            ours = case_measure(case, own)
            rows.append(
                ours
                | {
                    "× Channels": _over(ours, same, "KB"),
                    "× Starlette": _over(ours, starlette, "KB"),
                    "ack × echo": _over(ours, same, "ack p50"),
                }
            )
        rows += echoes.values()
    return rows


def case_measure(case: Case, own: Databases, *, every: float = EVERY) -> Row:
    """Serve, open, talk, close; return the row."""
    print(f"  {case.size} × {case.what} on {case.server} × {case.workers} …", file=sys.stderr)
    application, path = APPLICATIONS[case.what]
    workers = ["--workers", str(case.workers)] if case.workers > 1 else []
    with served(case.server, application, _environment(own), *FLAGS[case.server], *workers) as server:
        # An echo says all there is to say in a shorter time.
        ramp, window = (RAMP, SECONDS) if case.what == CHAT else (RAMP / 3, SECONDS / 2)
        job = Job(
            "chat" if case.what == CHAT else "echo", server.port, path, case.size, ramp, window, every, window, SEED
        )  # fmt: skip
        with Steps.of(job) as client:
            return _row(case, own, server, client)


def _row(case: Case, own: Databases, server: Server, client: Steps) -> Row:
    client.step("warm")
    client.step("half")
    time.sleep(SETTLE)
    before = server.memory()
    client.step("open")
    time.sleep(SETTLE)
    opened, silent = server.memory(), server.cpu()
    time.sleep(IDLE)
    cpu = server.cpu()
    most = {"sessions": None, "Redis": None} if case.what == CHAT else {}
    seen = client.step("talk", watch=lambda: _watch(most, own) if most else None)
    used, ended = _less(server.cpu(), cpu), server.memory()
    resting = _less(cpu, silent)
    client.step("close")
    return {
        "database": own.vendor,
        "what": case.what,
        "server": case.server if case.workers == 1 else f"{case.server} × {case.workers}",
        "size": case.size,
        "KB": _each(before, opened, (case.size + 1) // 2),
        "KB talk": _each(opened, ended, case.size),
        "× Channels": None,
        "× Starlette": None,
        "msg/s": seen["in_window"][0] / client.job.window,
        "ack p50": _percentile(seen["accepted"], 0.5),
        "ack p99": _percentile(seen["accepted"], 0.99),
        "ack × echo": None,
        "answers/s": seen["in_window"][1] / client.job.window if case.what == CHAT else None,
        "answer p50": _percentile(seen["answered"], 0.5),
        "answer p99": _percentile(seen["answered"], 0.99),
        "lost": sum(seen["lost"].values()),
        "errors": sum(seen["errors"].values()) + seen["failed"],
        "open": seen["unanswered"],
        "CPU ms": None if used is None else used * 1000 / max(1, seen["sent"]),
        "idle %": None if resting is None else resting * 100 / IDLE,
        "client": seen["cpu"],
        "late": _percentile(seen["lag"], 0.99),
        **most,
    }


def _environment(own: Databases) -> dict[str, str]:
    limits = ("CHAT_SOCKETS_OPEN", "CHAT_SOCKETS_PER_MINUTE", "CHAT_CONVERSATIONS_PER_HOUR")
    many = dict.fromkeys(limits, "1000000")  # they share an address
    bus = {"REDIS_URL": REDIS} if own.vendor == "postgresql" else {}
    return {**os.environ, **many, **bus}


def _watch(most: Row, own: Databases) -> None:
    """Keep the largest number of connections that the site has to PostgreSQL and to Redis."""
    if own.vendor != "postgresql":
        return
    name = os.environ["DATABASE_URL"].rpartition("/")[2]
    with psycopg.connect(f"{POSTGRES}/postgres", autocommit=True) as watcher:
        row = watcher.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = %s", [name]).fetchone()
    with redis.Redis.from_url(REDIS, db=0) as bus:
        database = REDIS.rpartition("/")[2]
        clients = sum(client["db"] == database for client in bus.client_list())
    most["sessions"] = max(most["sessions"] or 0, row[0] if row else 0)
    most["Redis"] = max(most["Redis"] or 0, clients)


def _each(before: int | None, after: int | None, count: int) -> float | None:
    return None if before is None or after is None else (after - before) / 1024 / count


def _less(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else after - before


def _percentile(values: list[float], part: float) -> float | None:
    return percentile(values, part) if values else None


def _over(ours: Row, theirs: Row, column: str) -> float | None:
    return ours[column] / theirs[column] if ours[column] and theirs[column] else None
