"""The loop holds whatever a model does: a scripted model asks for what it must not get, and says what it must not say."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from talking import Talk

from agent.chat.hub import Hub
from agent.chat.runner import Runner
from agent.conversation import accept, runs
from agent.inference.base import Reply, Session, Step, StepResult, Turn
from agent.llm.offline.session import OfflineModel
from agent.models import Event, Run, ToolCall
from agent.threads import run_db
from agent.turn import loop
from prescriptions.models import AuditEvent


class Scripted:
    """A model that plays its script: lists of steps, then a reply; what is left over fails the test."""

    name = "scripted"
    says_refusals = False

    def __init__(self, *script: Sequence[Step] | Reply) -> None:
        self.script = list(script)
        self.turns: list[Turn] = []
        self.results: list[StepResult] = []

    async def open(self, turn: Turn) -> "ScriptedSession":
        self.turns.append(turn)
        return ScriptedSession(turn, self)


@dataclass
class ScriptedSession(Session):
    model: Scripted

    async def next(self, results: Sequence[StepResult], speech: object) -> Sequence[Step] | Reply:
        self.model.results += results
        script = self.model.script
        return script.pop(0) if len(script) > 1 else script[0]


def says(text: str) -> Reply:
    return Reply(text, "en", {})


FOREIGN = [
    {"user_identifier": "rachel.m@example.com", "action": "LIST", "prescription_id": None},
    {"user_identifier": "david.cohen@example.com", "action": "REFILL_STATUS", "prescription_id": 5},
    {"user_identifier": "050-4567890", "action": "LIST", "prescription_id": None},
    {"user_identifier": "10000104", "action": "LIST", "prescription_id": None},
    {"user_identifier": "david.cohen@example.com", "action": "REFILL_STATUS", "prescription_id": -1},
    {"user_identifier": "david.cohen@example.com", "action": "REFILL_STATUS", "prescription_id": 2**63},
    {"user_identifier": ["david.cohen@example.com"], "action": "LIST", "prescription_id": None},
    {"user_identifier": "%", "action": "LIST", "prescription_id": None},
    {"user_identifier": "david.cohen@example.com' OR 1=1 --", "action": "LIST", "prescription_id": None},
    {"user_identifier": "david.cohen@example.com", "action": "REFILL_STATUS", "prescription_id": "٥"},
]


@pytest.mark.parametrize("arguments", FOREIGN)
def test_a_model_never_reads_another_patients_prescriptions(
    demo_committed: None, arguments: dict[str, Any]
) -> None:
    model = Scripted([Step("prescription_management", arguments)], says("I could not find it."))
    Talk(patient="10000101", model=model).say("Do you have Advil?")
    [result] = model.results
    assert not result.ok
    assert "Rachel" not in str(result.result) and "prescriptions" not in result.result
    assert AuditEvent.objects.filter(what="authz_denied").count() == 1


def test_without_a_verified_patient_private_tools_are_refused(demo_committed: None) -> None:
    arguments = {"user_identifier": "david.cohen@example.com", "action": "LIST", "prescription_id": None}
    verify = {"patient_id": "10000101", "med_id": "2", "intent": "refill", "language": "en"}
    model = Scripted(
        [Step("prescription_management", arguments), Step("prescription_verify", verify)],
        says("I need a code."),
    )
    Talk(model=model).say("Do you have Advil?")
    assert [result.ok for result in model.results] == [False, False]
    assert not ToolCall.objects.filter(ok=True).exists()


def test_errors_in_arguments_are_returned_to_the_model(demo_committed: None) -> None:
    model = Scripted(
        [Step("check_inventory", {"medication_id": True, "x": 1}), Step("no_such", {})], says("Sorry.")
    )
    Talk(model=model).say("Do you have Advil?")
    first, second = model.results
    assert first.code == second.code == "invalid"
    assert {error["field"] for error in first.result["errors"]} == {"medication_id", "x"}


def test_a_model_that_never_stops_is_stopped(demo_committed: None) -> None:
    model = Scripted([Step("check_inventory", {"medication_id": 5})])
    assert "pharmacist" in Talk(model=model).say("Do you have Advil?")
    assert ToolCall.objects.count() == 8


@pytest.mark.parametrize(
    "text",
    [
        "Cetirizine is in stock (734 units available).",
        "You should take two tablets of Ibuprofen.",
        "Nurofen is better than Advil.",
        "I've passed your request on to our staff. Your number is H-1999.",
        "If the details match a registered customer, we've sent a code to the contact on file.",
        "See <script>alert(1)</script>",
        "Buy now, a great deal!",
        "יש לנו במלאי",
    ],
)
def test_a_forbidden_answer_is_withheld(demo_committed: None, text: str) -> None:
    model = Scripted([Step("check_inventory", {"medication_id": 5})], says(text))
    said = Talk(model=model).say("Do you have Advil?")
    assert said != text
    assert "checked answer" in said


def test_an_answer_with_proven_numbers_is_shown(demo_committed: None) -> None:
    text = "Cetirizine is in stock (200 units available)."
    model = Scripted([Step("check_inventory", {"medication_id": 5})], says(text))
    said = Talk(model=model).say("Do you have Advil?")
    assert said == text


@pytest.mark.parametrize(
    ("message", "number"),
    [
        ("my chest hurts and I can't breathe", "101"),
        ("I want to kill myself", "1201"),
        ("I swallowed the whole bottle of pills", "101"),
    ],
)
def test_an_emergency_is_answered_before_any_model(demo_committed: None, message: str, number: str) -> None:
    model = Scripted(says("Do you want Advil?"))
    assert number in Talk(model=model).say(message)
    assert model.turns == []


def test_a_model_that_says_no_refusals_is_not_asked_for_advice(demo_committed: None) -> None:
    model = Scripted(says("Take it."))
    Talk(model=model).say("Should I take ibuprofen for my headache?")
    assert model.turns == []
    assert not ToolCall.objects.exists()


def test_an_error_of_the_model_ends_in_a_visible_failure(
    demo_committed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class BrokenSession(Session):
        async def next(self, results: Sequence[StepResult], speech: object) -> Reply:
            raise RuntimeError("no model")

    class Broken:
        name = "broken"
        says_refusals = False

        async def open(self, turn: Turn) -> Session:
            return BrokenSession(turn)

    async def run() -> None:
        runner = Runner(Hub(), loop.answer)
        runner.wake(talk.conversation.pk)
        async with asyncio.timeout(10):
            while await run_db(Run.objects.filter(state__in=runs.OPEN).exists)():
                await asyncio.sleep(0.02)
        await runner.drain(5)

    talk = Talk()
    talk.send("Advil?")
    monkeypatch.setattr(loop, "model_chosen", Broken)
    asyncio.run(run())
    assert Run.objects.get().state == Run.State.FAILED
    assert Event.objects.order_by("-seq").first().type == "run.failed"


def test_a_run_that_was_cancelled_meanwhile_writes_nothing(demo_committed: None) -> None:
    class Slow:
        name = "slow"
        says_refusals = False

        async def open(self, turn: Turn) -> Session:
            await run_db(accept.run_cancel)(conversation_id=talk.conversation.pk)
            return ScriptedSession(turn, Scripted(says("Late.")))

    talk = Talk(model=Slow())
    talk.send("Do you have Advil?")
    asyncio.run(talk.answering(talk.claim()))
    assert not Event.objects.filter(payload__role="assistant").exists()
    assert Run.objects.get().state == Run.State.CANCELLED


def test_a_recorded_call_holds_no_identifier(demo_committed: None) -> None:
    arguments = {"user_identifier": "david.cohen@example.com", "action": "LIST", "prescription_id": None}
    model = Scripted([Step("prescription_management", arguments)], says("Here they are."))
    Talk(patient="10000101", model=model).say("Do you have Advil?")
    row = ToolCall.objects.get()
    assert row.ok
    assert "david" not in str(row.arguments).lower() and "David" not in str(row.evidence)
    assert AuditEvent.objects.filter(patient__mrn="10000101").exists()


@pytest.mark.parametrize(
    "message",
    [
        "chest feels like someone is standing on it",
        "he has snorted something odd, chest hurts odd",
        "i feel awful today",
    ],
)
def test_a_possible_emergency_that_no_rule_covers_gets_the_emergency_number(
    demo_committed: None, message: str
) -> None:
    assert "101" in Talk(model=OfflineModel()).say(message)


@pytest.mark.parametrize(
    "message", ["Do you have Advil?", "blorvex", "what should i take for my cold?", "hello"]
)
def test_an_ordinary_message_gets_no_emergency_number(demo_committed: None, message: str) -> None:
    assert "101" not in Talk(model=OfflineModel()).say(message)
