"""What one turn, one conversation and one day may take: at the limit the offline model goes on (T19)."""

import asyncio
import logging
import time
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from scripted_model import ScriptedModel, calls, chooses, forever, says, trickles
from talking import Talk, once

from agent.answers.sentences import SENTENCES
from agent.conversation import accept, spending
from agent.inference import openai
from agent.models import Run, ToolCall
from pharmacy_site import settings as shipped

ASKS = "do you have Advil in Florentin?"
LOOK = calls(
    ("check_stock", {"medication_query": "Advil", "store_query": "Florentin", "show_all_stores": None})
)
STORE = calls(("store_info", {"query": None}))
ANSWER = chooses("{stock|Florentin, Tel Aviv}", usage=(900, 100))

NEAR = says("[hello]", usage=(900, 100))


def test_no_turn_makes_more_than_eight_calls(tireless: ScriptedModel) -> None:
    one = ("get_medication_by_name", {"medication_name": "Advil"})
    for replies in (
        [forever(calls(one))],
        [forever(calls(*[one] * 3))],
        [calls(*[one] * 8), chooses("{price|Ibuprofen}")],
    ):
        talk = once(tireless, ASKS, *replies)
        assert talk.run.state == Run.State.DONE
        assert ToolCall.objects.filter(run=talk.run).count() <= 8
        assert len(tireless.requests) <= 9


def test_a_turn_that_uses_up_its_calls_ends_with_an_apology_and_an_offer_of_a_person(
    tireless: ScriptedModel,
) -> None:
    talk = once(tireless, ASKS, forever(calls(("get_medication_by_name", {"medication_name": "Advil"}))))
    assert SENTENCES["apology"][0] in talk.payload["text"]
    assert SENTENCES["chip_person"][0] in talk.payload["suggestions"]


def test_our_own_checks_do_not_use_up_the_calls_of_a_turn(tireless: ScriptedModel) -> None:
    nurofen = ("get_medication_by_name", {"medication_name": "Nurofen"})
    talk = Talk()
    tireless.script(says("[thank_you]"))
    talk.say("I'm on warfarin")
    tireless.script(says("[thank_you]"))
    talk.say("I'm allergic to ibuprofen")
    tireless.script(calls(*[nurofen] * 8), chooses("{price|Nurofen}"))
    text = talk.say("and what does the red box cost?")
    assert "cannot be taken together" in text and "You mentioned an allergy" in text and "32.90" in text


def test_nor_do_those_after_the_plans_of_the_offline_model(settings: Any, demo_committed: None) -> None:
    settings.CHAT_STEPS = 1
    talk = Talk()
    talk.say("I'm on warfarin")
    assert "cannot be taken together" in talk.say("how much is Nurofen?")


def test_every_request_limits_the_output_tokens(tireless: ScriptedModel) -> None:
    once(tireless, ASKS, LOOK, ANSWER)
    assert [request.body["max_completion_tokens"] for request in tireless.requests] == [1_200, 1_200]
    assert openai.MOST_OUTPUT_TOKENS == 1_200


def test_an_answer_cut_at_the_token_limit_is_not_used(tireless: ScriptedModel) -> None:
    talk = once(tireless, ASKS, LOOK, forever(says("Florentin has 3 packs. And", finish="length")))
    assert (talk.run.fallback, talk.run.model) == ("withheld", "offline")
    assert "3 units" in talk.payload["text"]


def test_an_answer_that_takes_too_long_is_replaced(tireless: ScriptedModel, settings: Any) -> None:
    settings.OPENAI_TIMEOUT = 0.6
    started = time.monotonic()
    talk = once(tireless, ASKS, trickles("It is there. " * 400, 0.05))
    assert talk.run.fallback == "timeout" and time.monotonic() - started < 10
    assert talk.shown[-1] == talk.payload["text"] and "3 units" in talk.payload["text"]


def test_the_default_limits() -> None:
    assert (shipped.OPENAI_FIRST_TOKEN_TIMEOUT, shipped.OPENAI_TIMEOUT) == (10, 30)
    assert (shipped.CHAT_STEPS, shipped.CHAT_MESSAGES_PER_MINUTE, shipped.CHAT_MESSAGES_PER_DAY) == (
        8,
        20,
        200,
    )


def _logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "agent.conversation.spending"]


def _fresh() -> None:
    spending.day.forget()
    spending._warned_at.clear()


