"""Read a model's YAML answer against a schema. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import yaml

_FENCE: Final = re.compile(r"```(?:ya?ml)?[ \t]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL | re.IGNORECASE)
_LONGEST: Final = 20_000


class AnswerMalformed(Exception):
    """A model's answer that breaks its schema; `reason` names the field and the rule, and none of the answer's words."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class _PlainLoader(yaml.SafeLoader):
    """Values as they are written, without anchors: a short text with them can stand for gigabytes."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("an alias")
        return super().compose_node(parent, index)


def parse_yaml_with_schema(
    yaml_text: str,
    required_fields: Sequence[str],
    optional_fields: Sequence[str] = (),
    field_types: Mapping[str, type | tuple[type, ...]] | None = None,
) -> dict[str, Any]:
    """Return the fields of a YAML mapping, fenced in backticks or not; other fields are left out.

    Raises AnswerMalformed when it is no mapping, a required field is missing or empty, or a field has another type.
    """
    fenced = _FENCE.search(yaml_text)
    text = fenced.group(1) if fenced else yaml_text
    if len(text) > _LONGEST:
        raise AnswerMalformed("too long")
    try:
        # A SafeLoader with fewer features.
        loaded = yaml.load(text, Loader=_PlainLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise AnswerMalformed("not YAML") from None
    if not isinstance(loaded, dict):
        raise AnswerMalformed("no mapping")
    fields = {name: loaded[name] for name in (*required_fields, *optional_fields) if name in loaded}
    for name in required_fields:
        if fields.get(name) is None or fields[name] == "":
            raise AnswerMalformed(f"{name}: missing")
    for name, wanted in (field_types or {}).items():
        value = fields.get(name)
        if value is None:
            continue
        # True is an int to Python.
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            raise AnswerMalformed(f"{name}: another type")
    return fields
