"""What of a call's findings may be told: not how many packs there are of a controlled medicine (the branch is asked)."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

from pharmacy_site.lib.json_values import rebuilt, same, walk
from pharmacy_site.lib.remembered import remembered

V = TypeVar("V")

_QUANTITIES: Final = frozenset({"qty", "quantity", "qty_on_hand", "low", "threshold"})
_IDS: Final = ("med_id", "medication_id", "id")
KEPT_BACK: Final = "ask the branch"
_PLAIN: Final = (str, int, float, type(None))  # most values of a result, and told apart at once


def disclosed(told: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's result or evidence (JSON) without the quantities of controlled medicines."""
    controlled = _controlled(told)
    if not controlled:
        return dict(told)
    only = "*" in controlled
    kept: dict[str, Any] = _without(told, controlled, hide=only)
    return kept


def _controlled(value: Any) -> set[str]:
    """Return the ids of controlled medicines in a value; "*" when all of it is about one."""
    found: set[str] = set()
    for _, inner in walk(value):
        if not isinstance(inner, Mapping):
            continue
        flag, about = inner.get("controlled"), inner.get("medication")
        if isinstance(flag, list | tuple):
            found.update(map(str, flag))
        elif flag:
            found.add(str(inner.get("id", "*")))
        if isinstance(about, Mapping) and about.get("controlled"):
            found.add("*")
    return found


def _without(value: Any, controlled: set[str], *, hide: bool) -> Any:
    if isinstance(value, _PLAIN):
        return value
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


class Findings:
    """What one call found, as a key: it is large and nobody changes it, so it is known by being the same object."""

    def __init__(self, result: Mapping[str, Any], evidence: Mapping[str, Any]) -> None:
        self.result, self.evidence = result, evidence

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Findings) and self.result is other.result and self.evidence is other.evidence

    def __hash__(self) -> int:
        return hash((id(self.result), id(self.evidence)))

    def once(self, kind: str, read: "Callable[[Findings], V]") -> V:
        """Return what is read from these findings, read once in a turn."""
        return remembered(kind, (self,), lambda _: {self: read(self)})[self]


def told_of(result: Mapping[str, Any], evidence: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a call found without what is not disclosed: its "result" and its "facts". Not to be changed."""
    return Findings(result, evidence).once("disclosed", _told_of)


def facts_of(result: Mapping[str, Any], evidence: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a call found that an answer may state: all that is disclosed but ids, which count nothing. Not to be changed."""
    return Findings(result, evidence).once("facts", _facts_of)


def _told_of(found: Findings) -> dict[str, Any]:
    return disclosed({"result": found.result, "facts": found.evidence})


def _facts_of(found: Findings) -> dict[str, Any]:
    facts: dict[str, Any] = rebuilt(told_of(found.result, found.evidence), same, _but_ids)
    return facts


def _but_ids(mapping: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    return (
        (key, item) for key, item in mapping.items() if not str(key).endswith(("_id", "Id")) and key != "id"
    )
