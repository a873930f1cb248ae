"""The scripted model proves itself with the real SDK over real sockets."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from openai import AsyncOpenAI
from request_samples import ASK, TOOL
from scripted_model import (
    ANSWER,
    KEY,
    KINDS,
    MODEL,
    ScriptedModel,
    by,
    calls,
    cuts,
    fails,
    forever,
    malformed,
    says,
    stalls,
    trickles,
)


@pytest.fixture
async def client(scripted_model: ScriptedModel) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=scripted_model.base_url, api_key=KEY, max_retries=0, timeout=5) as client:
        yield client


@pytest.fixture
def own() -> Iterator[ScriptedModel]:
    """A server that may be left in a state that fails a test."""
    with ScriptedModel() as model:
        yield model


async def ask(client: AsyncOpenAI, **more: Any) -> Any:
    return await client.chat.completions.create(model=MODEL, messages=ASK, **more)


async def chunks_of(client: AsyncOpenAI, **more: Any) -> list[Any]:
    return [chunk async for chunk in await ask(client, stream=True, **more)]


def text_of(chunks: list[Any]) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


# -- Answers -------------------------------------------------------------------------------------------------
async def test_an_answer_comes_in_pieces(scripted_model: ScriptedModel, client: AsyncOpenAI) -> None:
    scripted_model.script(says("Yes, אקמול is in stock in Haifa.", chunks=30))
    chunks = await chunks_of(client)
    assert text_of(chunks) == "Yes, אקמול is in stock in Haifa."
    assert chunks[0].choices[0].delta.role == "assistant" and chunks[0].choices[0].delta.content == ""
    assert len(chunks) == 1 + 30 + 1
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * 31 + ["stop"]
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}
    assert len({chunk.id for chunk in chunks}) == 1 and chunks[0].model == MODEL


async def test_usage_comes_last_when_it_is_requested(
    scripted_model: ScriptedModel, client: AsyncOpenAI
) -> None:
    scripted_model.script(says("Yes.", usage=(321, 7)))
    *chunks, last = await chunks_of(client, stream_options={"include_usage": True})
    assert last.choices == [] and all(chunk.usage is None for chunk in chunks)
    assert (last.usage.prompt_tokens, last.usage.completion_tokens, last.usage.total_tokens) == (321, 7, 328)


async def test_tools_are_called_in_parallel(scripted_model: ScriptedModel, client: AsyncOpenAI) -> None:
    stock, pair = {"medication_query": "אקמול"}, {"med_ids": [1, 2], "language": "he"}
    scripted_model.script(
        calls(("check_stock", stock), ("interaction_check", pair), says="I look.", chunks=4)
    )
    chunks = await chunks_of(client)
    deltas = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or []]
    heads = [call for call in deltas if call.id]
    assert [(call.index, call.function.name, call.type) for call in heads] == [
        (0, "check_stock", "function"),
        (1, "interaction_check", "function"),
    ]
    assert heads[0].id != heads[1].id
    for index, arguments in enumerate((stock, pair)):
        parts = [call.function.arguments for call in deltas if call.index == index]
        assert len(parts) == 5 and parts[0] == "" and json.loads("".join(parts)) == arguments
    assert text_of(chunks) == "I look." and chunks[-1].choices[0].finish_reason == "tool_calls"


async def test_the_sdk_joins_a_stream_to_a_completion(
    scripted_model: ScriptedModel, client: AsyncOpenAI
) -> None:
    scripted_model.script(
        calls(("check_stock", {"medication_query": "Aspirin", "store_query": None, "near": 3}))
    )
    async with client.chat.completions.stream(model=MODEL, messages=ASK, tools=[TOOL]) as stream:
        completion = await stream.get_final_completion()
    [call] = completion.choices[0].message.tool_calls or []
    assert call.function.parsed_arguments == {"medication_query": "Aspirin", "store_query": None, "near": 3}


async def test_an_answer_without_streaming_comes_in_one_piece(
    scripted_model: ScriptedModel, client: AsyncOpenAI
) -> None:
    scripted_model.script(
        says("Yes.", usage=(12, 3), finish="length"),
        calls(
            ("check_stock", {"medication_query": "Aspirin"}), ("check_stock", {"medication_query": "Akamol"})
        ),
    )
    answer = await ask(client)
    assert answer.choices[0].message.content == "Yes." and answer.choices[0].finish_reason == "length"
    assert answer.usage.total_tokens == 15
    asked = await ask(client)
    found = [json.loads(call.function.arguments) for call in asked.choices[0].message.tool_calls]
    assert [one["medication_query"] for one in found] == ["Aspirin", "Akamol"]
    assert asked.choices[0].message.content is None and asked.choices[0].finish_reason == "tool_calls"


async def test_a_conversation_with_tools_is_well_formed(
    scripted_model: ScriptedModel, client: AsyncOpenAI
) -> None:
    scripted_model.script(calls(("check_stock", {}), ("check_stock", {})), says("In Haifa."))
    first = (await ask(client, tools=[TOOL])).choices[0].message
    results = [{"role": "tool", "tool_call_id": call.id, "content": "{}"} for call in first.tool_calls]
    messages = [*ASK, first.model_dump(exclude_none=True), *results]
    await client.chat.completions.create(model=MODEL, messages=messages, tools=[TOOL])
    assert [message["role"] for message in scripted_model.last.messages] == [
        "user",
        "assistant",
        "tool",
        "tool",
    ]


async def test_requests_are_recorded_without_the_key(
    scripted_model: ScriptedModel, client: AsyncOpenAI
) -> None:
    scripted_model.script(says("Yes."), says("No."))
    before = time.monotonic()
    await ask(client, tools=[TOOL], temperature=0)
    await ask(client)
    first, last = scripted_model.requests
    assert last is scripted_model.last and before < first.arrived < last.arrived
    assert first.messages == ASK and first.tools_offered == ["check_stock"] and last.tools_offered == []
    assert first.body["temperature"] == 0 and "אקמול" in first.text
    assert (
        first.headers["authorization"] == "Bearer ***" and first.headers["content-type"] == "application/json"
    )
    assert KEY not in repr(scripted_model.requests)


async def test_connections_are_kept_alive(scripted_model: ScriptedModel) -> None:
    opened: list[str] = []

    async def trace(event: str, _info: Any) -> None:
        if event == "connection.connect_tcp.complete":
            opened.append(event)

    async def hook(request: Any) -> None:
        request.extensions["trace"] = trace

    scripted_model.script(forever(says("Yes.")))
    async with (
        openai.DefaultAsyncHttpxClient(event_hooks={"request": [hook]}) as http,
        AsyncOpenAI(base_url=scripted_model.base_url, api_key=KEY, http_client=http) as client,
    ):
        for _ in range(20):
            assert text_of(await chunks_of(client)) == "Yes."
            assert (await ask(client)).choices[0].message.content == "Yes."
    assert len(opened) == 1


async def test_the_list_of_models_is_served(scripted_model: ScriptedModel, client: AsyncOpenAI) -> None:
    assert [model.id async for model in client.models.list()] == [MODEL]
    assert scripted_model.requests == []


async def test_replies_may_be_computed_for_many_at_once(
    scripted_model: ScriptedModel, client: AsyncOpenAI
) -> None:
    scripted_model.script(
        says("First."), forever(by(lambda request: says(request["messages"][-1]["content"])))
    )
    assert (await ask(client)).choices[0].message.content == "First."

    async def one(number: int) -> str:
        messages: list[Any] = [{"role": "user", "content": f"Question {number}"}]
        stream = await client.chat.completions.create(model=MODEL, messages=messages, stream=True)
        return text_of([chunk async for chunk in stream])

    assert await asyncio.gather(*(one(n) for n in range(50))) == [f"Question {n}" for n in range(50)]


def test_another_process_is_served(scripted_model: ScriptedModel) -> None:
    scripted_model.script(says("Yes."))
    program = (
        "import openai; print(openai.OpenAI().chat.completions.create("
        "model='m', messages=[{'role': 'user', 'content': 'Hi'}]).choices[0].message.content)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=scripted_model.env, capture_output=True, text=True, check=True
    )
    assert done.stdout == "Yes.\n"


# -- What goes wrong -----------------------------------------------------------------------------------------
async def test_a_stall_before_the_first_piece_keeps_the_client_waiting(
    scripted_model: ScriptedModel, client: AsyncOpenAI
) -> None:
    scripted_model.script(stalls(30))
    stream = await ask(client, stream=True)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(aiter(stream)), 0.2)
    await stream.close()
    scripted_model.wait_until_abandoned(scripted_model.last)


async def test_a_stall_before_the_headers_keeps_the_client_waiting(
    scripted_model: ScriptedModel, client: AsyncOpenAI
) -> None:
    scripted_model.script(stalls(30, headers_first=False), stalls(30))
    for stream in (True, False):
        with pytest.raises(openai.APITimeoutError):
            await ask(client, stream=stream, timeout=1)  # of which a busy machine may need some to connect


async def test_a_stall_in_mid_stream_ends(scripted_model: ScriptedModel, client: AsyncOpenAI) -> None:
    scripted_model.script(stalls(0.3, after_chunks=2, of=says("abcdef", chunks=6)))
    seen = []
    async for chunk in await ask(client, stream=True):
        seen.append((time.monotonic(), chunk.choices[0].delta.content))
    assert "".join(text or "" for _, text in seen) == "abcdef"
    gaps = [later[0] - earlier[0] for earlier, later in pairwise(seen)]
    assert gaps.index(max(gaps)) == 2 and max(gaps) > 0.25


@pytest.mark.parametrize("after", [0, 1, 3])
async def test_a_cut_stream_raises_a_connection_error(
    scripted_model: ScriptedModel, client: AsyncOpenAI, after: int
) -> None:
    scripted_model.script(cuts(after_chunks=after), cuts(after_chunks=after))
    chunks = []
    with pytest.raises(openai.APIConnectionError):
        async for chunk in await ask(client, stream=True):
            chunks.append(chunk)
    assert len([chunk for chunk in chunks if chunk.choices[0].delta.content]) == after
    with pytest.raises(openai.APIConnectionError):
        await ask(client)


async def test_a_stream_of_calls_can_be_cut(scripted_model: ScriptedModel, client: AsyncOpenAI) -> None:
    scripted_model.script(cuts(after_chunks=2, of=calls(("check_stock", {"medication_query": "Aspirin"}))))
    arguments = ""
    with pytest.raises(openai.APIConnectionError):
        async for chunk in await ask(client, stream=True):
            for call in chunk.choices[0].delta.tool_calls or ():
                arguments += call.function.arguments
    assert arguments and not arguments.endswith("}")


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, openai.AuthenticationError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (503, openai.InternalServerError),
    ],
)
async def test_an_error_status_raises_the_sdks_error(
    scripted_model: ScriptedModel, client: AsyncOpenAI, status: int, error: type[openai.APIStatusError]
) -> None:
    scripted_model.script(fails(status, retry_after=2))
    with pytest.raises(error) as raised:
        await ask(client, stream=True)
    assert raised.value.status_code == status and raised.value.response.headers["retry-after"] == "2"
    assert isinstance(raised.value.body, dict) and raised.value.body["message"] == f"scripted {status}"


async def test_the_sdk_tries_again_after_an_error(scripted_model: ScriptedModel) -> None:
    scripted_model.script(fails(429, retry_after=0.05), says("Yes."))
    async with AsyncOpenAI(base_url=scripted_model.base_url, api_key=KEY, max_retries=1) as client:
        assert (await ask(client)).choices[0].message.content == "Yes."
    assert len(scripted_model.requests) == 2


async def test_an_answer_can_come_word_by_word(scripted_model: ScriptedModel, client: AsyncOpenAI) -> None:
    scripted_model.script(trickles("one two three four", 0.05))
    start = time.monotonic()
    assert text_of(await chunks_of(client)) == "one two three four"
    assert time.monotonic() - start > 0.2


REFUSED_STREAMED = {"chunk": json.JSONDecodeError, "not UTF-8": UnicodeDecodeError, "error": openai.APIError}
REFUSED_WHOLE = {
    **dict.fromkeys(("chunk", "empty", "no end"), json.JSONDecodeError),
    "not UTF-8": UnicodeDecodeError,
}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_malformed_stream_reaches_the_client(
    scripted_model: ScriptedModel, client: AsyncOpenAI, kind: str
) -> None:
    """Three kinds the SDK refuses; the others get through it, and are its caller's to notice."""
    scripted_model.script(malformed(kind))
    if kind in REFUSED_STREAMED:
        with pytest.raises(REFUSED_STREAMED[kind]):
            await chunks_of(client)
        return
    chunks = await chunks_of(client)
    try:
        proper = text_of(chunks) == ANSWER and chunks[-1].choices[0].finish_reason == "stop"
    except (AttributeError, TypeError):
        proper = False
    assert proper is (kind == "no end")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_malformed_completion_reaches_the_client(
    scripted_model: ScriptedModel, client: AsyncOpenAI, kind: str
) -> None:
    scripted_model.script(malformed(kind))
    if kind in REFUSED_WHOLE:
        with pytest.raises(REFUSED_WHOLE[kind]):
            await ask(client)
        return
    completion = await ask(client)
    try:
        choice = completion.choices[0]
        proper = choice.message.content == ANSWER and choice.finish_reason == "stop"
    except (AttributeError, TypeError):
        proper = False
    assert not proper


