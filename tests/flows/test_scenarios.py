"""Whole conversations over a real WebSocket, as the YAML files of this folder tell them."""

import asyncio
import hashlib
import json
import urllib.parse
import urllib.request
from typing import Any

import pytest
from flows.scenario import Chat, check, frame_of, scenarios

ALL = scenarios()


def test_the_names_are_unique_and_both_languages_are_well_covered() -> None:
    names = [scenario["name"] for scenario in ALL]
    assert len(names) == len(set(names))
    for language in ("en", "he"):
        assert sum(scenario["lang"] == language for scenario in ALL) >= 60


@pytest.mark.parametrize("scenario", ALL, ids=[scenario["name"] for scenario in ALL])
def test_conversation(scenario: dict[str, Any], chat_server: Any) -> None:
    asyncio.run(_run(scenario, chat_server))


async def _run(scenario: dict[str, Any], site: Any) -> None:
    async with Chat(site.ws_url, site.url, scenario["lang"]) as chat:
        typed = 0
        for turn in scenario["turns"]:
            needs_code = turn.get("code") == "demo" or turn.get("code_field") == "demo"
            code = await _demo_code(site, chat.secret, seen=typed) if needs_code else ""
            typed += needs_code
            check(turn, await chat.ask(frame_of(turn, scenario, code)))
        for claim in scenario.get("database", []):
            found = count(site.env["DATABASE_URL"], claim, chat.secret)
            assert found == claim["count"], f"{claim}: {found} rows"


async def _demo_code(site: Any, secret: str, seen: int = 0) -> str:
    """The newest code in the demo inbox behind `seen` older ones; it is delivered off the chat's path."""
    address = f"{site.url}/demo/inbox/?conversation={urllib.parse.quote(secret)}"
    for _ in range(300):
        with urllib.request.urlopen(address, timeout=5) as answer:
            codes = [message["code"] for message in json.load(answer)["messages"] if message["code"]]
        if len(codes) > seen:
            return str(codes[-1])
        await asyncio.sleep(0.05)
    raise AssertionError("no code arrived in the demo inbox")


def count(database: str, claim: dict[str, Any], secret: str) -> int:
    """How many rows of a table fulfil a scenario's claim."""
    key = hashlib.sha256(secret.encode()).hexdigest()
    where = claim.get("where", "1 = 1").replace(
        ":conversation", f"(SELECT id FROM agent_conversation WHERE secret_hash = '{key}')"
    )
    sql = f"SELECT count(*) FROM {claim['table']} WHERE {where}"
    if database.startswith("sqlite"):
        import sqlite3

        with sqlite3.connect(database.removeprefix("sqlite:///")) as rows:
            return int(rows.execute(sql).fetchone()[0])
    import psycopg

    with psycopg.connect(database) as rows:
        found = rows.execute(sql).fetchone()
        assert found
        return int(found[0])
