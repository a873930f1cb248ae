"""Walk through a JSON value, or make a new one from it. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

_PLAIN: Final = (str, int, float, type(None))  # most values of a result; checked first because that is quick
_Entries = Iterable[tuple[Any, Any]]


def walk(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value inside a value with its key, itself first, then in their order.

    What is in a list has the key of the list; the value itself has the one that is given.
    """
    yield key, value
    if isinstance(value, _PLAIN):
        return
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from walk(item, str(name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from walk(item, key)


def rebuilt(
    value: Any,
    leaf: Callable[[Any], Any],
    entries: Callable[[Mapping[Any, Any]], _Entries] = Mapping.items,
) -> Any:
    """Return a copy with each plain value changed by `leaf`; `entries` tells what a mapping's copy is made from."""
    if isinstance(value, _PLAIN):
        return leaf(value)
    if isinstance(value, Mapping):
        return {name: rebuilt(item, leaf, entries) for name, item in entries(value)}
    if isinstance(value, list | tuple):
        return [rebuilt(item, leaf, entries) for item in value]
    return leaf(value)


def same(value: Any) -> Any:
    """Return a plain value as it is: the `leaf` where only a mapping's entries change."""
    return value


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object that JSON's pairs make (`object_pairs_hook`). Raises ValueError when a key comes twice.

    Which of two counts is a matter of the reader, so that two of them could understand a request differently.
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key comes twice")
    return found
