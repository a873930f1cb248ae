"""Health checks: whether this process runs, and whether the parts that it needs answer."""

import logging
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from typing import Final, Literal

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse

from pharmacy_site.lib.counters import counters
from pharmacy_site.lib.shutdown import shutting_down

State = Literal["ok", "in process", "down"]
SECONDS: Final = 1.0

logger = logging.getLogger(__name__)
# As many threads as parts: while one hangs, the next request reports it as down and starts no further thread.
_threads: Final = ThreadPoolExecutor(max_workers=4, thread_name_prefix="health")


def alive(request: HttpRequest) -> HttpResponse:
    """Answer that the process runs."""
    return HttpResponse("ok", content_type="text/plain")


def ready(request: HttpRequest) -> JsonResponse:
    """Return each part's state: "degraded" without one of them, 503 without the database or while the process ends."""
    probes = {
        "database": _threads.submit(_database),
        "cache": _threads.submit(_cache),
        "channel_layer": _threads.submit(_channel_layer),
        "broker": _threads.submit(_broker),
    }
    parts = {name: _state(name, probe) for name, probe in probes.items()}
    whole = "down" if parts["database"] == "down" else "degraded" if "down" in parts.values() else "ok"
    if shutting_down.is_set():
        whole = "ending"
    response = JsonResponse({"status": whole, **parts}, status=503 if whole in ("down", "ending") else 200)
    response["Cache-Control"] = "no-store"
    return response


def _state(name: str, probe: "Future[State]") -> State:
    try:
        return probe.result(timeout=SECONDS)
    except TooLate:
        probe.cancel()
        logger.warning("%s did not answer in time", name)
    except Exception as error:
        logger.warning("%s is down: %s", name, type(error).__name__)
    return "down"


def _database() -> State:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            cursor.fetchone()
    finally:
        # It is this thread's own; with a pool it goes back there.
        connection.close()
    return "ok"


def _cache() -> State:
    if not settings.REDIS_URL:
        return "in process"
    counters().get("health")
    return "ok"


def _channel_layer() -> State:
    if not settings.REDIS_URL:
        return "in process"
    import redis  # not above: it takes long to load, and is used only with the setting

    client = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=SECONDS, socket_connect_timeout=SECONDS)
    try:
        client.ping()
    finally:
        client.close()
    return "ok"


def _broker() -> State:
    if not settings.CELERY_BROKER_URL:
        return "in process"
    from kombu.connection import Connection  # not above, as with redis

    with Connection(settings.CELERY_BROKER_URL, connect_timeout=SECONDS) as broker:  # type: ignore[no-untyped-call]
        broker.ensure_connection(max_retries=1, timeout=SECONDS)
    return "ok"
