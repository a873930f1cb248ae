"""THE loop: guard → model → tools → … → checked answer, the same for every model."""

import logging
from dataclasses import replace
from uuid import UUID

from django.conf import settings

from agent import events, guard
from agent.actions import ACTIONS, action_run
from agent.database import in_database
from agent.llm.base import Model, Reply, Step, StepResult
from agent.llm.offline import OfflineModel
from agent.tools.base import InvalidArguments, UnknownTool
from agent.tools.registry import call_tool
from agent.turns import Work, numbers_before, work_commit, work_load
from agent.wording import tool_label

log = logging.getLogger(__name__)


def model_chosen() -> Model:
    """The model of this installation."""
    return OfflineModel()


async def answer(run_id: UUID) -> None:
    """Answers one claimed run: its events are in the log when this returns."""
    work = await in_database(work_load)(run_id)
    here = work.conversation.pk
    await events.ephemeral_send(here, {"type": "run.started", "run_id": str(run_id)})
    model = model_chosen()
    reply, results = await converse(work, model)
    reply = await guard.checked(work, reply, results, numbers_before=in_database(numbers_before))
    offset = 0
    for sentence in guard.sentences(reply.text):
        delta = {"type": "message.delta", "run_id": str(run_id), "offset": offset, "text": sentence}
        await events.ephemeral_send(here, delta)
        offset += len(sentence)
    await in_database(work_commit)(work, reply, results, model.name)
    await events.bell_ring(here)
    await events.ephemeral_send(here, {"type": "run.completed", "run_id": str(run_id)})


async def converse(work: Work, model: Model) -> tuple[Reply, list[StepResult]]:
    """Asks the guard, then the model, and runs the steps they ask for, until there is an answer."""
    results: list[StepResult] = []
    stand, work.turn = guard.stand(work)
    for _ in range(settings.CHAT_STEPS + 1):
        turn = replace(work.turn, results=tuple(results))
        said = await (stand(turn) if stand else model.next(turn))
        if isinstance(said, Reply):
            return said, results
        for step in said:
            if len(results) >= settings.CHAT_STEPS:
                log.warning("run %s reached the limit of %s steps", work.run.pk, settings.CHAT_STEPS)
                return guard.apology(work.turn), results
            results.append(await step_run(work, step))
            if step.name == "identity.code" and results[-1].result.get("verified"):
                work.patient, work.turn = await in_database(guard.identity_taken)(work)
    return guard.apology(work.turn), results


async def step_run(work: Work, step: Step) -> StepResult:
    """Runs one step that a model asked for: an action of the server's, or a tool through its one door."""
    if step.name in ACTIONS:
        return await in_database(action_run)(work.run, step, work.run.input.get("address", ""))
    call_id = f"{work.run.pk.hex[:8]}-{len(work.outcomes) + 1}"
    name = {"run_id": str(work.run.pk), "call_id": call_id, "name": step.name}
    shown = guard.arguments_shown(step.arguments)
    label = tool_label(step.name, step.arguments, work.turn.language)
    started = {"type": "tool.started", **name, "label": label, "arguments": shown}
    await events.ephemeral_send(work.conversation.pk, started)
    try:
        outcome = await in_database(call_tool)(step.name, step.arguments, work.context())
    except (InvalidArguments, UnknownTool) as error:
        told = getattr(error, "errors", [{"field": "name", "message": "no such tool"}])
        finished = {"type": "tool.finished", **name, "ok": False, "duration_ms": 0}
        await events.ephemeral_send(work.conversation.pk, finished)
        return StepResult(step, ok=False, result={"errors": told}, code="invalid")
    work.outcomes.append((step, outcome))
    finished = {"type": "tool.finished", **name, "ok": outcome.ok, "duration_ms": outcome.duration_ms}
    await events.ephemeral_send(work.conversation.pk, finished)
    return StepResult(step, outcome.ok, outcome.result, outcome.code or "", outcome.evidence)
