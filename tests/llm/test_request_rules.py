"""What the scripted model takes for well-formed, and what it refuses as OpenAI does."""

from typing import Any

import pytest
from request_rules import request_problems, schema_problems, tool_problems
from request_samples import ASK, TOOL
from scripted_model import KEY, MODEL


def called(*ids: str, **more: Any) -> dict[str, Any]:
    function = {"name": "check_stock", "arguments": "{}"}
    return {
        "role": "assistant",
        "tool_calls": [{"id": i, "type": "function", "function": function} for i in ids],
        **more,
    }


def result(of: str, content: Any = "{}") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": of, "content": content}


def problems(messages: Any = ASK, /, **more: Any) -> list[str]:
    return request_problems({"model": MODEL, "messages": messages, **more}, f"Bearer {KEY}")


@pytest.mark.parametrize(
    "request_body",
    [
        {},
        {
            "messages": [
                {"role": "system", "content": "Be brief."},
                *ASK,
                called("a", "b"),
                result("b"),
                result("a"),
            ]
        },
        {"messages": [*ASK, called("a", content=None), result("a", [{"type": "text", "text": "{}"}]), *ASK]},
        {"messages": [*ASK, called("a"), result("a"), called("b"), result("b")]},
        {"messages": [*ASK, {"role": "assistant", "content": "Yes."}, *ASK, *ASK]},
        {
            "tools": [TOOL],
            "tool_choice": "required",
            "parallel_tool_calls": True,
            "max_completion_tokens": 1200,
        },
        {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "check_stock"}}},
        {"stream": True, "stream_options": {"include_usage": True}, "temperature": 0.2, "store": False},
    ],
)
def test_a_valid_request_is_accepted(request_body: dict[str, Any]) -> None:
    assert problems(request_body.pop("messages", ASK), **request_body) == []


@pytest.mark.parametrize(
    ("request_body", "problem"),
    [
        ({"messages": [*ASK, called("a", "b"), result("a")]}, "no answers to ['b']"),
        ({"messages": [*ASK, called("a"), *ASK, result("a")]}, "before the answers to ['a']"),
        ({"messages": [*ASK, called("a"), result("a"), result("a")]}, "answers no call"),
        ({"messages": [*ASK, result("a")]}, "answers no call"),
        ({"messages": [*ASK, called("a", "a"), result("a"), result("a")]}, "an id of their own"),
        ({"messages": [*ASK, called()]}, "no list with at least one"),
        ({"messages": [*ASK, called("a"), result("a", {"ok": True})]}, "content of a wrong type"),
        ({"messages": [*ASK, called("a"), result("a", None)]}, "content of a wrong type"),
        ({"messages": [{"role": "user", "content": None}]}, "content of a wrong type"),
        ({"messages": [{"role": "assistant", "content": None}]}, "content of a wrong type"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": 5}]}]}, "content of a wrong type"),
        ({"messages": [{"role": "customer", "content": "Hi"}]}, "no known role"),
        ({"messages": [{"role": "user", "content": "Hi", "at": 5}]}, "unknown ['at']"),
        ({"messages": []}, "at least one"),
        ({"tools": []}, "no list of 1 to 128"),
        ({"tools": [TOOL, TOOL]}, "two tools of one name"),
        ({"tool_choice": "auto"}, "`tool_choice` without tools"),
        ({"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "x"}}}, "names no tool"),
        ({"tools": [TOOL], "tool_choice": "any"}, "unknown `tool_choice`"),
        ({"parallel_tool_calls": False}, "`parallel_tool_calls` without tools"),
        ({"stream_options": {"include_usage": True}}, "without `stream`"),
        ({"max_tokens": 1, "max_completion_tokens": 1}, "beside"),
        ({"max_tokens": 0}, "no positive integer"),
        ({"temperature": 3}, "between 0 and 2"),
        ({"colour": "red"}, "unknown parameters ['colour']"),
        ({"model": ""}, "no model"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "a"}}}, "not strict"),
    ],
)  # fmt: skip
def test_an_invalid_request_is_refused(request_body: dict[str, Any], problem: str) -> None:
    found = problems(request_body.pop("messages", ASK), **request_body)
    assert any(problem in one for one in found), found


@pytest.mark.parametrize("arguments", ["{", "[]", {"a": 1}, None])
def test_arguments_must_be_a_text_with_a_json_object(arguments: Any) -> None:
    message = called("a")
    message["tool_calls"][0]["function"]["arguments"] = arguments
    assert any("arguments" in one for one in problems([*ASK, message, result("a")]))


@pytest.mark.parametrize("body", [None, [], "text"])
def test_a_body_that_is_no_object_is_refused(body: Any) -> None:
    assert request_problems(body, f"Bearer {KEY}") == ["the body is no JSON object"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"strict": False}, "not strict"),
        ({"strict": None}, "not strict"),
        ({"name": "check stock"}, "a tool's name"),
        ({"name": "x" * 65}, "a tool's name"),
        ({"description": "x" * 1025}, "at most 1024"),
        ({"examples": []}, "unknown ['examples']"),
        ({"parameters": None}, "no plain object"),
        ({"parameters": {"type": "string"}}, "no plain object"),
    ],
)
def test_a_tool_must_be_strict(change: dict[str, Any], problem: str) -> None:
    assert tool_problems(TOOL) == []
    found = tool_problems({**TOOL, "function": {**TOOL["function"], **change}})
    assert any(problem in one for one in found), found


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        *[
            ({"type": "string", word: 1}, f"['{word}'] not supported")
            for word in ("default", "pattern", "format", "minLength", "maxLength", "minimum", "maximum", "multipleOf")
        ],
        ({"type": "array", "items": {"type": "string"}, "maxItems": 3}, "['maxItems'] not supported"),
        ({"oneOf": [{"type": "string"}]}, "['oneOf'] not supported"),
        ({"allOf": [{"type": "string"}]}, "['allOf'] not supported"),
        ({"type": "array"}, "an array without items"),
        ({"description": "anything"}, "no known type"),
        ({"type": "text"}, "no known type"),
        ({"type": "object", "properties": {}}, "additionalProperties is not false"),
        ({"type": ["object", "null"], "properties": {}}, "additionalProperties is not false"),
        ({"type": "array", "items": {"type": "object", "properties": {}}}, "$.a[]: additionalProperties"),
        ({"anyOf": [{"type": "string", "maxLength": 5}, {"type": "null"}]}, "['maxLength'] not supported"),
    ],
)  # fmt: skip
def test_a_schema_must_be_strict(part: dict[str, Any], problem: str) -> None:
    schema = {"type": "object", "properties": {"a": part}, "required": ["a"], "additionalProperties": False}
    assert any(problem in one for one in schema_problems(schema)), schema_problems(schema)


def test_every_property_must_be_required() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    assert schema_problems(schema) == ["$: required is not every property"]
    assert schema_problems({**schema, "required": ["a"]}) == []
