"""Write docs/contracts.md from the tools' models: arguments, results, codes and evidence of each tool."""

import sys
from typing import Any, Final

from agent.tools.base import Tool
from agent.tools.registry import TOOLS

_INTRODUCTION: Final = """# The ten tools

Written by `manage.py write_contracts`; a test compares. Names, fields and codes are those of the product's three
contract documents: S0 (`success`, `error_code`, `error_message`), S1 (`ok`, `error`), S2 (`ok`, `reason`).

- A success has all its fields, null where there is no value. A failure has exactly the fields below.
- A medication's id is a number; S0 shows `2`, S1 `"2"`, S2 `"med-2"`, and every tool takes all three.
- Over HTTP (`POST /api/v1/tools/<name>/`) optional arguments may be left out; the schemas for models
  (`GET /api/v1/tools/`) make them nullable. Arguments that break the schema are HTTP 400, no result.
- A text is at most 500 characters without NUL, a number at most 63 bits.
- S2 names no reason for data that cannot be read; ours is `INTERNAL`.
- Evidence is recorded with the call and lets the assistant say more than the contract's fields; HTTP callers do not
  see it.
"""


def contracts_text() -> str:
    """Return the whole document."""
    return "\n".join([_INTRODUCTION, *(_tool(tool) for tool in TOOLS)])


def _tool(tool: Tool) -> str:
    module = sys.modules[tool.run.__module__]
    about = (module.__doc__ or "").strip().split("\n\n")
    lines = [
        f"## `{tool.name}`",
        "",
        f"{tool.family} · scope `{tool.scope}`",
        "",
        tool.description,
        "",
        "### Arguments",
        "",
    ]
    lines += _table(tool.arguments.model_json_schema())
    for model in tool.success:
        lines += ["", f"### Success: {_summary(model)}", ""]
        lines += _table(model.model_json_schema())
    lines += ["", f"### Failure: {_summary(tool.failure)}", ""]
    lines += _table(tool.failure.model_json_schema())
    lines += ["", "### Evidence", "", *(part for part in about[1:] if "vidence" in part), ""]
    return "\n".join(lines)


def _summary(model: type) -> str:
    text = (model.__doc__ or "").strip().rstrip(".")
    return text[:1].lower() + text[1:]


def _table(schema: dict[str, Any]) -> list[str]:
    rows = ["| field | type | required |", "|---|---|---|"]
    rows += [
        f"| `{name}` | {kind} | {'yes' if required else 'no'} |"
        for name, kind, required in _fields(schema, schema, "")
    ]
    return rows


def _fields(schema: dict[str, Any], root: dict[str, Any], before: str) -> list[tuple[str, str, bool]]:
    found = []
    for name, part in schema.get("properties", {}).items():
        place = f"{before}{name}"
        found.append((place, _kind(part, root), name in schema.get("required", []) or "const" in part))
        for option in [part, *part.get("anyOf", [])]:
            inner = option.get("items", option)
            if "$ref" in inner:
                suffix = "[]." if "items" in option else "."
                found += _fields(root["$defs"][inner["$ref"].rsplit("/", 1)[1]], root, place + suffix)
    return found


def _kind(part: dict[str, Any], root: dict[str, Any]) -> str:
    if "anyOf" in part:
        return " or ".join(dict.fromkeys(_kind(option, root) for option in part["anyOf"]))
    if "$ref" in part:
        return "object"
    if "const" in part:
        return f"`{str(part['const']).lower() if isinstance(part['const'], bool) else part['const']}`"
    if "enum" in part:
        return ", ".join(f"`{value}`" for value in part["enum"])
    if part.get("type") == "array":
        return f"list of {_kind(part['items'], root)}"
    return str(part.get("type", "any"))
