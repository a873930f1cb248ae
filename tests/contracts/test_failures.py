"""A database that breaks: each family's code, never a success, nothing leaked, the caller's transaction still usable."""

import logging
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from agent.tools.base import ToolContext
from agent.tools.registry import TOOLS, call_tool
from inventory.models import Medication
from prescriptions.models import Patient

pytestmark = pytest.mark.django_db

SECRET = "password authentication failed for user postgres"
ARGUMENTS: dict[str, dict[str, Any]] = {
    "get_medication_by_name": {"medication_name": "Advil"},
    "check_inventory": {"medication_id": 1},
    "prescription_management": {"user_identifier": "david.cohen@example.com", "action": "LIST"},
    "inventory_check": {"query": "Advil", "language": "en"},
    "inventory_find_equivalent": {"med_id": "7", "language": "he"},
    "prescription_verify": {"patient_id": "10000101", "med_id": "2", "intent": "new", "language": "en"},
    "interaction_check": {"med_ids": ["1", "2"], "language": "en"},
    "get_medication_info": {"query": "Advil"},
    "check_prescription_requirement": {"query": "Advil"},
    "check_stock": {"medication_query": "Advil"},
}


def broken(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
    if sql.startswith(("SELECT", "INSERT", "UPDATE")):
        raise DatabaseError(SECRET)
    return execute(sql, params, many, context)


@pytest.fixture(params=["chat", "http"])
def caller(request: pytest.FixtureRequest, system: ToolContext) -> ToolContext:
    if request.param == "http":
        return system
    patient = Patient.objects.get(mrn="10000101")
    return ToolContext(actor="chat:tests", channel="chat", language="en", patient=patient)


@pytest.mark.parametrize("name", [tool.name for tool in TOOLS])
def test_a_broken_database_gives_the_error_of_the_tools_family(
    caller: ToolContext, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert call_tool(name, ARGUMENTS[name], caller).ok
    with connection.execute_wrapper(broken), caplog.at_level(logging.ERROR):
        outcome = call_tool(name, ARGUMENTS[name], caller)
    assert outcome.ok is False
    family = next(tool.family for tool in TOOLS if tool.name == name)
    if family == "S0":
        assert list(outcome.result) == ["success", "error_code", "error_message"]
        assert (outcome.result["success"], outcome.result["error_code"]) == (False, "INTERNAL")
    elif family == "S1":
        assert list(outcome.result) == ["ok", "error"]
        assert (outcome.result["ok"], outcome.result["error"]["code"]) == (False, "DB_ERROR")
    else:
        assert outcome.result == {"ok": False, "reason": "INTERNAL"}
    assert outcome.evidence == {}
    assert SECRET not in str(outcome.result)
    assert SECRET not in caplog.text and "david" not in caplog.text
    assert f"tool {name} failed: DatabaseError" in caplog.text
    assert call_tool(name, ARGUMENTS[name], caller).ok


def test_a_broken_query_leaves_the_callers_transaction_usable(
    system: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_such_table(*args: Any, **kwargs: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM no_such_table")

    with transaction.atomic():
        monkeypatch.setattr("agent.tools.check_inventory.level_at", no_such_table)
        outcome = call_tool("check_inventory", {"medication_id": 1}, system)
        assert outcome.code == "INTERNAL"
        assert Medication.objects.filter(pk=1).exists()
