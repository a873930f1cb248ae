"""The loops that a turn of ours is compared with: the same questions to the same server, tools that answer from memory.

    python -m benchmarks.model_loops NAME BASE_URL LESSON

LESSON is a file with a `Lesson` as JSON. Each line on stdin is a number of turns to make; it is answered by one line with
their `Figures`. Whatever makes a loop's turns is imported by it alone: the frameworks live in an environment of their own.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.model_server import ANSWER

KEY, MODEL = "scripted", "scripted"
Turn = Callable[[Callable[[], None]], Awaitable[str]]
"""Makes one turn, calls its argument when there is text to show, and returns all of it."""


@dataclass(frozen=True)
class Lesson:
    """What every loop tells the model, and what its tools answer: taken from the site."""

    instructions: str
    message: str
    functions: list[dict[str, Any]]
    results: Mapping[str, str]


@dataclass
class Figures:
    """Milliseconds of each turn: of the processor, until the end, until the first text."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    text: list[float] = field(default_factory=list)


async def raw(lesson: Lesson, base_url: str) -> Turn:
    """No SDK: httpx2 and json."""
    import httpx2

    client = httpx2.AsyncClient(base_url=base_url, headers={"Authorization": f"Bearer {KEY}"})

    async def turn(shown: Callable[[], None]) -> str:
        dialogue = _opening(lesson)
        while True:
            body = {"model": MODEL, "messages": dialogue, "tools": lesson.functions, "stream": True}
            text, calls = "", _Calls()
            async with client.stream("POST", "/chat/completions", json=body) as response:
                async for line in response.aiter_lines():
                    if not line.startswith("data: {"):
                        continue
                    for choice in json.loads(line[6:])["choices"]:
                        if piece := choice["delta"].get("content"):
                            shown()
                            text += piece
                        for call in choice["delta"].get("tool_calls") or ():
                            calls.take(call["index"], call.get("id"), **call["function"])
            if not calls:
                return text
            dialogue += calls.answered(lesson)

    return turn


async def bare(lesson: Lesson, base_url: str) -> Turn:
    """The SDK as its documentation shows it."""
    from openai import AsyncOpenAI

    client: Any = AsyncOpenAI(base_url=base_url, api_key=KEY)

    async def turn(shown: Callable[[], None]) -> str:
        dialogue = _opening(lesson)
        while True:
            text, calls = "", _Calls()
            stream = await client.chat.completions.create(
                model=MODEL,
                messages=dialogue,
                tools=lesson.functions,
                stream=True,
                stream_options={"include_usage": True},
            )
            async for chunk in stream:
                for choice in chunk.choices:
                    if choice.delta.content:
                        shown()
                        text += choice.delta.content
                    for call in choice.delta.tool_calls or ():
                        calls.take(call.index, call.id, call.function.name, call.function.arguments)
            if not calls:
                return text
            dialogue += calls.answered(lesson)

    return turn


async def agents(lesson: Lesson, base_url: str) -> Turn:
    """The OpenAI Agents SDK, without its tracing."""
    from agents import Agent, FunctionTool, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)

    def tool(function: dict[str, Any]) -> Any:
        async def invoke(context: Any, arguments: str) -> str:
            return lesson.results[function["name"]]

        return FunctionTool(
            name=function["name"],
            description=function["description"],
            params_json_schema=function["parameters"],
            on_invoke_tool=invoke,
        )

    agent: Any = Agent(
        name="pharmacy",
        instructions=lesson.instructions,
        tools=[tool(one["function"]) for one in lesson.functions],
        model=OpenAIChatCompletionsModel(MODEL, AsyncOpenAI(base_url=base_url, api_key=KEY)),
    )

    async def turn(shown: Callable[[], None]) -> str:
        run = Runner.run_streamed(agent, lesson.message)
        async for event in run.stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                shown()
        return str(run.final_output)

    return turn