async def test_broken_arguments_of_a_call_reach_the_client(
    scripted_model: ScriptedModel, client: AsyncOpenAI
) -> None:
    scripted_model.script(malformed("arguments", tool="interaction_check"))
    [call] = (await ask(client)).choices[0].message.tool_calls
    assert call.function.name == "interaction_check"
    with pytest.raises(json.JSONDecodeError):
        json.loads(call.function.arguments)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="no such kind"):
        malformed("typo")


# -- What fails the test -------------------------------------------------------------------------------------
async def raw(own: ScriptedModel, body: Any, key: str = f"Bearer {KEY}") -> httpx2.Response:
    async with httpx2.AsyncClient() as http:
        return await http.post(
            f"{own.base_url}/chat/completions", json=body, headers={"Authorization": key} if key else {}
        )


def test_unused_replies_fail_the_test(own: ScriptedModel) -> None:
    own.verify()
    own.script(says("Yes."), forever(says("No.")))
    with pytest.raises(AssertionError, match="2 scripted replies were not asked for"):
        own.verify()
    with pytest.raises(ValueError, match="the last of a script"):
        own.script(says("Never."))
    own.reset()
    own.verify()


async def test_unexpected_requests_fail_the_test(own: ScriptedModel) -> None:
    own.script(says("Yes."))
    async with AsyncOpenAI(base_url=own.base_url, api_key=KEY) as client:
        await ask(client)
        own.verify()
        with pytest.raises(openai.InternalServerError, match="no reply is scripted"):
            await ask(client)
        assert len(own.requests) == 2
        with pytest.raises(AssertionError, match="request 2 was not expected"):
            own.verify()
        own.reset()
        with pytest.raises(openai.NotFoundError):
            await client.embeddings.create(model=MODEL, input="x")
        with pytest.raises(AssertionError, match="POST /v1/embeddings"):
            own.verify()


