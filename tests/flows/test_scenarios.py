"""Whole conversations over a real WebSocket, as `fixtures/scenarios` tells them, with the offline model's own wording."""

import asyncio
import hashlib
from typing import Any

import pytest
from served_site import sql

from evaluation.chat import Chat
from evaluation.checks import turn_problems, unsaid_problems
from evaluation.customer import ScriptedCustomer
from evaluation.scenario import Claim, Scenario, scenarios_all

PLAIN = [scenario for scenario in scenarios_all() if scenario.plain]


# Each is written in both languages; what a database may do differently, one of them shows.
@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(each, id=each.name, marks=[pytest.mark.proof] if each.name.startswith("he-") else [])
        for each in PLAIN
    ],
)
def test_a_scenario_is_answered_as_expected(scenario: Scenario, chat_server: Any) -> None:
    # Wrong codes of an earlier scenario lock the account, which this one may use, for an hour.
    sql(
        chat_server.env["DATABASE_URL"],
        "UPDATE prescriptions_challenge SET created_at = '2020-01-01 00:00:00'",
    )
    asyncio.run(_run(scenario, chat_server))


async def _run(scenario: Scenario, site: Any) -> None:
    async with Chat(site.ws_url, site.url, scenario.lang) as chat:
        answers = await ScriptedCustomer(scenario).talk(chat, site.url)
    problems = [
        f"{turn.say or turn}: {problem}\n--- answer ---\n{answer.text}"
        for turn, answer in zip(scenario.turns, answers, strict=True)
        for problem in turn_problems(turn, answer, offline=True)
    ]
    problems += unsaid_problems(scenario.communicate, answers)
    assert not problems, "\n".join(problems)
    for claim in scenario.database:
        found = count(site.env["DATABASE_URL"], claim, chat.secret)
        assert found == claim.count, f"{claim}: {found} rows"


def count(database: str, claim: Claim, secret: str) -> int:
    """How many rows of a table fulfil a scenario's claim."""
    key = hashlib.sha256(secret.encode()).hexdigest()
    where = claim.where.replace(
        ":conversation", f"(SELECT id FROM agent_conversation WHERE secret_hash = '{key}')"
    )
    [[found]] = sql(database, f"SELECT count(*) FROM {claim.table} WHERE {where}")
    return int(found)
