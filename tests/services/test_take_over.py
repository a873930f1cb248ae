"""A pharmacist takes a conversation over while the assistant answers: real processes, one database, Redis between them."""

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest
from desk import Desk
from scripted_model import ScriptedModel
from scripted_replies import by as computed
from scripted_replies import calls, chooses, forever
from services.test_delivery import REDIS, back, message, needs_several_processes

from evaluation.chat import Chat

pytestmark = pytest.mark.django_db(databases=[])
ASKED = "Do you have Advil in Florentin?"
STOCK = calls(
    ("check_stock", {"medication_query": "Advil", "store_query": "Florentin", "show_all_stores": None})
)


async def waiting(site: Any) -> tuple[Chat, str]:
    """A customer whose request waits, and its number."""
    chat = await Chat(site.ws_url, site.url, "en").__aenter__()
    await chat.send({"type": "handoff.request"})
    opened = await chat.receive("handoff.updated")
    await chat.receive("run.completed")
    return chat, opened["number"]


async def log_of(site: Any, secret: str) -> list[dict[str, Any]]:
    async with back(site, secret) as (_, hello):
        events: list[dict[str, Any]] = hello["events"]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    return events


def slowly(request: dict[str, Any]) -> Any:
    """An answer that takes about two seconds, piece by piece."""
    reply = chooses("[hello] {stock|Florentin, Tel Aviv} [anything_else]", 8).function(request)
    return replace(reply, pause=0.4)


def script(model: ScriptedModel) -> None:
    model.reset()
    model.script(
        forever(
            computed(lambda request: STOCK if request["messages"][-1]["role"] == "user" else slowly(request))
        )
    )


def test_after_a_take_over_the_assistant_writes_nothing_more(
    site: Any, scripted_server: ScriptedModel
) -> None:
    needs_several_processes()
    script(scripted_server)

    async def run(first: Any, second: Any, desk: Desk) -> None:
        chat, number = await waiting(first)
        async with back(second, chat.secret) as (elsewhere, _):
            await asyncio.to_thread(desk.do, number, "claim")
            # Without a take-over the same question is answered, in more than a second.
            answered = await chat.ask(message(ASKED))
            assert "Florentin" in answered.texts[0] and answered.seconds > 1
            for wait in (0.2, 0.8, 1.6):
                await chat.send(message(ASKED))
                started = await chat.receive("run.started")
                await asyncio.sleep(wait)
                sent = time.monotonic()
                await asyncio.to_thread(desk.do, number, "reply", f"It is Dana here {wait}")
                # Whoever is connected to the other process reads it within two seconds, too.
                for page in (chat, elsewhere):
                    got = await page.receive("message.completed")
                    while got["role"] != "staff":
                        got = await page.receive("message.completed")
                    assert (got["author"], got["author_role"]) == ("Dana Levi", "pharmacist")
                    assert time.monotonic() - sent < 2
                over = await chat.receive("run.completed")
                assert over["run_id"] == started["run_id"]
                await asyncio.to_thread(desk.do, number, "give_back")
            events = await log_of(first, chat.secret)
            for at, event in enumerate(events):
                if event.get("role") == "staff":
                    after = events[at + 1 : at + 3]
                    assert not any(one.get("role") == "assistant" for one in after)
            assert sum(event.get("role") == "staff" for event in events) == 3
            # The answer to the button, and that before the first take-over.
            assert sum(event.get("role") == "assistant" for event in events) == 2

            # While a person has it: silence for questions, a number for emergencies.
            await asyncio.to_thread(desk.do, number, "reply", "I am back")
            quiet = await chat.ask(message(ASKED))
            assert not quiet.texts and not quiet.error
            urgent = await chat.ask(message("I can't breathe, my throat is swelling"))
            assert "101" in urgent.texts[0]
            events = await log_of(first, chat.secret)
            assert events[-1]["automatic"]
            await asyncio.to_thread(desk.do, number, "close", "answered")
            while (await chat.receive("mode.changed"))["mode"] != "bot":
                pass
        await chat.socket.close()

    with (
        site(REDIS_URL=REDIS, **scripted_server.env) as first,
        site(REDIS_URL=REDIS, **scripted_server.env) as second,
    ):
        desk = Desk(first)
        try:
            asyncio.run(run(first, second, desk))
        finally:
            desk.end()
    scripted_server.reset()