async def test_a_repeated_reply_that_was_used_once_passes(own: ScriptedModel) -> None:
    own.script(forever(says("Yes.")))
    async with AsyncOpenAI(base_url=own.base_url, api_key=KEY) as client:
        for _ in range(3):
            await ask(client)
    own.verify()


async def test_a_reply_that_cannot_be_computed_fails_the_test(own: ScriptedModel) -> None:
    own.script(by(lambda request: says(request["nothing"])))
    with pytest.raises(httpx2.RemoteProtocolError):
        await raw(own, {"model": MODEL, "messages": ASK})
    with pytest.raises(AssertionError, match="the server broke: KeyError"):
        own.verify()


async def test_a_request_that_openai_would_refuse_fails_the_test(own: ScriptedModel) -> None:
    own.script(says("Yes."))
    refused = await raw(own, {"model": MODEL, "messages": []})
    assert refused.status_code == 400 and "messages" in refused.json()["error"]["message"]
    assert (await raw(own, {"model": MODEL, "messages": ASK}, key="")).status_code == 400
    assert (await raw(own, {"model": MODEL, "messages": ASK})).status_code == 200
    with pytest.raises(
        AssertionError, match=r"(?s)request 1 would be refused.*request 2 would be refused.*Bearer"
    ):
        own.verify()


