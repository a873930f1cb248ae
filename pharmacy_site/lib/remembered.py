"""What was read once is not read again: within one piece of work, and for what has an edition, while that stands.

`remembered` is for whatever depends on its key alone, and never outlives the work. `Kept` outlives it: rows that change
only together with a stamp in the database. Neither does anything outside of `remembering`.
"""

import threading
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
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


class Kept:
    """Rows by kind and id that a process keeps while their edition stands, at most `most` of each kind.

    `edition` reads the stamp of what is in the database now, None when nothing may be kept. It is read once per piece
    of work, and before the rows: what is kept under a stamp is never older than it.
    """

    def __init__(self, edition: Callable[[], Hashable | None], *, most: int) -> None:
        self._edition, self._most = edition, most
        self._lock = threading.Lock()
        self._stamp: Hashable | None = None
        self._shelves: dict[str, dict[Any, Any]] = {}

    def get(self, kind: str, ids: Collection[K], read: Callable[[set[K]], Mapping[K, V]]) -> dict[K, V]:
        """Return what there is for these ids, read anew where it is not kept. Shared: nobody changes what it returns."""
        if not ids:
            return {}
        shelves = self._now()
        if shelves is None:
            return dict(read(set(ids)))
        shelf = shelves.setdefault(kind, {})
        found = {key: row for key in ids if (row := shelf.get(key, _ABSENT)) is not _ABSENT}
        if missing := set(ids).difference(found):
            new = read(missing)
            found |= new
            with self._lock:
                shelf |= new
                for key in list(shelf)[: max(0, len(shelf) - self._most)]:
                    del shelf[key]
        return found

    def _now(self) -> dict[str, dict[Any, Any]] | None:
        """The shelves of the edition that this piece of work began with; None outside of one."""
        memory = _memory.get()
        if memory is None:
            return None
        if (mine := memory.get(self)) is None:
            memory[self] = mine = {"shelves": self._of(self._edition())}
        shelves: dict[str, dict[Any, Any]] | None = mine["shelves"]
        return shelves

    def _of(self, stamp: Hashable | None) -> dict[str, dict[Any, Any]] | None:
        if stamp is None:
            return None
        with self._lock:
            if stamp != self._stamp:
                self._stamp, self._shelves = stamp, {}  # a work that began before goes on with its own
            return self._shelves
