"""A turn with a language model: ours, the bare SDK's loop, and the agent frameworks, all asking one scripted server."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid4

from benchmarks.databases import ROOT, Databases
from benchmarks.frameworks import FRAMEWORKS, environment_made
from benchmarks.measure import ratio
from benchmarks.model_loops import KEY, MODEL, Figures, Lesson, Turn, measured
from benchmarks.model_server import CALLS, MESSAGE

TITLE = f'A turn with a language model ("{MESSAGE}"): two tool calls and an answer in 30 pieces'
NOTES = (
    "One scripted server in a process of its own answers everybody at once. × are against the bare openai SDK's streaming",
    "loop: medians of alternating pairs. CPU is the asking process's, without the server's and PostgreSQL's. All are told",
    "the same instructions and offered the same functions; the tools of the others answer from memory.",
    "Ours, answer: the loop alone, from the claimed run to the committed answer. Ours, turn: accept and claim as well.",
    "Both with guard, tools on the database, checks by sentence and of the whole, events; one conversation each. First",
    "text is the first checked sentence of ours, the first piece of the others. Identified: with a patient to hide.",
)
OURS, ANSWER_ALONE, BARE, RAW = "ours, turn", "ours, answer", "bare", "raw"
IDENTIFIED = "ours, identified"
PATIENT = "10000101"
ROUNDS, TURNS, WARM = 5, 20, 10
Take = Callable[[int], Figures]


def measure(own: Databases) -> list[dict[str, Any]]:
    """Return a row for ours and for each other loop."""
    frameworks, absent = environment_made()
    with ExitStack() as open:
        base_url = f"http://127.0.0.1:{open.enter_context(model_served())}/v1"
        os.environ.update(OPENAI_BASE_URL=base_url, OPENAI_API_KEY=KEY, OPENAI_MODEL=MODEL)
        import django

        django.setup()
        folder = Path(open.enter_context(tempfile.TemporaryDirectory()))
        (folder / "lesson.json").write_text(json.dumps(asdict(lesson_of_the_site())))
        runner = open.enter_context(asyncio.Runner())
        takes: dict[str, Take] = {
            name: lambda count, begun=begun: runner.run(measured(begun, count))
            for name, begun in our_turns().items()
        }
        pythons = {RAW: sys.executable, BARE: sys.executable}
        pythons |= {name: str(frameworks) for name in FRAMEWORKS if not absent}
        for name, python in pythons.items():
            command = [python, "-m", "benchmarks.model_loops", name, base_url, str(folder / "lesson.json")]
            takes[name] = open.enter_context(loop_apart(command))
        found = _alternated(takes)
    return [_row(own.vendor, name, found) for name in takes] + [
        {"database": own.vendor, "what": f"{FRAMEWORKS[name]}: {absent}"} for name in FRAMEWORKS if absent
    ]


def _alternated(takes: Mapping[str, Take]) -> dict[str, list[Figures]]:
    """Take turns of each in rounds, every other round backwards."""
    for take in takes.values():
        take(WARM)
    found: dict[str, list[Figures]] = {name: [] for name in takes}
    for place in range(ROUNDS):
        for name in list(takes)[:: 1 if place % 2 == 0 else -1]:
            found[name].append(takes[name](TURNS))
    return found


def _row(vendor: str, name: str, found: Mapping[str, list[Figures]]) -> dict[str, Any]:
    row: dict[str, Any] = {"database": vendor, "what": _named(name)}
    for column, kind in (("CPU", "cpu"), ("wall", "wall"), ("first text", "text")):
        mine, bare = ([median(getattr(one, kind)) for one in found[which]] for which in (name, BARE))
        row |= {f"{column} ms": median(mine), f"× {column}": ratio(mine, bare)}
    return row


def _named(name: str) -> str:
    return {RAW: "raw httpx2 loop", BARE: f"bare openai {version('openai')} loop"}.get(
        name, FRAMEWORKS.get(name, name)
    )


@contextmanager
def model_served() -> Iterator[int]:
    """The scripted server's port."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "benchmarks.model_server"]
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin and process.stdout
        yield int(process.stdout.readline())
        process.stdin.close()


