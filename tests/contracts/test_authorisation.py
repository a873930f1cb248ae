"""Whose data a call sees (T1, T5, T6): the session's patient in the chat, a scope over HTTP, whatever the call names."""

import logging
from typing import Any

import pytest

from agent.tools.base import InvalidArguments, NotAuthorised, ToolContext, UnknownTool
from agent.tools.registry import call_tool
from prescriptions.models import AuditEvent, Patient

pytestmark = pytest.mark.django_db

FOREIGN: list[tuple[str, Any]] = [
    ("sarah.levi@example.com", 1),
    ("SARAH.LEVI@EXAMPLE.COM", None),
    ("052-2345678", 1),
    ("10000102", 1),
    ("nobody@example.com", 1),
    ("", 1),
    ("%", 1),
    ("david.cohen@example.com,sarah.levi@example.com", 1),
    ("david.cohen@example.com\n", 3),
    ("me", 1),
    ("' OR 1=1 --", 1),
    ("david.cohen@example.com", 3),
    ("david.cohen@example.com", 999999),
    ("david.cohen@example.com", -1),
    ("david.cohen@example.com", 0),
    ("david.cohen@example.com", 2**63 - 1),
    ("david.cohen@example.com", 2**63),
    ("david.cohen@example.com", "1"),
    ("david.cohen@example.com", "٣"),
    ("david.cohen@example.com", [1, 3]),
    (["david.cohen@example.com"], 1),
]


@pytest.fixture
def david(demo: None) -> Patient:
    return Patient.objects.get(mrn="10000101")


def chat(patient: Patient | None) -> ToolContext:
    return ToolContext(actor="chat:tests", channel="chat", language="en", patient=patient)


def denials() -> int:
    return AuditEvent.objects.filter(what="authz_denied", who="chat:tests").count()


def reads() -> int:
    return AuditEvent.objects.filter(
        what__in=["prescriptions_read", "prescription_read", "patient_found"]
    ).count()


@pytest.mark.parametrize(
    "identifier", ["david.cohen@example.com", "David.Cohen@example.com", "050-1234567", "10000101"]
)
def test_the_verified_patient_sees_their_own(david: Patient, identifier: str) -> None:
    listed = call_tool(
        "prescription_management", {"user_identifier": identifier, "action": "LIST"}, chat(david)
    )
    assert [row["presc_id"] for row in listed.result["prescriptions"]] == [1, 2]
    arguments = {"patient_id": identifier, "med_id": "2", "intent": "refill", "language": "en"}
    assert (
        call_tool("prescription_verify", arguments, chat(david)).result["next_step"] == "allow_refill_request"
    )
    assert denials() == 0
    assert AuditEvent.objects.filter(what="prescriptions_read", patient_id=david.pk).count() == 2


@pytest.mark.parametrize(("identifier", "prescription_id"), FOREIGN)
def test_no_call_reads_another_patients_data(david: Patient, identifier: Any, prescription_id: Any) -> None:
    arguments = {"user_identifier": identifier, "action": "REFILL_STATUS", "prescription_id": prescription_id}
    result: Any = None
    try:
        result = call_tool("prescription_management", arguments, chat(david)).result
    except InvalidArguments:
        pass
    else:
        assert result["success"] is False
        assert list(result) == ["success", "error_code", "error_message"]
        assert result["error_code"] in {"UNAUTHORIZED", "NOT_FOUND"}
        assert "Sarah" not in str(result)
    assert denials() == 1
    assert reads() == 0


