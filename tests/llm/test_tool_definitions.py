"""The ten tools as a model is given them: strict function calling takes them as `GET /api/v1/tools/` lists them."""

from typing import Any

import pytest
from django.test import Client
from openai import OpenAI
from request_rules import schema_problems, tool_problems
from request_samples import ASK
from scripted_model import KEY, MODEL, ScriptedModel, says

from agent.tools.base import Tool
from agent.tools.registry import TOOLS
from agent.tools.schemas import function_definitions, parameters_strict
from agent.web.authentication import key_issue

NAMES = [tool.name for tool in TOOLS]


@pytest.mark.parametrize("definition", function_definitions(), ids=NAMES)
def test_strict_calling_accepts_the_definition(definition: dict[str, Any]) -> None:
    assert tool_problems(definition) == []


@pytest.mark.parametrize("tool", TOOLS, ids=NAMES)
def test_the_models_own_schema_would_be_refused(tool: Tool) -> None:
    """Lengths, patterns and bounds stay with the server: what is published for models leaves them out."""
    problems = " ".join(schema_problems(tool.arguments.model_json_schema()))
    assert "not supported in strict mode" in problems and "maxLength" in problems


@pytest.mark.parametrize("tool", TOOLS, ids=NAMES)
def test_null_is_accepted_where_it_is_offered(tool: Tool) -> None:
    """A strict model sends every argument, and null for those it does not need."""
    examples = {"string": "x", "integer": 1, "boolean": True, "array": []}
    sent = {}
    for name, schema in parameters_strict(tool)["properties"].items():
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        sent[name] = None if "null" in kinds else schema.get("enum", [examples[kinds[0]]])[0]
    assert set(tool.arguments.model_validate(sent).model_dump()) == set(sent)


def test_the_functions_are_those_of_the_published_list(
    scripted_model: ScriptedModel, client: Client, db: None
) -> None:
    key = key_issue(name="tests", scopes=["tools"])
    tools = client.get("/api/v1/tools/", headers={"authorization": f"Bearer {key}"}).json()["tools"]
    scripted_model.script(says("Yes."))
    with OpenAI(base_url=scripted_model.base_url, api_key=KEY, max_retries=0) as openai:
        openai.chat.completions.create(model=MODEL, messages=ASK, tools=tools)
    assert scripted_model.last.tools_offered == NAMES
