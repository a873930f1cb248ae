"""Memo for one turn: what was computed or looked up once in a turn is not computed again in it.

Only for what nobody changes: texts, numbers, results, and the rows of products, stores and towns, which a turn reads
once and shares. Whoever gets such a row may prefetch into it, but not set its fields; nobody changes a list of them.
"""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_ABSENT: Final = object()
_memo: ContextVar[dict[Hashable, dict[Any, Any]] | None] = ContextVar("remembered", default=None)


@contextmanager
def remembering() -> Iterator[None]:
    """Start an empty memo that lasts until the block ends, in whatever threads its work is done."""
    token = _memo.set({})
    try:
        yield
    finally:
        _memo.reset(token)


def remembered(kind: Hashable, keys: Collection[K], read: Callable[[set[K]], Mapping[K, V]]) -> dict[K, V]:
    """Return what `read` finds for these keys; it is called only with keys that this turn's memo does not hold yet.

    `kind` names what is read. Outside of `remembering` nothing is stored: `read` is called with all keys.
    """
    memo = _memo.get()
    if memo is None:
        return dict(read(set(keys)))
    known = memo.setdefault(kind, {})
    if new := set(keys).difference(known):
        known |= dict.fromkeys(new, _ABSENT) | dict(read(new))
    return {key: known[key] for key in keys if known[key] is not _ABSENT}