def test_a_conversation_beyond_its_tokens_gets_the_offline_model(
    model: ScriptedModel, settings: Any, caplog: Any
) -> None:
    settings.OPENAI_TOKENS_PER_CONVERSATION = 1_500
    _fresh()
    model.script(STORE, forever(NEAR))
    talk = Talk()
    talk.say("hello there, what else is new?")
    assert talk.run.tokens_in >= 900 and not talk.run.fallback
    asked = len(model.requests)
    for _ in range(2):
        text = talk.say(ASKS)
        assert (talk.run.fallback, len(model.requests)) == ("cap_conversation", asked)
        assert "3 units" in text and talk.run.tokens_in == 0
    assert len(_logged(caplog)) == 1 and "cap conversation" in _logged(caplog)[0]  # once a minute
    fresh = Talk()
    fresh.say("hello there, what else is new?")
    assert not fresh.run.fallback  # another conversation's tokens are its own


@pytest.mark.parametrize("cap", ["day", "cost"])
def test_a_site_beyond_its_daily_limit_gets_the_offline_model(
    model: ScriptedModel, settings: Any, caplog: Any, cap: str
) -> None:
    if cap == "day":
        settings.OPENAI_TOKENS_PER_DAY = 1_900
    else:
        settings.OPENAI_PRICE_IN, settings.OPENAI_PRICE_OUT = Decimal(1_000), Decimal(1_000)
        settings.OPENAI_COST_PER_DAY = Decimal("1.9")
    model.script(forever(NEAR))
    reasons = []
    for _ in range(3):
        _fresh()
        talk = Talk()
        talk.say("hello there, what else is new?")
        reasons.append(talk.run.fallback)
    assert reasons == ["", "", f"cap_{cap}"]
    assert any(f"cap {cap}" in line for line in _logged(caplog))
    assert not any("Advil" in line or "hello" in line for line in _logged(caplog))


def test_the_daily_limit_ends_after_24_hours(model: ScriptedModel, settings: Any) -> None:
    settings.OPENAI_TOKENS_PER_DAY = 500
    model.script(forever(NEAR))
    Talk().say("hello there, what else is new?")
    _fresh()
    talk = Talk()
    talk.say("hello there, what else is new?")
    assert talk.run.fallback == "cap_day"
    Run.objects.update(created_at=timezone.now() - timedelta(hours=25))
    _fresh()
    talk = Talk()
    talk.say("hello there, what else is new?")
    assert not talk.run.fallback


def test_the_cost_of_a_withheld_answer_is_stored(model: ScriptedModel, settings: Any) -> None:
    settings.OPENAI_PRICE_IN, settings.OPENAI_PRICE_OUT = Decimal(2), Decimal(10)
    bad = says("You should take it.", usage=(1_000, 50))
    talk = once(model, "hello there, what else is new?", bad, bad)
    assert talk.run.fallback == "withheld"
    assert talk.run.tokens_in >= 1_000 and talk.run.cost > 0
    # A stream that was broken off tells no usage: then it is guessed, and not as nothing.
    assert talk.run.tokens_out > 0


def test_the_tokens_of_a_cancelled_run_are_stored(model: ScriptedModel) -> None:
    model.script(trickles("It is there. " * 100, 0.05))
    talk = Talk()
    talk.send("hello there, what is new?")
    claim = talk.claim()

    async def stopped() -> None:
        task = asyncio.create_task(talk.answering(claim))
        await asyncio.to_thread(model.wait_for, 1)
        await asyncio.sleep(0.2)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(stopped())
    assert Run.objects.get(pk=claim.run.pk).tokens_in > 500
    model.wait_until_abandoned(model.last)


def test_messages_beyond_the_limit_per_minute_reach_no_model(model: ScriptedModel, settings: Any) -> None:
    settings.CHAT_MESSAGES_PER_MINUTE = 4
    model.script(forever(NEAR))
    talk = Talk()
    for _ in range(4):
        talk.say("hello there, what else is new?")
    asked = len(model.requests)
    with pytest.raises(accept.RateLimited):
        talk.say("hello there, what else is new?")
    assert len(model.requests) == asked


def test_log_lines_contain_no_messages(tireless: ScriptedModel, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    once(tireless, "hello Zanzibarian, what else is new?", forever(says("You should take Quuxotan.")))
    assert "Zanzibarian" not in caplog.text and "Quuxotan" not in caplog.text
