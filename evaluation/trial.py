"""Play one trial: restore a fresh database, hold one conversation over the WebSocket, judge it."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from django.apps import apps
from django.core.cache import cache as counters

from agent.models import Event, Run
from agent.threads import run_db
from evaluation.chat import Answer, Chat
from evaluation.checks import free_problems, turn_problems, unsaid_problems
from evaluation.clock import Clock
from evaluation.customer import Customer, NoCode, ScriptedCustomer, Spoilt
from evaluation.faults import failing, identity_by
from evaluation.gold import gold_replay
from evaluation.outcome import Outcome
from evaluation.scenario import Scenario, scenario_get
from evaluation.simulated import SimulatedCustomer
from evaluation.state import State, state_problems, state_read
from evaluation.vetoes import vetoes_of

MOST_REPEATS: Final = 2
"""How often a trial is repeated because its customer spoilt it."""


@dataclass(frozen=True)
class ServedSite:
    """The site that a worker serves, with its database and its clock."""

    template: Path
    database: Path
    url: str
    ws_url: str
    clock: Clock

    def reset(self) -> None:
        """Restore the database from the template, empty the cache and set the clock back to noon."""
        with (
            closing(sqlite3.connect(f"{self.template.as_uri()}?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(self.database, timeout=30)) as copy,
        ):
            copy.execute("PRAGMA synchronous=OFF")  # nobody needs it after a crash of the machine
            source.backup(copy)
        counters.clear()
        self.clock.begin()


async def trial_play(site: ServedSite, name: str, number: int, customer: str) -> Outcome:
    """Play a scenario once; repeat a trial that the simulated customer spoilt."""
    scenario = scenario_get(name)
    outcome = Outcome(scenario.name, scenario.family, scenario.lang, number)
    wanted = await run_db(_gold_states)(site, name)
    for _ in range(MOST_REPEATS + 1):
        try:
            await _play(site, scenario, outcome, customer, wanted)
        except Spoilt as spoilt:
            outcome.spoilt += 1
            outcome.problems = [f"spoilt: {spoilt}"]
            continue
        break
    outcome.passed = not outcome.problems and not outcome.vetoes
    return outcome


async def _play(
    site: ServedSite, scenario: Scenario, outcome: Outcome, customer: str, wanted: Sequence[State]
) -> None:
    """Hold the conversation and put what it showed into the outcome."""
    await run_db(_prepare)(site, scenario)
    scripted = customer == "scripted"
    player: Customer = ScriptedCustomer(scenario, site.clock) if scripted else SimulatedCustomer(scenario)
    with failing(scenario.faults), identity_by(scenario.identity):
        async with Chat(site.ws_url, site.url, scenario.lang) as chat:
            try:
                answers, outcome.problems = await player.talk(chat, site.url), []
            except NoCode as error:
                answers, outcome.problems = error.answers, ["no code arrived"]
    outcome.problems += _problems(scenario, answers, scripted)
    outcome.turns, outcome.seconds = len(answers), [answer.seconds for answer in answers]
    await run_db(_judge)(scenario, outcome, wanted)


def _problems(scenario: Scenario, answers: list[Answer], scripted: bool) -> list[str]:
    if not scripted:
        return free_problems(scenario, answers)
    wrong = [
        f"turn {number}: {problem}"
        for number, (turn, answer) in enumerate(zip(scenario.turns, answers, strict=False), 1)
        for problem in turn_problems(turn, answer)
    ]
    return wrong + unsaid_problems(scenario.communicate, answers)


def _prepare(site: ServedSite, scenario: Scenario) -> None:
    """Reset the site and change the rows that the scenario plants."""
    site.reset()
    for plant in scenario.plants:
        changed = apps.get_model(plant.rows)._default_manager.filter(**plant.where).update(**plant.set)
        if not changed:
            raise LookupError(f"{scenario.name}: nothing to plant in {plant.rows}")


@cache
def _gold_states(site: ServedSite, name: str) -> list[State]:
    """Return the states that the database may have at the end, computed once per scenario."""
    scenario = scenario_get(name)
    states = []
    for may in (False, True):
        _prepare(site, scenario)
        with identity_by(scenario.identity):
            gold_replay(scenario, site.clock, may=may)
        states.append(state_read())
        if not any(turn.may for turn in scenario.turns):
            break
    return states


def _judge(scenario: Scenario, outcome: Outcome, wanted: Sequence[State]) -> None:
    """Add to the outcome what the rows in the database show."""
    outcome.problems += state_problems(state_read(), wanted)
    outcome.vetoes = vetoes_of(scenario)
    runs = {run.pk: run for run in Run.objects.prefetch_related("tool_calls")}
    outcome.models = sorted({run.model for run in runs.values() if run.model})
    for run in runs.values():
        outcome.tokens_in += run.tokens_in
        outcome.tokens_out += run.tokens_out
        outcome.cost += float(run.cost)
        outcome.fallbacks += bool(run.fallback)
    outcome.transcript = [
        {
            "type": event.type,
            "role": event.payload.get("role", ""),
            "text": event.payload.get("text", ""),
            "lang": event.payload.get("lang", ""),
            "calls": [
                {"name": call.name, "arguments": call.arguments, "ok": call.ok, "code": call.code}
                for call in (runs[event.run_id].tool_calls.all() if event.run_id else ())
            ]
            if event.payload.get("role") == "assistant"
            else [],
        }
        for event in Event.objects.order_by("seq")
    ]
