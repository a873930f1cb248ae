"""What was read once is not read again while one piece of work goes on: names that a turn resolves several times.

Only what depends on its key alone, and never longer than the work: catalogues change.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_ABSENT: Final = object()
_memory: ContextVar[dict[object, dict[Any, Any]] | None] = ContextVar("remembered", default=None)


@contextmanager
def remembering() -> Iterator[None]:
    """Remember until the block ends, in whatever threads its work is done."""
    token = _memory.set({})
    try:
        yield
    finally:
        _memory.reset(token)


def remembered(kind: object, keys: Collection[K], read: Callable[[set[K]], Mapping[K, V]]) -> Mapping[K, V]:
    """Return what `read` finds for the keys; nobody asks again for those of this kind that it was asked for before."""
    memory = _memory.get()
    if memory is None:
        return read(set(keys))
    known = memory.setdefault(kind, {})
    if new := set(keys).difference(known):
        known |= dict.fromkeys(new, _ABSENT) | dict(read(new))
    return {key: known[key] for key in keys if known[key] is not _ABSENT}
