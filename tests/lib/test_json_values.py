"""Walking through JSON and copying it with changes."""

from types import MappingProxyType
from typing import Any

from pharmacy_site.lib.json_values import rebuilt, same, walk

VALUE = {"a": [1, {"b": None}], "c": (True, "x"), "d": {}}


def test_every_value_comes_with_its_key_outer_before_inner() -> None:
    assert list(walk(VALUE)) == [
        ("", VALUE),
        ("a", [1, {"b": None}]),
        ("a", 1),
        ("a", {"b": None}),
        ("b", None),
        ("c", (True, "x")),
        ("c", True),
        ("c", "x"),
        ("d", {}),
    ]
    assert list(walk(5, "km")) == [("km", 5)]


def test_a_copy_has_changed_leaves_and_keeps_its_shape() -> None:
    copy = rebuilt(VALUE, lambda leaf: str(leaf))
    assert copy == {"a": ["1", {"b": "None"}], "c": ["True", "x"], "d": {}}
    assert VALUE["c"] == (True, "x")


def test_a_filter_of_entries_decides_what_a_mapping_keeps() -> None:
    def without_b(fields: Any) -> Any:
        return ((name, item) for name, item in fields.items() if name != "b")

    assert rebuilt(MappingProxyType(VALUE), same, without_b) == {"a": [1, {}], "c": [True, "x"], "d": {}}
