"""What of a call's findings may be told: not how many packs there are of a controlled medicine (the branch is asked)."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

_QUANTITIES: Final = frozenset({"qty", "quantity", "qty_on_hand", "low", "threshold"})
_IDS: Final = ("med_id", "medication_id", "id")
KEPT_BACK: Final = "ask the branch"


def disclosed(told: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's result or evidence (JSON) without the quantities of controlled medicines."""
    controlled = {str(pk) for pk in _controlled(told)}
    if not controlled:
        return dict(told)
    only = "*" in controlled
    kept: dict[str, Any] = _without(told, controlled, hide=only)
    return kept


def _controlled(value: Any) -> Iterator[object]:
    """The ids of controlled medicines in a value; "*" when all of it is about one."""
    if isinstance(value, Mapping):
        flag = value.get("controlled")
        if isinstance(flag, list | tuple):
            yield from flag
        elif flag:
            yield value.get("id", "*")
        about = value.get("medication")
        if isinstance(about, Mapping) and about.get("controlled"):
            yield "*"
        for item in value.values():
            yield from _controlled(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _controlled(item)


def _without(value: Any, controlled: set[str], *, hide: bool) -> Any:
    if isinstance(value, Mapping):
        own = next((str(value[key]).removeprefix("med-") for key in _IDS if key in value), "")
        hide = hide or own in controlled
        return {
            key: KEPT_BACK
            if (hide and key in _QUANTITIES) or key in controlled
            else _without(item, controlled, hide=hide)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_without(item, controlled, hide=hide) for item in value]
    return value


def facts_of(result: Mapping[str, Any], evidence: Mapping[str, Any]) -> dict[str, Any]:
    """What a call found that an answer may state: all but what is not disclosed, and no ids, which count nothing."""
    told: dict[str, Any] = _without_ids(disclosed({"result": result, "facts": evidence}))
    return told


def _without_ids(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: _without_ids(item)
            for key, item in value.items()
            if key != "id" and not str(key).endswith(("_id", "Id"))
        }
    if isinstance(value, list | tuple):
        return [_without_ids(item) for item in value]
    return value
