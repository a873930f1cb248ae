"""One trial: a fresh database, one conversation over the WebSocket, then the judge."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Final

from django.apps import apps
from django.core.cache import cache as counters

from agent.models import Event, Run
from agent.threads import run_db
from evaluation.chat import Answer, Chat
from evaluation.checks import free_problems, told_problems, turn_problems
from evaluation.clock import Clock
from evaluation.customer import Customer, NoCode, ScriptedCustomer, Spoilt
from evaluation.faults import failing
from evaluation.gold import gold_replay
from evaluation.scenario import Scenario, scenario_get
from evaluation.simulated import SimulatedCustomer
from evaluation.state import State, state_problems, state_read
from evaluation.vetoes import vetoes_of

SPOILT_AT_MOST: Final = 2  # how often a trial is repeated because of its customer


@dataclass
class Outcome:
    """What a trial showed."""

    scenario: str
    family: str
    language: str
    trial: int
    passed: bool = False
    problems: list[str] = field(default_factory=list)
    vetoes: list[str] = field(default_factory=list)
    spoilt: int = 0
    turns: int = 0
    seconds: list[float] = field(default_factory=list)  # per turn
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    fallbacks: int = 0
    models: list[str] = field(default_factory=list)
    transcript: list[dict[str, Any]] = field(default_factory=list)

    def told(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Place:
    """Where a worker's trials happen."""

    template: Path
    database: Path
    url: str
    ws_url: str
    clock: Clock

    def fresh(self) -> None:
        """The demo data as they were at noon, and nothing else anywhere."""
        with (
            closing(sqlite3.connect(f"{self.template.as_uri()}?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(self.database, timeout=30)) as copy,
        ):
            source.backup(copy)
        counters.clear()
        self.clock.begin()


async def trial_play(place: Place, name: str, number: int, customer: str) -> Outcome:
    """Plays a scenario once; a trial that the simulated customer spoilt is repeated."""
    scenario = scenario_get(name)
    outcome = Outcome(scenario.name, scenario.family, scenario.lang, number)
    wanted = await run_db(_gold_states)(place, name)
    for _ in range(SPOILT_AT_MOST + 1):
        try:
            await _once(place, scenario, outcome, customer, wanted)
        except Spoilt as spoilt:
            outcome.spoilt += 1
            outcome.problems = [f"spoilt: {spoilt}"]
            continue
        break
    outcome.passed = not outcome.problems and not outcome.vetoes
    return outcome


async def _once(
    place: Place, scenario: Scenario, outcome: Outcome, customer: str, wanted: Sequence[State]
) -> None:
    await run_db(_prepare)(place, scenario)
    scripted = customer == "scripted"
    who: Customer = ScriptedCustomer(scenario, place.clock) if scripted else SimulatedCustomer(scenario)
    with failing(scenario.faults):
        async with Chat(place.ws_url, place.url, scenario.lang) as chat:
            try:
                answers, outcome.problems = await who.talk(chat, place.url), []
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
    return wrong + told_problems(scenario.communicate, answers)


def _prepare(place: Place, scenario: Scenario) -> None:
    place.fresh()
    for plant in scenario.plants:
        changed = apps.get_model(plant.rows)._default_manager.filter(**plant.where).update(**plant.set)
        if not changed:
            raise LookupError(f"{scenario.name}: nothing to plant in {plant.rows}")


@cache
def _gold_states(place: Place, name: str) -> list[State]:
    """What may be in the database at the end, found once per scenario."""
    scenario = scenario_get(name)
    states = []
    for may in (False, True):
        _prepare(place, scenario)
        gold_replay(scenario, place.clock, may=may)
        states.append(state_read())
        if not any(turn.may for turn in scenario.turns):
            break
    return states


def _judge(scenario: Scenario, outcome: Outcome, wanted: Sequence[State]) -> None:
    outcome.problems += state_problems(state_read(), wanted)
    outcome.vetoes = vetoes_of(scenario)
    runs = {run.pk: run for run in Run.objects.prefetch_related("tool_calls")}
    outcome.models = sorted({run.model for run in runs.values() if run.model})
    for run in runs.values():
        # Only a language model's runs have these.
        outcome.tokens_in += int(getattr(run, "tokens_in", 0) or 0)
        outcome.tokens_out += int(getattr(run, "tokens_out", 0) or 0)
        outcome.cost += float(getattr(run, "cost", 0) or Decimal(0))
        outcome.fallbacks += bool(getattr(run, "fallback", ""))
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
