"""Whatever becomes of the model's server, a customer gets a useful answer in time, and hears once why it is plain (D6)."""

import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from scripted_model import (
    KINDS,
    ScriptedModel,
    calls,
    chooses,
    cuts,
    fails,
    forever,
    malformed,
    says,
    stalls,
    trickles,
)
from talking import Talk, once

from agent.answers.sentences import SENTENCES
from agent.inference import openai
from agent.knowledge.indexing import indexes_warm_up
from agent.llm import chosen
from agent.models import Confirmation, Run
from agent.turn import guard
from evaluation.chat import Answer
from evaluation.checks import turn_problems
from evaluation.scenario import Turn, scenarios_all
from pharmacy_site.lib.breaker import Breaker
from prescriptions.models import Challenge, Handoff

ASKS = {"en": "do you have Advil in Florentin?", "he": "יש לכם אדוויל בפלורנטין?"}
KNOWS = {"en": ["Florentin", "3 units"], "he": ["פלורנטין", "3 יחידות"]}
LOOK = calls(
    ("check_stock", {"medication_query": "Advil", "store_query": "Florentin", "show_all_stores": None})
)
SHOWN = "Ibuprofen is in stock at Florentin, Tel Aviv but limited quantity available (3 units)"
FIRST, WHOLE = 0.7, 1.2

BROKEN: dict[str, tuple[Any, str]] = {
    **{str(status): (forever(fails(status)), "overloaded") for status in (429, 500, 502, 503)},
    **{str(status): (forever(fails(status)), "request") for status in (400, 404)},
    "key refused": (forever(fails(401)), "key"),
    "country refused": (forever(fails(403)), "key"),
    "come back in a minute": (forever(fails(429, retry_after=60)), "overloaded"),
    "come back at no time": (forever(fails(429, retry_after=float("nan"))), "overloaded"),
    "silent before its headers": (stalls(2, headers_first=False), "timeout"),
    "silent after its headers": (stalls(2), "timeout"),
    "silent after the first token": (stalls(2, after_chunks=2), "timeout"),
    "trickling": (trickles("It is there. " * 30, 0.1), "timeout"),
    "cut at once": (forever(cuts(0)), "cut"),
    "cut in the middle": (cuts(4), "cut"),
    "truncated at the limit": (forever(says("Florentin has some.", finish="length")), "withheld"),
    "refused by a filter": (says("Florentin has some.", finish="content_filter"), "refused"),
    "says nothing": (forever(says("")), "empty"),
    "an unknown tool": (calls(("order_everything", {})), "unknown_tool"),
    "another case": (calls(("Check_Stock", {"medication_query": "Advil"})), "unknown_tool"),
    "a method of ours": (calls(("__class__", {})), "unknown_tool"),
    "arguments that are no JSON": (calls(("check_stock", "{")), "malformed"),
    "arguments that are a list": (calls(("check_stock", "[1]")), "malformed"),
    "arguments that are a text": (calls(("check_stock", '"Advil"')), "malformed"),
    "arguments without end": (calls(("check_stock", "[" * 15_000)), "malformed"),
    "arguments that no database takes": (calls(("check_stock", '{"medication_query": "a\\u0000"}')), "malformed"),
    "half a character": (calls(("check_stock", '{"medication_query": "\\ud83d"}')), "malformed"),
    "a broken second answer": (None, ""),
}  # fmt: skip


@pytest.fixture(autouse=True)
def small_limits(settings: Any, tireless: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai, "_RETRY_WAIT", (0.01, 0.02))
    settings.OPENAI_FIRST_TOKEN_TIMEOUT, settings.OPENAI_TIMEOUT = FIRST, WHOLE
    guard.warm_up()  # as a site does while it starts; the first turn of a process would be too late otherwise
    indexes_warm_up()


def _broken_turn(model: ScriptedModel, *replies: Any, language: str = "en") -> tuple[Talk, list[str]]:
    """A turn with a fresh breaker, and what is wrong with its answer."""
    chosen.breaker.cache_clear()
    started = time.monotonic()
    talk = once(model, ASKS[language], *replies, language=language)
    wrong = [f"no {fact}" for fact in KNOWS[language] if fact not in talk.payload["text"]]
    if talk.run.state != Run.State.DONE or talk.shown[-1] != talk.payload["text"]:
        wrong.append(f"{talk.run.state}, shown {talk.shown[-1:]}")
    if time.monotonic() - started > WHOLE + 2:
        wrong.append("too late")
    return talk, wrong


