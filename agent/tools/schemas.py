"""Derive JSON schemas from the tools' models: for a model's API, the committed snapshot and the documentation."""

from functools import cache
from typing import Any, Final

from agent.tools.base import Tool
from agent.tools.registry import TOOLS

# Strict function calling refuses keywords that it cannot enforce; the server enforces them all.
_KEPT: Final = ("type", "enum", "const", "anyOf", "items", "description")


@cache
def _definitions() -> tuple[dict[str, Any], ...]:
    return tuple(
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": parameters_strict(tool),
                "strict": True,
            },
        }
        for tool in TOOLS
    )


def function_definitions() -> list[dict[str, Any]]:
    """Return the tools as OpenAI function definitions."""
    return list(_definitions())


def parameters_strict(tool: Tool) -> dict[str, Any]:
    """Return the arguments' schema for strict calling: all are required, optional ones nullable, no others allowed."""
    properties = tool.arguments.model_json_schema()["properties"]
    return {
        "type": "object",
        "properties": {name: _plain(schema) for name, schema in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }


def contract_schemas() -> dict[str, Any]:
    """Return every tool's schemas as its models define them, for the committed snapshot."""
    return {
        tool.name: {
            "arguments": tool.arguments.model_json_schema(),
            "success": [model.model_json_schema() for model in tool.success],
            "failure": tool.failure.model_json_schema(),
            "function": definition,
        }
        for tool, definition in zip(TOOLS, function_definitions(), strict=True)
    }


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    plain = {key: schema[key] for key in _KEPT if key in schema}
    if "anyOf" in plain:
        options = [_plain(option) for option in plain.pop("anyOf")]
        if all([*option] == ["type"] for option in options):
            plain["type"] = [option["type"] for option in options]
        else:
            plain["anyOf"] = options
    if "items" in plain:
        plain["items"] = _plain(plain["items"])
    return plain
