"""A chat turn with two tool calls, in process: from the accepted message to the committed answer."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from statistics import median
from typing import Any
from uuid import UUID, uuid4

from benchmarks.databases import Databases
from benchmarks.measure import percentile, ratio

TITLE = 'A chat turn with two tool calls ("Do you have Cetirizine?"), in process'
NOTES = (
    "Ours: accept, claim, guard, offline model, tools, checks, commit; a new conversation each, nobody listening.",
    "Baselines, in the same run: `two tool calls` are the same calls through the registry alone; `one fetch` is one row",
    "by its key through the ORM. × CPU, × wall: ours over theirs, median of the alternating pairs.",
    "CPU is this process's (PostgreSQL's own is not in it). Queries: without BEGIN and COMMIT. Commits: committed",
    "transactions and writes outside of one; empty: committed transactions that wrote nothing.",
)
MESSAGE = "Do you have Cetirizine?"
TOOLS = ["get_medication_by_name", "check_inventory"]
TURN, CALLS, FETCH = "chat turn", "two tool calls", "one fetch"
ROUNDS, TURNS, FETCHES, WARM = 5, 20, 200, 10


class Meter:
    """Takes the CPU and wall milliseconds of each `with` block, and can count what went to the database in it."""

    def __init__(self) -> None:
        self.cpu: list[float] = []
        self.wall: list[float] = []
        self.counts: Counter[str] = Counter()
        self.running = False
        self._began = (0.0, 0.0)

    def __enter__(self) -> None:
        self.running = True
        self._began = time.process_time(), time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.cpu.append((time.process_time() - self._began[0]) * 1000)
        self.wall.append((time.perf_counter() - self._began[1]) * 1000)
        self.running = False


def measure(own: Databases) -> list[dict[str, Any]]:
    """Return a row for the turn and for each baseline."""
    import django

    django.setup()
    work: dict[str, tuple[Callable[[Meter, int], None], int]] = {
        TURN: (_turns, TURNS),
        CALLS: (_calls, TURNS),
        FETCH: (_fetches, FETCHES),
    }
    counting = Meter()
    _watch(counting)
    counts: dict[str, Counter[str]] = {}
    for name, (run, _count) in work.items():
        run(Meter(), WARM)
        counting.counts = counts[name] = Counter()
        run(counting, 1)
    cpu: dict[str, list[float]] = {name: [] for name in work}
    wall: dict[str, list[float]] = {name: [] for name in work}
    every: dict[str, list[float]] = {name: [] for name in work}
    for turn in range(ROUNDS):
        for name, (run, count) in list(work.items())[:: 1 if turn % 2 == 0 else -1]:
            meter = Meter()
            run(meter, count)
            cpu[name].append(median(meter.cpu))
            wall[name].append(median(meter.wall))
            every[name] += meter.wall
    return [
        {
            "database": own.vendor,
            "what": name,
            "CPU ms": median(cpu[name]),
            "wall ms": median(wall[name]),
            "wall p99": percentile(every[name], 0.99),
            "× CPU of calls": ratio(cpu[TURN], cpu[CALLS]) if name == TURN else None,
            "× wall of calls": ratio(wall[TURN], wall[CALLS]) if name == TURN else None,
            "× wall of a fetch": ratio(wall[name], wall[FETCH]),
            **{what: counts[name][what] for what in ("queries", "commits", "empty")},
        }
        for name in work
    ]


def _turns(meter: Meter, count: int) -> None:
    asyncio.run(_answered(meter, count))


async def _answered(meter: Meter, count: int) -> None:
    """Answer the message in so many new conversations, one after the other."""
    from agent.chat.hub import Hub
    from agent.chat.progress import RunProgress
    from agent.conversation import accept, runs
    from agent.conversation.events import conversation_begin
    from agent.threads import run_db
    from agent.turn import loop

    hub = Hub()
    for _ in range(count):
        conversation, _secret = await run_db(conversation_begin)(language="en")
        with meter:
            await run_db(accept.message_accept)(
                conversation_id=conversation.pk, client_msg_id=uuid4(), text=MESSAGE, address="192.0.2.1"
            )
            claim = await run_db(runs.run_claim)(conversation.pk)
            assert claim is not None
            run = claim.run
            await loop.answer(claim, RunProgress(hub, conversation.secret_hash, run.pk, run.attempts))
        await run_db(_must_be_answered)(run.pk)


def _must_be_answered(run_id: UUID) -> None:
    """Stop unless the turn did what the table says: a faster answer without its tools is no result."""
    from agent.models import Run, ToolCall

    called = list(ToolCall.objects.filter(run_id=run_id, ok=True).values_list("name", flat=True))
    if called != TOOLS or Run.objects.get(pk=run_id).state != Run.State.DONE:
        raise RuntimeError(f"the turn called {called}")


def _calls(meter: Meter, count: int) -> None:
    from agent.tools.base import ToolContext
    from agent.tools.registry import call_tool

    context = ToolContext("chat:benchmark", "chat", "en", message=MESSAGE)
    for _ in range(count):
        with meter:
            found = call_tool(TOOLS[0], {"medication_name": "Cetirizine"}, context)
            stock = call_tool(TOOLS[1], {"medication_id": found.result["medication"]["med_id"]}, context)
        assert stock.ok


def _fetches(meter: Meter, count: int) -> None:
    from inventory.models import Medication

    pks = sorted(Medication.objects.values_list("pk", flat=True))
    for place in range(count):
        with meter:
            Medication.objects.get(pk=pks[place % len(pks)])


def _watch(meter: Meter) -> None:
    """Let the meter count on every connection of every thread; to be called before the first one is opened."""
    from django.db.backends.base.base import BaseDatabaseWrapper
    from django.db.backends.signals import connection_created

    wrote: set[BaseDatabaseWrapper] = set()

    def executed(execute: Any, sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:
        result = execute(sql, params, many, context)
        # SQLite's BEGIN comes this way and PostgreSQL's does not.
        if meter.running and not str(sql).startswith("BEGIN"):
            meter.counts["queries"] += 1
            if str(sql).lstrip().startswith(("INSERT", "UPDATE", "DELETE")):
                if context["connection"].in_atomic_block:
                    wrote.add(context["connection"])
                else:
                    meter.counts["commits"] += 1
        return result

    def created(connection: BaseDatabaseWrapper, **_: object) -> None:
        if executed not in connection.execute_wrappers:
            connection.execute_wrappers.append(executed)

    def committed(connection: BaseDatabaseWrapper) -> None:
        commit(connection)
        if meter.running:
            meter.counts["commits"] += 1
            meter.counts["empty"] += connection not in wrote
        wrote.discard(connection)

    commit = BaseDatabaseWrapper._commit
    BaseDatabaseWrapper._commit = committed  # type: ignore[method-assign]
    connection_created.connect(created, weak=False)