def test_every_failure_gets_a_useful_answer(tireless: ScriptedModel) -> None:
    failed = {}
    for name, (reply, reason) in BROKEN.items():
        replies = [reply] if reply is not None else [LOOK, stalls(2, after_chunks=1)]
        talk, wrong = _broken_turn(tireless, *replies)
        if reason and talk.run.fallback != reason:
            wrong.append(f"falls back because of {talk.run.fallback!r}")
        basic = SENTENCES["basic_mode"][0] in talk.payload["text"]
        if basic == (talk.run.fallback == "withheld"):  # a model that is there is no basic mode
            wrong.append("the notice")
        if wrong:
            failed[name] = wrong
    assert failed == {}


def test_every_broken_protocol_gets_a_useful_answer(tireless: ScriptedModel) -> None:
    failed = {}
    for kind in KINDS:
        talk, wrong = _broken_turn(tireless, malformed(kind), malformed(kind), forever(fails(400)))
        whole = kind == "no end"  # only `[DONE]` is missing: that is an answer
        if wrong and not (whole and talk.payload["text"].startswith("Aspirin is in stock")):
            failed[kind] = (talk.run.fallback, wrong)
    assert failed == {}


def test_every_failure_gets_a_useful_hebrew_answer(tireless: ScriptedModel) -> None:
    talk, wrong = _broken_turn(tireless, forever(fails(503)), language="he")
    assert wrong == [] and talk.payload["text"].startswith(SENTENCES["basic_mode"][1])


def test_an_unreachable_model_gets_a_useful_answer(tireless: ScriptedModel, settings: Any) -> None:
    settings.OPENAI_BASE_URL = "http://127.0.0.1:9/v1"
    talk, wrong = _broken_turn(tireless)
    assert (wrong, talk.run.fallback) == ([], "unreachable")


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
BROKEN_HTTP = {
    "nothing": b"",
    "no HTTP": b"hello\r\n\r\n",
    "a status that is none": b"HTTP/1.1 abc Oops\r\n\r\n",
    "half a head": HEAD,
    "a header that is none": HEAD + b"no header\r\n\r\n",
    "endless headers": HEAD + b"X-Pad: " + b"x" * 100_000 + b"\r\n\r\n",
    "a length that is none": HEAD + b"Content-Length: many\r\n\r\n",
    "less than its length": HEAD + b"Content-Length: 1000\r\n\r\n: beep\n\n",
    "a chunk's size that is none": CHUNKED + b"zz\r\n: beep\n\n\r\n",
    "a chunk that is longer": CHUNKED + b"3\r\n: beep\n\n\r\n",
    "chunks without end": CHUNKED + b"8\r\n: beep\n\n\r\n",
    "no compression": HEAD + b"Content-Encoding: gzip\r\nContent-Length: 9\r\n\r\nnot a zip",
    "a way to itself": b"HTTP/1.1 307 Elsewhere\r\nLocation: /v1/chat/completions\r\nContent-Length: 0\r\n\r\n",
    "a way to nowhere": b"HTTP/1.1 307 Elsewhere\r\nLocation: gopher://[\r\nContent-Length: 0\r\n\r\n",
}


