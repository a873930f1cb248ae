"""The schemas that others build on: the committed snapshot, the documentation, and the strict definitions."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent.management.commands.write_contracts import contract_files
from agent.tools.base import Arguments
from agent.tools.registry import TOOLS
from agent.tools.schemas import function_definitions

NAMES = [
    "get_medication_by_name", "check_inventory", "prescription_management", "inventory_check",
    "inventory_find_equivalent", "prescription_verify", "interaction_check", "get_medication_info",
    "check_prescription_requirement", "check_stock",
]  # fmt: skip

PARAMETERS: dict[str, dict[str, Any]] = {
    "get_medication_by_name": {"medication_name": "string"},
    "check_inventory": {
        "medication_id": ["integer", "string", "null"],
        "medication_name": ["string", "null"],
        "store_id": ["integer", "null"],
    },
    "prescription_management": {
        "user_identifier": "string",
        "action": "string",
        "prescription_id": ["integer", "null"],
    },
    "inventory_check": {"query": "string", "language": ["he", "en"]},
    "inventory_find_equivalent": {
        "med_id": ["integer", "string"],
        "language": ["he", "en"],
        "require_same_strength": ["boolean", "null"],
        "require_same_form": ["boolean", "null"],
    },
    "prescription_verify": {
        "patient_id": "string",
        "med_id": ["integer", "string"],
        "intent": ["new", "refill"],
        "language": ["he", "en"],
    },
    "interaction_check": {"med_ids": "array", "language": ["he", "en"]},
    "get_medication_info": {"query": "string"},
    "check_prescription_requirement": {"query": "string"},
    "check_stock": {
        "medication_query": "string",
        "store_query": ["string", "null"],
        "show_all_stores": ["boolean", "null"],
    },
}


@pytest.mark.parametrize("path", contract_files(), ids=lambda path: path.name)
def test_the_committed_files_match_the_models(path: Path) -> None:
    """`manage.py write_contracts` writes them; look at the difference before committing it."""
    assert path.read_text(encoding="utf-8") == contract_files()[path]


def test_ten_tools_by_their_exact_names() -> None:
    assert [tool.name for tool in TOOLS] == NAMES
    assert [definition["function"]["name"] for definition in function_definitions()] == NAMES


def shape(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"]
    if "anyOf" in schema:
        return [option["type"] for option in schema["anyOf"]]
    return schema["type"]


@pytest.mark.parametrize("definition", function_definitions(), ids=NAMES)
def test_every_definition_is_strict(definition: dict[str, Any]) -> None:
    assert set(definition) == {"type", "function"} and definition["type"] == "function"
    function = definition["function"]
    assert set(function) == {"name", "description", "parameters", "strict"} and function["strict"] is True
    parameters = function["parameters"]
    assert parameters["additionalProperties"] is False
    assert parameters["required"] == list(parameters["properties"])
    assert {name: shape(schema) for name, schema in parameters["properties"].items()} == PARAMETERS[
        function["name"]
    ]
    unsupported = ("maxLength", "pattern", "default", "minimum", "maximum", "title", "maxItems")
    assert not any(f'"{word}"' in json.dumps(parameters) for word in unsupported)


@pytest.mark.parametrize("tool", TOOLS, ids=NAMES)
def test_models_are_strict_and_closed(tool: Any) -> None:
    for model in (tool.arguments, *tool.success, tool.failure):
        assert model.model_config["strict"] is True and model.model_config["extra"] == "forbid"
    assert issubclass(tool.arguments, Arguments)
    for model in tool.success:
        required = set(model.model_json_schema()["required"])
        constant = {name for name, field in model.model_fields.items() if not field.is_required()}
        assert required | constant == set(model.model_fields)
        assert constant <= {"success", "ok", "error", "patient_found"}


def test_the_documentation_names_every_tool_and_code() -> None:
    text = next(content for path, content in contract_files().items() if path.name == "contracts.md")
    for name in NAMES:
        assert f"## `{name}`" in text
    for code in (
        "NOT_FOUND", "AMBIGUOUS", "INTERNAL", "INVALID_STATE", "UNAUTHORIZED", "MED_NOT_FOUND", "DB_ERROR",
        "NO_EQUIVALENTS_FOUND", "PATIENT_NOT_FOUND", "UNKNOWN_MED_ID", "CITY_NOT_SERVED",
    ):  # fmt: skip
        assert code in text
    assert text.count("### Evidence") == 10 and text.count("Evidence of a success") == 10