@contextmanager
def loop_apart(command: list[str]) -> Iterator[Take]:
    """Another loop in a process of its own."""
    pipe = subprocess.PIPE
    env = {"PYTHONPATH": str(ROOT), "PATH": os.environ.get("PATH", "")}
    with subprocess.Popen(command, cwd=ROOT, env=env, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin and process.stdout
        asked, told = process.stdin, process.stdout

        def take(count: int) -> Figures:
            print(count, file=asked, flush=True)
            line = told.readline()
            if not line:
                raise RuntimeError(f"{command[3]} ended")
            return Figures(**json.loads(line))

        yield take
        asked.close()


def lesson_of_the_site() -> Lesson:
    """What our own model is told and its tools answer, for the others."""
    from django.utils import timezone

    from agent.inference.base import Step, StepResult, Turn
    from agent.llm import prompt
    from agent.llm.functions import functions_told
    from agent.safety.privacy.placeholders import Placeholders
    from agent.tools.base import ToolContext
    from agent.tools.registry import call_tool

    turn, hidden = Turn(MESSAGE, "en", {}, timezone.localtime()), Placeholders()
    told = prompt.messages_of(turn, [], hidden, "en")
    context = ToolContext("chat:benchmark", "chat", "en", message=MESSAGE)
    results = {}
    for name, arguments in CALLS:
        outcome = call_tool(name, arguments, context)
        result = StepResult(Step(name, arguments), outcome.ok, outcome.result, "", outcome.evidence)
        results[name] = prompt.result_told(result, hidden, "en")
    instructions = "\n".join(message["content"] for message in told if message["role"] == "system")
    return Lesson(instructions, MESSAGE, json.loads(functions_told(turn)), results)


def our_turns() -> dict[str, Callable[[], Awaitable[Turn]]]:
    """Our turns, each in a conversation of its own."""
    from django.utils import timezone

    from agent.chat.hub import Hub
    from agent.chat.progress import RunProgress
    from agent.conversation import accept, runs
    from agent.conversation.events import conversation_begin
    from agent.models import Conversation, Run
    from agent.threads import run_db
    from agent.turn import loop
    from prescriptions.models import Patient

    class Heard(Hub):
        """A hub that notices when a customer would see text, and that the answer is in the log."""

        shown: Callable[[], None]
        is_done = False

        def tell(self, key: str, frame: dict[str, Any]) -> None:
            if frame["type"] == "message.delta":
                self.shown()
            super().tell(key, frame)

        def ring(self, key: str) -> None:
            self.is_done = True
            super().ring(key)

    hubs: list[Heard] = []  # one, of the event loop that all turns run in

    async def claimed(conversation: Conversation) -> Run:
        await run_db(accept.message_accept)(
            conversation_id=conversation.pk, client_msg_id=uuid4(), text=MESSAGE, address="192.0.2.1"
        )
        run = await run_db(runs.run_claim)(conversation.pk)
        assert run is not None
        return run

    async def answered(run: Run, shown: Callable[[], None]) -> str:
        hub = hubs[0]
        hub.shown, hub.is_done = shown, False
        live = RunProgress(hub, run.conversation.secret_hash, run.pk, run.attempts)
        await loop.answer(run, live)
        called = [call.step.name for call in live.calls.values() if call.ok]
        if not hub.is_done or called != [name for name, _ in CALLS]:
            raise RuntimeError(f"the turn called {called}")
        return live.text

    async def conversation_open() -> Conversation:
        if not hubs:
            hubs.append(Heard())
        conversation: Conversation = (await run_db(conversation_begin)(language="en"))[0]
        return conversation

    async def whole() -> Turn:
        conversation = await conversation_open()

        async def turn(shown: Callable[[], None]) -> str:
            return await answered(await claimed(conversation), shown)

        return turn

    async def answer_alone() -> Turn:
        run = await claimed(await conversation_open())
        return lambda shown: answered(run, shown)

    def identified(conversation: Conversation) -> None:
        proof = {"patient": Patient.objects.get(mrn=PATIENT), "verified_at": timezone.now()}
        Conversation.objects.filter(pk=conversation.pk).update(**proof)

    async def whole_identified() -> Turn:
        conversation = await conversation_open()
        await run_db(identified)(conversation)

        async def turn(shown: Callable[[], None]) -> str:
            return await answered(await claimed(conversation), shown)

        return turn

    return {
        OURS: whole,
        ANSWER_ALONE: answer_alone,
        IDENTIFIED: whole_identified,
    }