def test_waiting_for_requests_ends_after_a_time(own: ScriptedModel) -> None:
    with pytest.raises(AssertionError, match=r"0 requests in 0\.01 s, not 1"):
        own.wait_for(1, 0.01)


async def test_closing_does_not_wait_for_stalled_replies() -> None:
    start = time.monotonic()
    with ScriptedModel() as model:
        model.script(stalls(60))
        async with AsyncOpenAI(base_url=model.base_url, api_key=KEY, max_retries=0) as client:
            stream = await ask(client, stream=True)
            model.reset()
            with pytest.raises(openai.APIConnectionError):
                await anext(aiter(stream))
    assert time.monotonic() - start < 5


LEFT_OVER = """
from scripted_model import says


def test_leftover(scripted_model):
    scripted_model.script(says("Yes."))


def test_unexpected(scripted_model):
    import urllib.error, urllib.request

    data = b'{"model": "m", "messages": [{"role": "user", "content": "Hi"}]}'
    headers = {"Authorization": "Bearer k", "Content-Type": "application/json"}
    try:
        urllib.request.urlopen(urllib.request.Request(scripted_model.base_url + "/chat/completions", data, headers))
    except urllib.error.HTTPError as error:
        error.close()


def test_outside():
    import socket

    try:
        socket.create_connection(("192.0.2.1", 80))
    except Exception:
        pass


def test_nothing(scripted_model):
    assert scripted_model.requests == []
"""


def test_the_fixtures_fail_tests_with_unused_or_unexpected_requests(tmp_path: Path) -> None:
    """In a run of its own: what each test does passes by itself, and its end fails."""
    (tmp_path / "test_left_over.py").write_text(LEFT_OVER)
    tests = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-c", str(tests.parent / "pyproject.toml"),
         "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tests.parent, env={**os.environ, "PYTHONPATH": str(tests)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    failed = [line for line in done.stdout.splitlines() if line.startswith("ERROR ")]
    assert [line.split("::")[1].split()[0] for line in failed] == [
        "test_leftover",
        "test_unexpected",
        "test_outside",
    ]
    assert "4 passed, 3 errors" in done.stdout
