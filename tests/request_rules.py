"""What OpenAI's Chat Completions API accepts, as far as this product uses it.

Relied on: the published guides "Function calling" and "Structured outputs" (supported schemas), the error texts of the
API ("An assistant message with 'tool_calls' must be followed by …"), and the parameters that the `openai` SDK knows.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from openai.types.chat import completion_create_params

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_PARAMETERS: Final = frozenset(completion_create_params.CompletionCreateParamsStreaming.__annotations__) | {
    *completion_create_params.CompletionCreateParamsBase.__annotations__,
    "stream",
}
_MESSAGE_FIELDS: Final = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "refusal", "tool_calls"},
    "tool": {"role", "content", "tool_call_id"},
}

# In strict schemas. The guide also names `pattern` and `format` of strings, bounds of numbers and `minItems`/`maxItems`,
# but not for fine-tuned models, and several compatible servers refuse them: here they are refused like `minLength`,
# `maxLength` and `uniqueItems`, which it names nowhere, and `default`, which the API did refuse for a long time.
_KEYWORDS: Final = {
    "type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref", "$defs",
    "description", "title",
}  # fmt: skip
_TYPES: Final = {"string", "number", "integer", "boolean", "object", "array", "null"}
_DEEPEST, _MOST_PROPERTIES, _MOST_VALUES, _MOST_TOOLS, _LONGEST_DESCRIPTION = 10, 5_000, 1_000, 128, 1_024


def request_problems(body: Any, authorization: str) -> list[str]:
    """Return what OpenAI would refuse in a request; nothing when it is well-formed."""
    problems = []
    if not re.fullmatch(r"Bearer \S+", authorization):
        problems.append("no `Authorization: Bearer …`")
    if not isinstance(body, dict):
        return [*problems, "the body is no JSON object"]
    return [*problems, *_parameters(body), *_messages(body.get("messages")), *_tools(body)]


def tool_problems(tool: Any) -> list[str]:
    """Return what strict function calling would refuse in a tool's definition."""
    function = tool.get("function") if isinstance(tool, dict) else None
    if not isinstance(function, dict) or set(tool) != {"type", "function"} or tool["type"] != "function":
        return [f"a tool is no function: {tool!r:.200}"]
    name, description = function.get("name"), function.get("description", "")
    problems = [] if isinstance(name, str) and _NAME.fullmatch(name) else [f"a tool's name: {name!r}"]
    if extra := set(function) - {"name", "description", "parameters", "strict"}:
        problems.append(f"{name}: unknown {sorted(extra)}")
    if not isinstance(description, str) or len(description) > _LONGEST_DESCRIPTION:
        problems.append(f"{name}: the description is no text of at most {_LONGEST_DESCRIPTION} characters")
    if function.get("strict") is not True:
        problems.append(f"{name}: not strict")
    return problems + [f"{name}: {problem}" for problem in schema_problems(function.get("parameters"))]


def schema_problems(schema: Any) -> list[str]:
    """Return what strict mode would refuse in a schema."""
    if not isinstance(schema, dict) or schema.get("type") != "object" or "anyOf" in schema:
        return ["the root is no plain object schema"]
    problems = list(_schema(schema, "$", 0))
    nodes = list(_nodes(schema))
    if sum(len(node.get("properties", {})) for node in nodes) > _MOST_PROPERTIES:
        problems.append(f"more than {_MOST_PROPERTIES} properties")
    if sum(len(node.get("enum", [])) for node in nodes) > _MOST_VALUES:
        problems.append(f"more than {_MOST_VALUES} enum values")
    return problems


# -- The parts -----------------------------------------------------------------------------------------------
def _parameters(body: Mapping[str, Any]) -> Iterator[str]:
    if unknown := set(body) - _PARAMETERS:
        yield f"unknown parameters {sorted(unknown)}"
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "no model"
    if not isinstance(body.get("stream", False), bool):
        yield "`stream` is no boolean"
    if "stream_options" in body and not body.get("stream"):
        yield "`stream_options` without `stream`"
    if "max_tokens" in body and "max_completion_tokens" in body:
        yield "`max_tokens` beside `max_completion_tokens`"
    for name in ("max_tokens", "max_completion_tokens", "n"):
        if name in body and (type(body[name]) is not int or body[name] < 1):
            yield f"`{name}` is no positive integer"
    for name, most in (("temperature", 2), ("top_p", 1)):
        if name in body and not (type(body[name]) in {int, float} and 0 <= body[name] <= most):
            yield f"`{name}` is not between 0 and {most}"
    wanted = body.get("response_format", {"type": "text"})
    if not isinstance(wanted, dict) or wanted.get("type") not in {"text", "json_object", "json_schema"}:
        yield "an unknown `response_format`"
    elif wanted["type"] == "json_schema":
        form = wanted.get("json_schema") or {}
        if not _NAME.fullmatch(str(form.get("name", ""))) or form.get("strict") is not True:
            yield "`response_format` has no name or is not strict"
        yield from (f"response_format: {problem}" for problem in schema_problems(form.get("schema")))


