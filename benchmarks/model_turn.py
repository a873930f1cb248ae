"""A turn with a language model: ours, the bare SDK's loop, and the agent frameworks, all asking one scripted server."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.databases import ROOT, Databases
from benchmarks.frameworks import FRAMEWORKS, environment_made
from benchmarks.measure import ratio
from benchmarks.model_loops import KEY, MODEL, Figures, measured
from benchmarks.model_server import MESSAGE

BARE, RAW = "bare", "raw"
ROUNDS, TURNS, WARM = 20, 5, 10

TITLE = f'A turn with a language model ("{MESSAGE}"): two tool calls and an answer in 30 pieces'
NOTES = (
    "One scripted server in a process of its own answers everybody at once. × are against the bare openai SDK's streaming",
    f"loop: medians of {ROUNDS} pairs of {TURNS} turns each, one right after the other, since a core's speed can change by half within",
    "seconds. CPU is the client process's, without the server's and PostgreSQL's. All get the same instructions and",
    "functions; the tools of the others answer from memory.",
    "Ours, answer: the loop alone, from the claimed run to the committed answer. Ours, turn: accept and claim as well.",
    "Both with guard, tools on the database, checks by sentence and of the whole, events; one conversation each. First",
    "text is the first checked sentence of ours, the first piece of the others. Identified: with a patient to hide.",
)
Take = Callable[[int], Figures]


def measure(own: Databases) -> list[dict[str, Any]]:
    """Return a row for ours and for each other loop."""
    frameworks, absent = environment_made()
    with ExitStack() as open:
        base_url = f"http://127.0.0.1:{open.enter_context(model_served())}/v1"
        os.environ.update(OPENAI_BASE_URL=base_url, OPENAI_API_KEY=KEY, OPENAI_MODEL=MODEL)
        import django

        django.setup()
        from benchmarks import site_turns

        folder = Path(open.enter_context(tempfile.TemporaryDirectory()))
        (folder / "lesson.json").write_text(json.dumps(asdict(site_turns.lesson())))
        runner = open.enter_context(asyncio.Runner())
        takes: dict[str, Take] = {
            name: lambda count, begun=begun: runner.run(measured(begun, count))
            for name, begun in site_turns.turns().items()
        }
        pythons = {RAW: sys.executable, BARE: sys.executable}
        pythons |= {name: str(frameworks) for name in FRAMEWORKS if not absent}
        for name, python in pythons.items():
            command = [python, "-m", "benchmarks.model_loops", name, base_url, str(folder / "lesson.json")]
            takes[name] = open.enter_context(loop_apart(command))
        found = _alternated(takes)
    return [_row(own.vendor, name, pairs) for name, pairs in found.items()] + [
        {"database": own.vendor, "what": f"{FRAMEWORKS[name]}: {absent}"} for name in FRAMEWORKS if absent
    ]


def _alternated(takes: Mapping[str, Take]) -> dict[str, list[tuple[Figures, Figures]]]:
    """Measure each loop in pairs with the bare one, which comes second in every other round and first in the rest."""
    for take in takes.values():
        take(WARM)
    found: dict[str, list[tuple[Figures, Figures]]] = {name: [] for name in takes}
    for place in range(ROUNDS):
        for name, take in takes.items():
            if place % 2 == 0:
                mine = take(TURNS)
                found[name].append((mine, takes[BARE](TURNS)))
            else:
                bare = takes[BARE](TURNS)
                found[name].append((take(TURNS), bare))
    return found


def _row(vendor: str, name: str, pairs: Sequence[tuple[Figures, Figures]]) -> dict[str, Any]:
    row: dict[str, Any] = {"database": vendor, "what": _named(name)}
    for column, kind in (("CPU", "cpu"), ("wall", "wall"), ("first text", "text")):
        mine, bare = ([median(getattr(one, kind)) for one in found] for found in zip(*pairs, strict=True))
        row |= {f"{column} ms": median(mine), f"× {column}": ratio(mine, bare)}
    return row


def _named(name: str) -> str:
    return {RAW: "raw httpx2 loop", BARE: f"bare openai {version('openai')} loop"}.get(
        name, FRAMEWORKS.get(name, name)
    )


@contextmanager
def model_served(module: str = "benchmarks.model_server") -> Iterator[int]:
    """The scripted server's port."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", module]
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
