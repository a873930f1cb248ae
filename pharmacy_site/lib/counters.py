"""The cache that limits are counted in, one client per process.

Django makes a cache client for each thread or task; under ASGI that is one Redis connection for every open socket.
"""

from functools import cache

from django.core.cache import BaseCache, caches


@cache
def counters() -> BaseCache:
    """The default cache, for all threads: the clients of Redis and of the local memory are thread-safe."""
    return caches.create_connection("default")
