"""Arguments that break a tool's schema are named field by field and run nothing, at both doors."""

from typing import Any

import pytest

from agent.models import ToolCall
from agent.tools.base import redact
from agent.tools.registry import TOOLS

pytestmark = pytest.mark.django_db

RIGHT: dict[str, dict[str, Any]] = {
    "get_medication_by_name": {"medication_name": "Advil"},
    "check_inventory": {"medication_id": 1},
    "prescription_management": {"user_identifier": "x@example.com", "action": "LIST"},
    "inventory_check": {"query": "Advil", "language": "en"},
    "inventory_find_equivalent": {"med_id": "1", "language": "en"},
    "prescription_verify": {"patient_id": "1", "med_id": "1", "intent": "new", "language": "en"},
    "interaction_check": {"med_ids": ["1", "2"], "language": "en"},
    "get_medication_info": {"query": "Advil"},
    "check_prescription_requirement": {"query": "Advil"},
    "check_stock": {"medication_query": "Advil"},
}

WRONG = [
    ("get_medication_by_name", "medication_name", 1),
    ("get_medication_by_name", "medication_name", None),
    ("get_medication_by_name", "medication_name", ["Advil"]),
    ("get_medication_by_name", "medication_name", "x" * 501),
    ("get_medication_by_name", "medication_name", "Ad\x00vil"),
    ("get_medication_by_name", "medication_name", "\ud800"),
    ("check_inventory", "medication_id", True),
    ("check_inventory", "medication_id", 1.5),
    ("check_inventory", "medication_id", 1e300),
    ("check_inventory", "medication_id", 2**63),
    ("check_inventory", "medication_id", -(2**63) - 1),
    ("check_inventory", "medication_id", {"id": 1}),
    ("check_inventory", "store_id", "101"),
    ("check_inventory", "store_id", True),
    ("check_inventory", "store_id", 10**30),
    ("prescription_management", "prescription_id", "1"),
    ("prescription_management", "prescription_id", [1]),
    ("prescription_management", "user_identifier", 501234567),
    ("prescription_management", "action", None),
    ("inventory_check", "language", "fr"),
    ("inventory_check", "language", None),
    ("inventory_find_equivalent", "require_same_form", "yes"),
    ("inventory_find_equivalent", "require_same_strength", 1),
    ("prescription_verify", "intent", "steal"),
    ("prescription_verify", "patient_id", 10000101),
    ("interaction_check", "med_ids", "1,2"),
    ("interaction_check", "med_ids", ["1"] * 51),
    ("check_stock", "show_all_stores", "true"),
    ("check_stock", "store_query", 104),
]


@pytest.mark.parametrize("name", [tool.name for tool in TOOLS])
def test_the_right_arguments_are_accepted(call: Any, name: str) -> None:
    assert "errors" not in call(name, **RIGHT[name])


@pytest.mark.parametrize(("name", "field", "value"), WRONG)
def test_a_wrong_value_names_its_field(call: Any, name: str, field: str, value: Any) -> None:
    before = ToolCall.objects.count()
    errors = call(name, **RIGHT[name] | {field: value})["errors"]
    assert [error["field"] for error in errors] == [field]
    assert errors[0]["message"]
    assert ToolCall.objects.count() == before


def test_a_whole_number_may_be_written_with_a_point(call: Any) -> None:
    assert call("check_inventory", medication_id=5.0, store_id=1.0)["inventory"]["qty"] == 200


def test_a_wrong_item_of_a_list_is_named(call: Any) -> None:
    errors = call("interaction_check", med_ids=["1", True, 2.5], language="en")["errors"]
    assert [error["field"] for error in errors] == ["med_ids.1", "med_ids.2"]


@pytest.mark.parametrize("name", [tool.name for tool in TOOLS])
def test_unknown_and_missing_fields_are_named(call: Any, name: str) -> None:
    extra = call(name, **RIGHT[name], patient="everybody")["errors"]
    assert [error["field"] for error in extra] == ["patient"]
    required = (
        next(tool for tool in TOOLS if tool.name == name).arguments.model_json_schema().get("required", [])
    )
    assert sorted(error["field"] for error in call(name).get("errors", [])) == sorted(required)


def test_an_error_does_not_repeat_what_was_sent(call: Any) -> None:
    errors = call("prescription_verify", **RIGHT["prescription_verify"] | {"intent": "dana@example.com"})[
        "errors"
    ]
    assert "dana" not in str(errors)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b'"text"', b"null", b"3", b"\xff\xfe", b'{"medication_name": NaN}', b"[" * 20_000,
        b'{"medication_name": ' + b"9" * 5_000 + b"}", b'{"\\ud800": 1}', b'{"medication_name": "\\ud800"}',
    ],
)  # fmt: skip
def test_a_body_that_is_no_object_is_refused(post: Any, body: bytes) -> None:
    response = post("get_medication_by_name", body)
    assert response.status_code == 400
    errors = response.json()["errors"]
    assert errors and all(set(error) == {"field", "message"} for error in errors)


def test_a_body_that_is_too_large_is_refused(post: Any) -> None:
    assert post("get_medication_by_name", b" " * 70_000 + b"{}").status_code == 413


def test_redaction_removes_contacts_and_identifiers() -> None:
    assert redact(
        {
            "user_identifier": "dana@example.com",
            "patient_id": "10000101",
            "query": "call me at 050-123 45 67 or dana@example.com about 500 mg",
            "med_ids": ["1", "0501234567"],
            "prescription_id": 7,
            "store_query": None,
        }
    ) == {
        "user_identifier": "***",
        "patient_id": "***",
        "query": "call me at *** or *** about 500 mg",
        "med_ids": ["1", "***"],
        "prescription_id": 7,
        "store_query": None,
    }
