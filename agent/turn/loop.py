"""Run the one loop of every model: guard → model → tools → … → checked answer."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from django.conf import settings
from django.utils.module_loading import import_string

from agent.answers.render import MASK, tool_label
from agent.conversation.runs import Claim
from agent.conversation.spending import run_spent
from agent.conversation.stores import place_named
from agent.inference.base import Model, Reply, Session, Step, StepResult
from agent.threads import run_db, run_slow
from agent.tools.base import InvalidArguments, UnknownTool
from agent.tools.registry import call_tool
from agent.turn import guard
from agent.turn.actions import ACTIONS, action_run
from agent.turn.answer_check import OutputCheck
from agent.turn.commit import Commit, turn_commit
from agent.turn.context import TurnContext, numbers_before, refresh_identity, turn_begin
from agent.turn.progress import ProgressSink
from agent.turn.steps import ToolRun
from agent.turn.streaming import Speaker
from pharmacy_site.lib.remembered import remembering

log = logging.getLogger(__name__)
_SHOWN_ACTIONS: Final = frozenset({"knowledge.ask"})
"""Actions that may take seconds: the customer reads what is being done."""


def model_chosen() -> Model:
    """Return the model of this installation."""
    model: Model = import_string(settings.CHAT_MODEL)()
    return model


async def answer(claim: Claim, progress: ProgressSink) -> None:
    """Answer one claimed run: its events are in the log when this returns."""
    with remembering():
        await _answer(claim, progress)


async def _answer(claim: Claim, progress: ProgressSink) -> None:
    context = turn_begin(claim)
    model = model_chosen()
    check = OutputCheck(context, run_db(numbers_before))
    speaker = Speaker(progress, check)
    try:
        reply = await converse(context, model, speaker, progress)
        check.take(context.results)
        reply = await guard.checked(context, reply, check)
        if not reply.silent:
            speaker.finish(reply)
        committed = await run_db(turn_commit)(context, reply, model.name)
    except BaseException:
        await run_db(run_spent)(claim.run, context.usage)  # also of a run that was cancelled
        raise
    if committed == Commit.WRITTEN:
        progress.answered()
    elif committed in (Commit.WITHHELD, Commit.REPEATED):
        progress.withdrawn(is_over=committed == Commit.WITHHELD)


async def converse(context: TurnContext, model: Model, speaker: Speaker, progress: ProgressSink) -> Reply:
    """Ask the guard's session or the model's, and run the steps that it names, until it has an answer."""
    session = context.session = await guard.intercept(context, model) or await model.open(context.turn)
    results: list[StepResult] = []
    rounds = 0
    while (rounds := rounds + 1) <= _most_steps(session) + 1:
        speaker.attend(context.results)
        response = await session.next(results, speaker)
        if isinstance(response, Reply):
            return response
        results = []
        for step in response:
            if len(context.results) >= _most_steps(session):
                log.warning("run %s reached the limit of %s steps", context.run.pk, _most_steps(session))
                return guard.apology(context.turn)
            results.append(await step_run(context, step, progress))
    return guard.apology(context.turn)


def _most_steps(session: Session) -> int:
    return int(settings.CHAT_STEPS) + session.further_steps


async def step_run(context: TurnContext, step: Step, progress: ProgressSink) -> StepResult:
    """Run one step: an action of the server, or a tool."""
    result: StepResult
    if step.name in ACTIONS:
        # What an action writes to the customer is in the language of the answer, also before that is stored.
        context.run.conversation.language = context.language
        shown = _shown_action(context, step)
        if shown:
            progress.tool_started(shown)
        run_action = run_slow(action_run) if step.name in _SHOWN_ACTIONS else run_db(action_run)
        result = action = await run_action(context.run, step, context.run.input.get("address", ""))
        if shown:
            progress.tool_finished(replace(shown, is_running=False, ok=action.ok, code=action.code))
        if context.session:
            context.session.usage.tokens_in += action.tokens[0]
            context.session.usage.tokens_out += action.tokens[1]
        if action.identity_changed:
            await run_db(refresh_identity)(context)
    else:
        result = await tool_run(context, step, progress)
    context.results.append(result)
    return result


def _shown_action(context: TurnContext, step: Step) -> ToolRun | None:
    """Return an action as it is shown while it runs, None for one that is over at once; its arguments are not shown."""
    label = tool_label(step.name, {}, context.language) if step.name in _SHOWN_ACTIONS else ""
    call_id = f"{context.run.pk.hex[:8]}-a{len(context.results) + 1}"
    return ToolRun(step, call_id=call_id, label=label) if label else None


async def _label(context: TurnContext, name: str, shown: Mapping[str, Any]) -> str:
    """Return the line that a customer reads while a tool runs, with the store's or city's name in the customer's language."""
    place = shown.get("store_query")
    if isinstance(place, str) and not place.startswith(MASK):
        shown = {**shown, "store_query": await run_db(place_named)(place, context.language)}
    return tool_label(name, shown, context.language)


async def tool_run(context: TurnContext, step: Step, progress: ProgressSink) -> ToolRun:
    """Call a tool through its one entry point, and show that it is being called."""
    shown = await run_db(guard.arguments_shown)(step.arguments, context.turn.text)
    call = ToolRun(
        step,
        call_id=f"{context.run.pk.hex[:8]}-{len(context.tool_runs) + 1}",
        label=await _label(context, step.name, shown),
        arguments_shown=shown,
    )
    progress.tool_started(call)
    try:
        call = call.finish(await run_db(call_tool)(step.name, step.arguments, context.tool_context()))
    except InvalidArguments as error:
        call = call.refuse(error.errors)
    except UnknownTool:
        call = call.refuse([{"field": "name", "message": "no such tool"}])
    progress.tool_finished(call)
    return call