def _tools(body: Mapping[str, Any]) -> Iterator[str]:
    if "tools" not in body:
        yield from (
            f"`{name}` without tools" for name in ("tool_choice", "parallel_tool_calls") if name in body
        )
        return
    tools = body["tools"]
    if not isinstance(tools, list) or not 1 <= len(tools) <= _MOST_TOOLS:
        yield f"`tools` is no list of 1 to {_MOST_TOOLS}"
        return
    for tool in tools:
        yield from tool_problems(tool)
    names = [
        tool["function"].get("name") for tool in tools if isinstance(tool, dict) and tool.get("function")
    ]
    if len(set(names)) < len(names):
        yield "two tools of one name"
    choice = body.get("tool_choice", "auto")
    if isinstance(choice, dict):
        chosen = (choice.get("function") or {}).get("name")
        if choice.get("type") != "function" or chosen not in names:
            yield "`tool_choice` names no tool that is offered"
    elif choice not in {"auto", "none", "required"}:
        yield "an unknown `tool_choice`"
    if not isinstance(body.get("parallel_tool_calls", True), bool):
        yield "`parallel_tool_calls` is no boolean"


def _messages(messages: Any) -> Iterator[str]:
    if not isinstance(messages, list) or not messages:
        yield "`messages` is no list with at least one"
        return
    waiting: list[str] = []
    for at, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in _MESSAGE_FIELDS:
            yield f"messages[{at}] has no known role"
            continue
        if unknown := set(message) - _MESSAGE_FIELDS[role]:
            yield f"messages[{at}]: unknown {sorted(unknown)}"
        if role == "tool":
            if message.get("tool_call_id") in waiting:
                waiting.remove(message["tool_call_id"])
            else:
                yield f"messages[{at}] answers no call that is waiting for it"
        elif waiting:
            yield f"messages[{at}] comes before the answers to {waiting}"
            waiting = []
        if role == "assistant" and "tool_calls" in message:
            yield from (f"messages[{at}]: {problem}" for problem in _calls(message["tool_calls"]))
            waiting = [call["id"] for call in message["tool_calls"] or () if "id" in call]
        if not _is_content(
            message.get("content"), empty=bool(message.get("tool_calls") or message.get("refusal"))
        ):
            yield f"messages[{at}]: content of a wrong type"
    if waiting:
        yield f"no answers to {waiting}"


def _calls(calls: Any) -> Iterator[str]:
    if not isinstance(calls, list) or not calls:
        yield "`tool_calls` is no list with at least one"
        return
    ids = [call.get("id") for call in calls]
    if len(set(ids)) < len(ids) or not all(isinstance(one, str) and one for one in ids):
        yield "calls without an id of their own"
    for call in calls:
        function = call.get("function") or {}
        if set(call) != {"id", "type", "function"} or call["type"] != "function":
            yield "a call that is no function call"
        if set(function) != {"name", "arguments"} or not _NAME.fullmatch(str(function["name"])):
            yield "a call without a proper name and arguments"
        elif not _is_object(function["arguments"]):
            yield "a call whose arguments are no JSON object in a text"


def _is_object(text: Any) -> bool:
    """OpenAI takes any text; chat templates of compatible servers parse it."""
    try:
        return isinstance(text, str) and isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _is_content(content: Any, *, empty: bool) -> bool:
    if content is None:
        return empty
    if isinstance(content, list):
        return bool(content) and all(
            isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
            for part in content
        )
    return isinstance(content, str)


def _schema(schema: Any, where: str, depth: int) -> Iterator[str]:
    if not isinstance(schema, dict):
        yield f"{where} is no schema"
        return
    if unknown := set(schema) - _KEYWORDS:
        yield f"{where}: {sorted(unknown)} not supported in strict mode"
    if depth > _DEEPEST:
        yield f"{where}: deeper than {_DEEPEST} levels"
        return
    named = schema.get("type", [])
    types = {named} if isinstance(named, str) else set(named)
    if not types <= _TYPES or not (types or schema.keys() & {"anyOf", "enum", "const", "$ref"}):
        yield f"{where}: no known type"
    properties = schema.get("properties", {})
    if "object" in types:
        if schema.get("additionalProperties") is not False:
            yield f"{where}: additionalProperties is not false"
        if sorted(schema.get("required", [])) != sorted(properties):
            yield f"{where}: required is not every property"
    if "array" in types and "items" not in schema:
        yield f"{where}: an array without items"
    for name, part in properties.items():
        yield from _schema(part, f"{where}.{name}", depth + 1)
    if "items" in schema:
        yield from _schema(schema["items"], f"{where}[]", depth + 1)
    for option in schema.get("anyOf", []):
        yield from _schema(option, where, depth)
    for name, part in schema.get("$defs", {}).items():
        yield from _schema(part, f"#/$defs/{name}", 0)


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(schema, dict):
        return
    yield schema
    parts = [
        *schema.get("properties", {}).values(),
        *schema.get("$defs", {}).values(),
        *schema.get("anyOf", []),
    ]
    for part in (*parts, schema.get("items")):
        yield from _nodes(part)
