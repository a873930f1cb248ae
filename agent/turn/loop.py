"""THE loop: guard → model → tools → … → checked answer, the same for every model."""

import logging
from dataclasses import replace

from django.conf import settings
from django.utils.module_loading import import_string

from agent.answers.render import tool_label
from agent.chat.progress import RunProgress
from agent.conversation.spending import run_spent
from agent.inference.base import Model, Reply, Step, StepResult
from agent.models import Run
from agent.threads import run_db
from agent.tools.base import InvalidArguments, UnknownTool
from agent.tools.registry import call_tool
from agent.turn import guard
from agent.turn.actions import ACTIONS, action_run
from agent.turn.answer_check import OutputCheck
from agent.turn.context import Work, identity_taken, numbers_before, work_commit, work_of
from agent.turn.streaming import Speaker
from pharmacy_site.lib.remembered import remembering

log = logging.getLogger(__name__)


def model_chosen() -> Model:
    """The model of this installation."""
    model: Model = import_string(settings.CHAT_MODEL)()
    return model


async def answer(run: Run, live: RunProgress) -> None:
    """Answers one claimed run: its events are in the log when this returns."""
    with remembering():
        await _answer(run, live)


async def _answer(run: Run, live: RunProgress) -> None:
    work = work_of(run)
    model = model_chosen()
    check = OutputCheck(work, run_db(numbers_before))
    speaker = Speaker(live, check)
    try:
        reply, results = await converse(work, model, speaker, live)
        check.take(results)
        reply = await guard.checked(work, reply, check)
        speaker.finish(reply)
        done = await run_db(work_commit)(work, reply, results, model.name)
    except BaseException:
        await run_db(run_spent)(run, work.turn.account)  # also of a run that was cancelled
        raise
    if done:
        live.hub.ring(live.key)


async def converse(
    work: Work, model: Model, speaker: Speaker, live: RunProgress
) -> tuple[Reply, list[StepResult]]:
    """Asks the guard, then the model, and runs the steps they ask for, until there is an answer."""
    results: list[StepResult] = []
    stand, work.turn = guard.stand(work)
    ask = stand or model.next
    for _ in range(settings.CHAT_STEPS + 1):
        speaker.attend(results)
        said = await ask(replace(work.turn, results=tuple(results)), speaker)
        if isinstance(said, Reply):
            return said, results
        for step in said:
            if len(results) >= settings.CHAT_STEPS:
                log.warning("run %s reached the limit of %s steps", work.run.pk, settings.CHAT_STEPS)
                return guard.apology(work.turn), results
            results.append(await step_run(work, step, live))
            if step.name == "identity.forget" or (
                step.name == "identity.code" and results[-1].result.get("verified")
            ):
                await run_db(identity_taken)(work)
    return guard.apology(work.turn), results


async def step_run(work: Work, step: Step, live: RunProgress) -> StepResult:
    """Runs one step that a model asked for: an action of the server's, or a tool through its one door."""
    if step.name in ACTIONS:
        return await run_db(action_run)(work.run, step, work.run.input.get("address", ""))
    call_id = f"{work.run.pk.hex[:8]}-{len(live.calls) + 1}"
    shown = guard.arguments_shown(step.arguments, work.turn.text)
    label = tool_label(step.name, shown, work.turn.language)
    live.call_begins({"call_id": call_id, "name": step.name, "label": label, "arguments": shown})
    try:
        outcome = await run_db(call_tool)(step.name, step.arguments, work.context())
    except (InvalidArguments, UnknownTool) as error:
        told = getattr(error, "errors", [{"field": "name", "message": "no such tool"}])
        live.call_ends(call_id, step.name, ok=False, duration_ms=0)
        return StepResult(step, ok=False, result={"errors": told}, code="invalid")
    work.outcomes.append((Step(step.name, shown), outcome))
    live.call_ends(call_id, step.name, ok=outcome.ok, duration_ms=outcome.duration_ms)
    return StepResult(step, outcome.ok, outcome.result, outcome.code or "", outcome.evidence)
