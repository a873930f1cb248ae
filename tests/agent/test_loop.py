"""The loop holds whatever a model does: a scripted model asks for what it must not get, and says what it must not say."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from answering import answer, answer_next

from agent.chat.hub import Hub
from agent.chat.runner import Runner
from agent.conversation import accept, events, runs
from agent.inference.base import Reply, Session, Step, StepResult, Turn
from agent.models import Conversation, Event, Run, ToolCall
from agent.threads import run_db
from agent.turn import loop
from prescriptions.models import AuditEvent, Patient


class Scripted:
    """A model that plays its script: lists of steps, then a reply; what is left over fails the test."""

    name = "scripted"

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


@pytest.fixture
def asked(demo_committed: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ask a scripted model in a conversation; returns the conversation, the answer and the model."""

    def ask(
        model: Any, text: str = "Do you have Advil?", patient: str | None = None
    ) -> tuple[Conversation, str]:
        conversation, _ = events.conversation_begin(language="en")
        accept.message_accept(
            conversation_id=conversation.pk, client_msg_id=uuid4(), text=text, address="192.0.2.1"
        )
        if patient:
            from django.utils import timezone

            person = Patient.objects.get(mrn=patient)
            Conversation.objects.filter(pk=conversation.pk).update(patient=person, verified_at=timezone.now())
        monkeypatch.setattr(loop, "model_chosen", lambda: model)
        answer_next(conversation.pk)
        answer = Event.objects.filter(conversation=conversation, payload__role="assistant").get()
        return conversation, answer.payload["text"]

    return ask


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
def test_a_model_never_reads_another_patients_prescriptions(asked: Any, arguments: dict[str, Any]) -> None:
    model = Scripted([Step("prescription_management", arguments)], says("I could not find it."))
    asked(model, patient="10000101")
    [result] = model.results
    assert not result.ok
    assert "Rachel" not in str(result.result) and "prescriptions" not in result.result
    assert AuditEvent.objects.filter(what="authz_denied").count() == 1


def test_without_a_proof_no_patient_tool_answers(asked: Any) -> None:
    arguments = {"user_identifier": "david.cohen@example.com", "action": "LIST", "prescription_id": None}
    verify = {"patient_id": "10000101", "med_id": "2", "intent": "refill", "language": "en"}
    model = Scripted(
        [Step("prescription_management", arguments), Step("prescription_verify", verify)],
        says("I need a code."),
    )
    asked(model)
    assert [result.ok for result in model.results] == [False, False]
    assert not ToolCall.objects.filter(ok=True).exists()


def test_arguments_that_break_the_schema_come_back_to_the_model(asked: Any) -> None:
    model = Scripted(
        [Step("check_inventory", {"medication_id": True, "x": 1}), Step("no_such", {})], says("Sorry.")
    )
    asked(model)
    first, second = model.results
    assert first.code == second.code == "invalid"
    assert {error["field"] for error in first.result["errors"]} == {"medication_id", "x"}


def test_a_model_that_never_stops_is_stopped(asked: Any) -> None:
    model = Scripted([Step("check_inventory", {"medication_id": 5})])
    _, text = asked(model)
    assert "pharmacist" in text
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
def test_what_may_not_be_said_is_withheld(asked: Any, text: str) -> None:
    _, said = asked(Scripted([Step("check_inventory", {"medication_id": 5})], says(text)))
    assert said != text
    assert "checked answer" in said


def test_a_grounded_answer_passes(asked: Any) -> None:
    text = "Cetirizine is in stock (200 units available)."
    _, said = asked(Scripted([Step("check_inventory", {"medication_id": 5})], says(text)))
    assert said == text


@pytest.mark.parametrize(
    ("message", "number"),
    [
        ("my chest hurts and I can't breathe", "101"),
        ("I want to kill myself", "1201"),
        ("I swallowed the whole bottle of pills", "101"),
    ],
)
def test_an_emergency_is_answered_before_any_model(asked: Any, message: str, number: str) -> None:
    model = Scripted(says("Do you want Advil?"))
    _, said = asked(model, message)
    assert number in said
    assert model.turns == []


def test_advice_is_refused_before_any_model_and_calls_no_tool(asked: Any) -> None:
    model = Scripted(says("Take it."))
    asked(model, "Should I take ibuprofen for my headache?")
    assert model.turns == []
    assert not ToolCall.objects.exists()


def test_a_broken_model_ends_in_a_visible_failure(
    demo_committed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class BrokenSession(Session):
        async def next(self, results: Sequence[StepResult], speech: object) -> Reply:
            raise RuntimeError("no model")

    class Broken:
        name = "broken"

        async def open(self, turn: Turn) -> Session:
            return BrokenSession(turn)

    async def run() -> None:
        runner = Runner(Hub(), loop.answer)
        runner.wake(conversation.pk)
        for _ in range(200):
            await asyncio.sleep(0.02)
            if not runner._tasks:
                return

    conversation, _ = events.conversation_begin(language="en")
    accept.message_accept(conversation_id=conversation.pk, client_msg_id=uuid4(), text="Advil?", address="")
    monkeypatch.setattr(loop, "model_chosen", Broken)
    asyncio.run(run())
    assert Run.objects.get().state == Run.State.FAILED
    assert Event.objects.order_by("-seq").first().type == "run.failed"


def test_a_run_that_was_taken_away_writes_nothing(
    demo_committed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation, _ = events.conversation_begin(language="en")
    accept.message_accept(
        conversation_id=conversation.pk, client_msg_id=uuid4(), text="Do you have Advil?", address=""
    )
    claimed = runs.run_claim(conversation.pk)
    assert claimed

    class Slow:
        name = "slow"

        async def open(self, turn: Turn) -> Session:
            await run_db(accept.run_cancel)(conversation_id=conversation.pk)
            return ScriptedSession(turn, Scripted(says("Late.")))

    monkeypatch.setattr(loop, "model_chosen", Slow)
    answer(claimed)
    assert not Event.objects.filter(payload__role="assistant").exists()
    assert Run.objects.get().state == Run.State.CANCELLED


def test_what_is_recorded_of_a_call_holds_no_identifier(asked: Any) -> None:
    arguments = {"user_identifier": "david.cohen@example.com", "action": "LIST", "prescription_id": None}
    model = Scripted([Step("prescription_management", arguments)], says("Here they are."))
    asked(model, patient="10000101")
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
def test_what_may_be_urgent_in_words_no_rule_knows_still_gets_the_number(asked: Any, message: str) -> None:
    from agent.llm.offline.session import OfflineModel

    _, said = asked(OfflineModel(), message)
    assert "101" in said


@pytest.mark.parametrize(
    "message", ["Do you have Advil?", "blorvex", "what should i take for my cold?", "hello"]
)
def test_no_alarm_without_a_sign(asked: Any, message: str) -> None:
    from agent.llm.offline.session import OfflineModel

    _, said = asked(OfflineModel(), message)
    assert "101" not in said