@pytest.mark.parametrize("tool", ["prescription_management", "prescription_verify"])
@pytest.mark.parametrize("identifier", ["david.cohen@example.com", "nobody@example.com", "10000101"])
def test_without_a_verified_patient_nothing_is_read(demo: None, tool: str, identifier: str) -> None:
    arguments = {
        "prescription_management": {"user_identifier": identifier, "action": "LIST"},
        "prescription_verify": {
            "patient_id": identifier,
            "med_id": "2",
            "intent": "refill",
            "language": "en",
        },
    }[tool]
    outcome = call_tool(tool, arguments, chat(None))
    assert outcome.ok is False
    assert outcome.code in {"UNAUTHORIZED", "PATIENT_NOT_FOUND"}
    assert (denials(), reads()) == (1, 0)


def test_a_foreign_and_an_unknown_identifier_get_the_same_answer(david: Patient) -> None:
    def refused(identifier: str, number: int | None) -> str:
        arguments = {"user_identifier": identifier, "action": "REFILL_STATUS", "prescription_id": number}
        result = call_tool("prescription_management", arguments, chat(david)).result
        return str(result).replace(identifier, "#").replace(str(number), "#")

    assert refused("sarah.levi@example.com", 3) == refused("nobody@example.com", 999999)
    assert refused("david.cohen@example.com", 3) == refused("david.cohen@example.com", 999999)


def test_prescription_verify_answers_the_same_for_a_foreign_and_an_unknown_patient(david: Patient) -> None:
    results = []
    for patient in ("10000102", "99999999"):
        arguments = {"patient_id": patient, "med_id": "2", "intent": "refill", "language": "he"}
        results.append(call_tool("prescription_verify", arguments, chat(david)).result)
    assert results[0] == results[1]
    assert denials() == 2


def test_an_invalid_action_for_a_stranger_reveals_nothing(demo: None) -> None:
    outcome = call_tool("prescription_management", {"user_identifier": "x@y.z", "action": "DUMP"}, chat(None))
    assert outcome.code == "UNAUTHORIZED"


@pytest.mark.parametrize("tool", ["prescription_management", "prescription_verify"])
def test_over_http_a_scope_is_needed(system: ToolContext, tool: str) -> None:
    without = ToolContext(**{**vars(system), "scopes": frozenset({"tools"})})
    with pytest.raises(NotAuthorised):
        call_tool(tool, {}, without)
    assert AuditEvent.objects.filter(what="authz_denied", who=system.actor, why="scope").count() == 1


@pytest.mark.parametrize("tool", ["check_stock", "get_medication_info"])
def test_the_patients_scope_alone_opens_no_other_tool(system: ToolContext, tool: str) -> None:
    with pytest.raises(NotAuthorised):
        call_tool(tool, {}, ToolContext(**{**vars(system), "scopes": frozenset({"patients"})}))


def test_every_read_over_http_is_audited(post: Any, system: ToolContext) -> None:
    post("prescription_management", {"user_identifier": "david.cohen@example.com", "action": "LIST"})
    events = AuditEvent.objects.filter(who=system.actor, where="tool:prescription_management").order_by(
        "number"
    )
    assert [event.what for event in events] == ["patient_found", "prescriptions_read"]
    assert {event.patient_id for event in events} == {Patient.objects.get(mrn="10000101").pk}


def test_a_refused_read_over_http_is_audited_though_the_caller_is_in_a_transaction(post: Any) -> None:
    arguments = {
        "user_identifier": "david.cohen@example.com",
        "action": "REFILL_STATUS",
        "prescription_id": 3,
    }
    assert post("prescription_management", arguments).json()["error_code"] == "NOT_FOUND"
    assert AuditEvent.objects.filter(what="prescription_refused").count() == 1


def test_no_name_or_contact_is_logged(david: Patient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        call_tool(
            "prescription_management",
            {"user_identifier": "sarah.levi@example.com", "action": "LIST"},
            chat(david),
        )
    assert "authz_denied" in caplog.text
    for secret in ("sarah", "david", "10000101", "Cohen"):
        assert secret not in caplog.text


def test_an_unknown_tool_is_refused(system: ToolContext) -> None:
    with pytest.raises(UnknownTool):
        call_tool("drop_tables", {}, system)
