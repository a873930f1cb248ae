"""Limits on how often something happens, counted in the cache for all processes."""

import logging
import time
from functools import cache

from django.core.cache import BaseCache, caches

log = logging.getLogger(__name__)


@cache
def counters() -> BaseCache:
    """Return the cache client that limits are counted with, one per process.

    Django makes a client for each thread or task; under ASGI that is one Redis connection for every open socket. The
    clients of Redis and of the local memory are thread-safe.
    """
    return caches.create_connection("default")


def use_admitted(name: str, *, limit: int, seconds: int = 60) -> bool:
    """Count one more use under this name and return whether it is within the limit of so many seconds from the first use.

    When the cache fails, uses are admitted and that is logged: nothing may stop with Redis.
    """
    try:
        counters().add(name, 0, seconds)
        return bool(counters().incr(name) <= limit)
    except ValueError:
        # The time ended between the two calls.
        return True
    except Exception as error:
        # Each cache client has errors of its own.
        log.warning("throttle not counted, the cache failed: %s", type(error).__name__)
        return True


def seconds_refused(name: str, *, limit: int, seconds: int) -> int:
    """Count one more use under this name and return 0, or the seconds until the next window when it is one too many.

    Windows of so many seconds are those of the clock, so that whoever is refused can be told when to come back. When the cache
    fails, uses are admitted, as by `use_admitted`.
    """
    now = time.time()
    window = int(now // seconds)
    if use_admitted(f"{name}:{window}", limit=limit, seconds=seconds + 5):
        return 0
    return int((window + 1) * seconds - now) + 1