@contextmanager
def served_raw(reply: bytes) -> Iterator[str]:
    """A server that reads a little of a request, sends these bytes and hangs up."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1_000_000)
            self.request.sendall(reply)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()


@pytest.mark.parametrize("kind", BROKEN_HTTP)
def test_a_response_that_is_not_http_gets_a_useful_answer(
    tireless: ScriptedModel, settings: Any, kind: str
) -> None:
    with served_raw(BROKEN_HTTP[kind]) as settings.OPENAI_BASE_URL:
        talk, wrong = _broken_turn(tireless)
    assert wrong == [] and talk.run.fallback in ("unreachable", "timeout", "cut")


def test_a_request_is_repeated_once_after_a_busy_reply(tireless: ScriptedModel) -> None:
    for once_broken in (fails(429), fails(500), fails(503, retry_after=0.05)):
        chosen.breaker.cache_clear()
        talk = once(tireless, ASKS["en"], once_broken, LOOK, chooses("{stock|Florentin, Tel Aviv}"))
        assert (talk.run.fallback, talk.payload["text"].split(".")[0]) == ("", SHOWN)
        assert len(tireless.requests) == 3


@pytest.mark.parametrize(
    "refusal", [fails(401), fails(429, retry_after=60)], ids=["wrong key", "come back in a minute"]
)
def test_a_lasting_failure_is_not_tried_again(tireless: ScriptedModel, refusal: Any) -> None:
    _broken_turn(tireless, forever(refusal))
    assert len(tireless.requests) == 1


def test_the_notice_comes_once_and_again_after_a_recovery(tireless: ScriptedModel) -> None:
    chosen.breaker.cache_clear()
    notice, talk = SENTENCES["basic_mode"][0], Talk()
    told = []
    for reply in (fails(400), fails(400), says("[hello] [ask_what]"), fails(400)):
        tireless.script(reply)
        told.append(notice in talk.say("hello there, what else is new?"))
    assert told == [True, False, False, True]


def test_the_breaker_opens_after_five_and_tries_one_after_half_a_minute(
    tireless: ScriptedModel, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_000.0]
    breaker = Breaker("model", failures=5, seconds=30, clock=lambda: now[0])
    monkeypatch.setattr(chosen, "breaker", lambda *_: breaker)
    tireless.script(forever(fails(400)))
    for _ in range(8):
        talk = Talk()
        assert "3 units" in talk.say(ASKS["en"])
    assert len(tireless.requests) == 5 and talk.run.fallback == "breaker_open"
    now[0] += 29
    Talk().say(ASKS["en"])
    assert len(tireless.requests) == 5
    now[0] += 2
    Talk().say(ASKS["en"])
    Talk().say(ASKS["en"])
    assert len(tireless.requests) == 6  # one try, and it failed
    now[0] += 31
    tireless.forget()
    tireless.script(LOOK, forever(chooses("{stock|Florentin, Tel Aviv}")))
    talk = Talk()
    talk.say(ASKS["en"])
    assert (talk.run.fallback, talk.run.model) == ("", "scripted-1")
    assert not breaker.is_open


def test_the_default_limits_of_the_breaker(settings: Any) -> None:
    assert (chosen.BREAKER_FAILURES, chosen.BREAKER_SECONDS) == (5, 30.0)


def test_a_failing_model_changes_nothing(tireless: ScriptedModel) -> None:
    """Not even what it asked for before it failed."""
    for replies in (
        [calls(("patient_matter", '{"matter": "Metf'))],
        [calls(("patient_matter", {"matter": "refill", "medication_name": "Metformin"}), ("nonsense", "{"))],
        [says("I'll pass you on.", finish="content_filter")],
    ):
        _broken_turn(tireless, *replies)
    assert not (Handoff.objects.exists() or Challenge.objects.exists() or Confirmation.objects.exists())


def _questions() -> list[tuple[str, Turn]]:
    """100 first questions of the scenarios, half in each language, that a reader of tables can answer."""
    found: dict[str, list[tuple[str, Turn]]] = {"en": [], "he": []}
    for scenario in scenarios_all():
        turn = scenario.turns[0]
        factual = scenario.family in ("information", "stock", "branches", "equivalents", "interactions")
        if factual and scenario.plain and turn.say and turn.must and not scenario.location:
            found[scenario.lang].append((scenario.lang, turn))
    return found["en"][:50] + found["he"][:50]


def test_a_hundred_factual_questions_are_answered_without_the_model(tireless: ScriptedModel) -> None:
    chosen.breaker.cache_clear()
    tireless.script(forever(fails(400)))
    questions, wrong = _questions(), []
    assert len(questions) == 100
    for language, turn in questions:
        talk = Talk(language)
        answer = Answer([talk.say(turn.say)], talk.payload["lang"], talk.tools)
        problems = [problem for problem in turn_problems(turn, answer) if not problem.startswith("no event")]
        if problems:
            wrong.append(f"{turn.say}: {problems}")
        assert talk.run.state == Run.State.DONE
    assert len(wrong) <= 10, "\n".join(wrong)