async def langgraph(lesson: Lesson, base_url: str) -> Turn:
    """LangGraph's prebuilt agent, which is called `create_agent` now."""
    from langchain.agents import create_agent
    from langchain_core.tools import StructuredTool
    from langchain_openai import ChatOpenAI

    def tool(function: dict[str, Any]) -> Any:
        async def invoke(**arguments: Any) -> str:
            return lesson.results[function["name"]]

        return StructuredTool(
            name=function["name"],
            description=function["description"],
            args_schema=function["parameters"],
            coroutine=invoke,
        )

    model = ChatOpenAI(model=MODEL, base_url=base_url, api_key=KEY, streaming=True, stream_usage=True)
    tools = [tool(one["function"]) for one in lesson.functions]
    graph: Any = create_agent(model, tools, system_prompt=lesson.instructions)

    async def turn(shown: Callable[[], None]) -> str:
        text = ""
        asked = {"messages": [{"role": "user", "content": lesson.message}]}
        async for message, _about in graph.astream(asked, stream_mode="messages"):
            if message.type == "AIMessageChunk" and message.text:
                shown()
                text += message.text
        return text

    return turn


async def pydantic_ai(lesson: Lesson, base_url: str) -> Turn:
    """pydantic-ai."""
    from pydantic_ai import Agent, Tool
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    def tool(function: dict[str, Any]) -> Any:
        async def invoke(**arguments: Any) -> str:
            return lesson.results[function["name"]]

        return Tool.from_schema(invoke, function["name"], function["description"], function["parameters"])

    agent: Any = Agent(
        OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=base_url, api_key=KEY)),
        instructions=lesson.instructions,
        tools=[tool(one["function"]) for one in lesson.functions],
    )

    async def turn(shown: Callable[[], None]) -> str:
        text = ""
        async with agent.run_stream(lesson.message) as run:
            async for piece in run.stream_text(delta=True, debounce_by=None):
                shown()
                text += piece
        return text

    return turn


LOOPS = {"raw": raw, "bare": bare, "agents": agents, "langgraph": langgraph, "pydantic_ai": pydantic_ai}


class _Calls:
    """Function calls as they come in pieces."""

    def __init__(self) -> None:
        self._parts: dict[int, dict[str, str]] = {}

    def __bool__(self) -> bool:
        return bool(self._parts)

    def take(self, index: int, id: str | None, name: str | None = None, arguments: str | None = None) -> None:
        """Keep a piece."""
        call = self._parts.setdefault(index, {"id": id or "", "name": name or "", "arguments": ""})
        call["arguments"] += arguments or ""

    def answered(self, lesson: Lesson) -> list[dict[str, Any]]:
        """Return the calls and their results as messages to the model."""
        made, told = [], []
        for call in self._parts.values():
            json.loads(call["arguments"])
            function = {"name": call["name"], "arguments": call["arguments"]}
            made.append({"id": call["id"], "type": "function", "function": function})
            told.append({"role": "tool", "tool_call_id": call["id"], "content": lesson.results[call["name"]]})
        return [{"role": "assistant", "content": None, "tool_calls": made}, *told]


def _opening(lesson: Lesson) -> list[dict[str, Any]]:
    return [
        {"role": "system", "content": lesson.instructions},
        {"role": "user", "content": lesson.message},
    ]


async def measured(begun: Callable[[], Awaitable[Turn]], count: int) -> Figures:
    """Make so many turns, which must all end with the server's answer; `begun` is not measured."""
    figures = Figures()
    for _ in range(count):
        turn = await begun()
        first: list[float] = []
        cpu, wall = time.process_time(), time.perf_counter()
        said = await turn(lambda first=first: first.append(time.perf_counter()))
        figures.cpu.append((time.process_time() - cpu) * 1000)
        figures.wall.append((time.perf_counter() - wall) * 1000)
        figures.text.append((first[0] - wall) * 1000)
        if said != ANSWER:
            raise RuntimeError(f"the answer was {said!r}")
    return figures


async def main() -> None:
    """Make the turns that stdin asks for, until it ends."""
    name, base_url, path = sys.argv[1:]
    turn = await LOOPS[name](Lesson(**json.loads(Path(path).read_text())), base_url)

    async def begun() -> Turn:
        return turn

    while line := sys.stdin.readline():
        print(json.dumps(asdict(await measured(begun, int(line)))), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
