"""Temporary."""

import re
from collections.abc import Mapping, Sequence
from typing import Any


class Placeholders:
    """The personal values of one conversation and what stands for them outside the house."""

    def __init__(self, known: Mapping[str, Sequence[str]] = {}) -> None:
        self._of: dict[str, str] = {}
        for kind, values in known.items():
            for value in values:
                self._of.setdefault(value, "[[PATIENT]]" if kind == "PATIENT" else f"[[{kind}_1]]")

    def hide(self, text: str) -> str:
        """Free text."""
        for match in re.findall(r"[^\s@]+@[^\s@]+|0[\d-]{8,}", text):
            self._of.setdefault(match, f"[[EMAIL_{len(self._of) + 2}]]")
        return str(self.hide_known(text))

    def hide_known(self, value: Any) -> Any:
        """JSON."""
        return self._mapped(value, self._of)

    def restore(self, value: Any) -> Any:
        """Back."""
        back: dict[str, str] = {}
        for key, name in self._of.items():
            back.setdefault(name, key)
        return self._mapped(value, back)

    def _mapped(self, value: Any, table: Mapping[str, str]) -> Any:
        if isinstance(value, str):
            for key in sorted(table, key=len, reverse=True):
                value = value.replace(key, table[key])
            return value
        if isinstance(value, Mapping):
            return {key: self._mapped(item, table) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._mapped(item, table) for item in value]
        return value
