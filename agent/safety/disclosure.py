"""Remove the quantities of controlled medicines from a call's findings: customers have to ask the branch."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

from pharmacy_site.lib.json_values import rebuilt, same, walk
from pharmacy_site.lib.remembered import remembered

V = TypeVar("V")

_QUANTITIES: Final = frozenset({"qty", "quantity", "qty_on_hand", "low", "threshold"})
_IDS: Final = ("med_id", "medication_id", "id")
WITHHELD: Final = "ask the branch"


def disclosed(findings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool's result or evidence (JSON) without the quantities of controlled medicines."""
    controlled = _controlled(findings)
    if not controlled:
        return dict(findings)
    shown: dict[str, Any] = _without(findings, controlled, hide="*" in controlled)
    return shown


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
    """Return a value without the quantities of these medicines; `hide`: the value is part of one of them."""
    if isinstance(value, Mapping):
        own = next((str(value[key]).removeprefix("med-") for key in _IDS if key in value), "")
        hide = hide or own in controlled
        return {
            key: WITHHELD
            if (hide and key in _QUANTITIES) or key in controlled
            else _without(item, controlled, hide=hide)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_without(item, controlled, hide=hide) for item in value]
    return value


def without_directions(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Return evidence without a prescription's directions, which only the customer's own card shows."""
    kept: dict[str, Any] = rebuilt(evidence, same, _not_directions)
    return kept


def _not_directions(mapping: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    return ((key, item) for key, item in mapping.items() if not str(key).startswith("directions_"))


class Findings:
    """The result and evidence of one call, as a key of the turn's memo; compared by identity, since they are large."""

    def __init__(self, result: Mapping[str, Any], evidence: Mapping[str, Any]) -> None:
        self.result, self.evidence = result, evidence

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Findings) and self.result is other.result and self.evidence is other.evidence

    def __hash__(self) -> int:
        return hash((id(self.result), id(self.evidence)))

    def once(self, kind: str, read: "Callable[[Findings], V]") -> V:
        """Return what `read` computes from these findings, once in a turn."""
        return remembered(kind, (self,), lambda _: {self: read(self)})[self]


def disclosed_of(result: Mapping[str, Any], evidence: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a model may read of a call: its "result" and its "facts". Callers must not change it."""
    return Findings(result, evidence).once("disclosed", _disclosed_of)


def facts_of(result: Mapping[str, Any], evidence: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what an answer may state of a call: what a model may read without ids, whose numbers prove no quantity.

    Callers must not change it.
    """
    return Findings(result, evidence).once("facts", _facts_of)


def _disclosed_of(found: Findings) -> dict[str, Any]:
    return disclosed({"result": found.result, "facts": without_directions(found.evidence)})


def _facts_of(found: Findings) -> dict[str, Any]:
    facts: dict[str, Any] = rebuilt(disclosed_of(found.result, found.evidence), same, _without_ids)
    return facts


def _without_ids(mapping: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    return (
        (key, item) for key, item in mapping.items() if not str(key).endswith(("_id", "Id")) and key != "id"
    )
