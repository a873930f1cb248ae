"""A tool over HTTP, with key, throttle, validation and record, against the plainest REST framework view."""

import os
import random
import time
from contextlib import ExitStack
from statistics import median
from typing import Any

import psycopg

from benchmarks.databases import POSTGRES, Databases
from benchmarks.http_load import CONNECTIONS, Sample, load, request_bytes
from benchmarks.measure import SEED, percentile, ratio
from benchmarks.servers import Server, served

TITLE = f"A tool over HTTP, {CONNECTIONS} connections, one process"
NOTES = (
    "Baselines, in the same run: `DRF plain` is REST framework on its defaults, unauthenticated, without a query;",
    "`DRF fetch` also fetches one row by its key, on Django's default connection handling.",
    "× plain, × fetch: our requests/s over theirs, median of the alternating pairs. p50, p99: milliseconds.",
    "CPU ms: the server process's per request (that of the client and of PostgreSQL not in it), which a busy machine disturbs least.",
    "Sessions: new PostgreSQL sessions in 200 requests.",
)
ROUNDS, REQUESTS, WARM, COUNTED = 5, 120, 100, 200
PLAIN, FETCH = "DRF plain", "DRF fetch"


def measure(own: Databases) -> list[dict[str, Any]]:
    """Return a row per server and view."""
    import django

    django.setup()
    requests = _requests()
    return [row for server in ("daphne", "uvicorn") for row in _server(server, requests, own)]


def _requests() -> dict[str, list[bytes]]:
    """Return the requests to each view: products and stores of the demo data in a seeded order."""
    from django.contrib.contenttypes.models import ContentType

    from agent.tools.base import ToolContext
    from agent.tools.registry import call_tool
    from agent.web.authentication import key_issue
    from inventory.models import Medication, StockLevel

    context = ToolContext("key:0", "http", "en", scopes=frozenset({"tools"}))
    chance = random.Random(SEED)
    names = sorted(Medication.objects.values_list("name_en", flat=True))
    names = [
        name for name in names if call_tool("get_medication_by_name", {"medication_name": name}, context).ok
    ]
    pairs = sorted(StockLevel.objects.values_list("medication_id", "store_id"))
    key = key_issue(name="benchmark", scopes=["tools"])
    ids = sorted(ContentType.objects.values_list("pk", flat=True))
    asked: dict[str, list[tuple[str, dict[str, Any]]]] = {
        PLAIN: [("/plain/", {"name": name}) for name in names],
        FETCH: [("/fetch/", {"id": pk}) for pk in ids],
        "check_inventory": [
            ("/api/v1/tools/check_inventory/", {"medication_id": medication, "store_id": store})
            for medication, store in pairs
        ],
        "get_medication_by_name": [
            ("/api/v1/tools/get_medication_by_name/", {"medication_name": name}) for name in names
        ],
    }
    return {
        view: [
            request_bytes(path, body, key="" if view in (PLAIN, FETCH) else key)
            for path, body in chance.sample(bodies, len(bodies))
        ]
        for view, bodies in asked.items()
    }


def _server(server: str, requests: dict[str, list[bytes]], own: Databases) -> list[dict[str, Any]]:
    env = dict(os.environ)
    baseline = {**env, "DJANGO_SETTINGS_MODULE": "benchmarks.plain_drf"}
    with ExitStack() as stack:
        ours = stack.enter_context(served(server, "pharmacy_site.asgi:application", env))
        other = stack.enter_context(served(server, "benchmarks.plain_drf:application", baseline))
        servers = {view: other if view in (PLAIN, FETCH) else ours for view in requests}
        for view in requests:
            load(servers[view], requests[view], WARM)
        samples: dict[str, list[Sample]] = {view: [] for view in requests}
        for turn in range(ROUNDS):
            order = list(requests) if turn % 2 == 0 else list(reversed(requests))
            for view in order:
                samples[view].append(load(servers[view], requests[view], REQUESTS))
        sessions = {view: _sessions(own, servers[view], requests[view]) for view in requests}
    speed = {view: [sample.per_second for sample in taken] for view, taken in samples.items()}
    rows = []
    for view, taken in samples.items():
        milliseconds = [one for sample in taken for one in sample.milliseconds]
        rows.append(
            {
                "database": own.vendor,
                "server": server,
                "view": view,
                "requests/s": median(speed[view]),
                "p50": percentile(milliseconds, 0.5),
                "p99": percentile(milliseconds, 0.99),
                "CPU ms": _median([sample.cpu for sample in taken if sample.cpu is not None]),
                "× plain": ratio(speed[view], speed[PLAIN]),
                "× fetch": ratio(speed[view], speed[FETCH]),
                "sessions": sessions[view],
            }
        )
    return rows


def _median(values: list[float]) -> float | None:
    return median(values) if values else None


def _sessions(own: Databases, server: Server, requests: list[bytes]) -> int | None:
    """Return how many sessions the database began while so many requests were answered."""
    if own.vendor != "postgresql":
        return None
    name = own.url("tool_http").rpartition("/")[2]
    with psycopg.connect(f"{POSTGRES}/postgres", autocommit=True) as watcher:

        def begun() -> int:
            time.sleep(1.2)  # a server process hands in its counts at most once a second
            row = watcher.execute(
                "SELECT sessions FROM pg_stat_database WHERE datname = %s", [name]
            ).fetchone()
            return int(row[0]) if row else 0

        before = begun()
        load(server, requests, COUNTED)
        return begun() - before
