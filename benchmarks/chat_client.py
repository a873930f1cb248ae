"""The customers of the chat's load: all their sockets in a process of its own, which does what each line on stdin says.

The first argument is a `Job` as JSON. Then each line is a step, answered by one line of JSON on stdout: `warm` (a few
conversations that stay), `half` and `open` (half of the sockets, then the rest, which say nothing yet), `talk` (messages at their times, whether the
server keeps up or not, and the wait for the answers), `close`.
"""

import asyncio
import json
import resource
import select
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from random import Random
from typing import Any
from uuid import uuid4

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory

from benchmarks.databases import ROOT

SCRIPTS = (
    ("Hello", "Do you have Advil in Jaffa?", "Thanks"),
    ("Is amoxicillin in stock?", "Does it need a prescription?"),
    ("What does the leaflet of Zyrtec say about driving?", "Can I take warfarin with ibuprofen?"),
    ("Which is better for my headache?", "Do you have Cetirizine?"),
    ("שלום", "יש לכם אקמול בפלורנטין?", "תודה"),
    ("האם אדוויל דורש מרשם?", "מה החומר הפעיל באקמול?"),
    ("אפשר לקחת קומדין עם אדוויל?", "מה שעות הפתיחה של הסניף ביפו?"),
    ("איזו תרופה הכי טובה לכאב ראש?", "Do you have Advil in Jaffa?"),
)
"""What customers say, in turn: with and without tools, in both languages, answered and refused."""
WARM = 32
AT_A_TIME = 50  # handshakes; more wait in the client, so that the server's backlog never overflows


@dataclass(frozen=True)
class Job:
    """What these customers do: `ramp`, `window`, `every` and `patience` are seconds."""

    kind: str
    port: int
    path: str
    connections: int
    ramp: float
    window: float
    every: float
    patience: float
    seed: int


@dataclass
class Seen:
    """What came back, in milliseconds and counts."""

    accepted: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    lag: list[float] = field(default_factory=list)
    sent: int = 0
    failed: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)


class Customer:
    """One socket of one conversation."""

    def __init__(self, job: Job, number: int, seen: Seen) -> None:
        self.job = job
        self.seen = seen
        self.script = SCRIPTS[number % len(SCRIPTS)]
        self.waiting: dict[str, float] = {}
        self.asked: deque[float] = deque()
        self.said = 0
        self.greeted = asyncio.Event()
        self.leaving = False
        self.socket: ClientConnection
        self.reading: asyncio.Task[None]

    async def open(self) -> None:
        """Connect as a browser does and say hello."""
        self.socket = await connect(
            f"ws://127.0.0.1:{self.job.port}{self.job.path}",
            origin=f"http://127.0.0.1:{self.job.port}",  # type: ignore[arg-type]
            compression=None,
            extensions=[ClientPerMessageDeflateFactory(client_max_window_bits=True)],
            open_timeout=60,
            ping_interval=None,
            proxy=None,
        )
        self.reading = asyncio.create_task(self._read())
        await self._send({"type": "hello", "lang": "en"})
        await asyncio.wait_for(self.greeted.wait(), 60)

    async def say(self) -> None:
        """Send the next message of the script; what is lost on the way shows as unanswered."""
        id = str(uuid4())
        text = self.script[self.said % len(self.script)]
        self.said += 1
        self.seen.sent += 1
        now = time.perf_counter()
        self.waiting[id] = now
        self.asked.append(now)
        with suppress(ConnectionClosed):
            await self._send({"type": "message.send", "client_msg_id": id, "text": text})

    async def close(self) -> None:
        """Leave; from here on a closed socket is not a lost one."""
        self.leaving = True
        await self.socket.close()
        await self.reading

    async def _send(self, frame: dict[str, Any]) -> None:
        await self.socket.send(json.dumps({"v": 1, **frame}, ensure_ascii=False))

    async def _read(self) -> None:
        with suppress(ConnectionClosed):
            async for text in self.socket:
                self._take(json.loads(text), time.perf_counter())
        if not self.leaving:
            self.seen.lost[str(self.socket.close_code)] += 1

    def _take(self, frame: dict[str, Any], now: float) -> None:
        kind = frame["type"]
        if kind == "message.accepted":
            self.seen.accepted.append((now - self.waiting.pop(frame["client_msg_id"])) * 1000)
        elif kind == "message.completed" and frame["role"] == "assistant":
            self.seen.answered.append((now - self.asked.popleft()) * 1000)
        elif kind == "run.failed":
            self.seen.failed += 1
            self.asked.popleft()
        elif kind == "error":
            self.seen.errors[frame["code"]] += 1
            self.asked.popleft()
        elif kind == "hello.ok":
            self.greeted.set()


class Echoed(Customer):
    """One socket of a server that says again what it hears: an echo is acknowledgement and answer in one."""

    def _take(self, frame: dict[str, Any], now: float) -> None:
        if frame["type"] == "hello":
            self.greeted.set()
        else:
            self.asked.popleft()
            self.seen.accepted.append((now - self.waiting.pop(frame["client_msg_id"])) * 1000)


class Crowd:
    """All customers of a job, and the steps that they take together."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.seen = Seen()
        self.customers: list[Customer] = []
        self.guests: list[Customer] = []

    def _new(self, number: int, seen: Seen) -> Customer:
        return (Echoed if self.job.kind == "echo" else Customer)(self.job, number, seen)

    async def warm(self) -> dict[str, Any]:
        """Let the server load and allocate what it keeps: every script once, by guests who then stay silent.

        They stay because memory that they gave back would be taken for that of nobody.
        """
        seen = Seen()
        self.guests = [self._new(number, seen) for number in range(WARM)]
        await asyncio.gather(*(guest.open() for guest in self.guests))
        for _ in range(max(map(len, SCRIPTS))):
            await asyncio.gather(*(guest.say() for guest in self.guests))
            await self._answers(self.guests, 120)
        if seen.errors or seen.lost or any(guest.asked for guest in self.guests):
            raise RuntimeError(f"warming up failed: {seen}")
        return {}

    async def half(self) -> dict[str, Any]:
        """Open half of the sockets in half of the ramp."""
        return await self._enter(self.job.connections // 2, self.job.ramp / 2)

    async def open(self) -> dict[str, Any]:
        """Open the sockets that are not open yet."""
        rest = self.job.connections - len(self.customers)
        return await self._enter(rest, self.job.ramp * rest / self.job.connections)

    async def _enter(self, count: int, seconds: float) -> dict[str, Any]:
        gate = asyncio.Semaphore(AT_A_TIME)

        async def enter(customer: Customer) -> None:
            async with gate:
                await customer.open()

        first = len(self.customers)
        new = [self._new(number, self.seen) for number in range(first, first + count)]
        self.customers += new
        times = [seconds * place / count for place in range(count)]
        await _at(times, [lambda each=each: enter(each) for each in new])  # type: ignore[misc]
        return {}

    async def talk(self) -> dict[str, Any]:
        """Send what is due in the window, wait for the answers and tell what was seen."""
        order = list(range(len(self.customers)))
        Random(self.job.seed).shuffle(order)
        gap = self.job.every / len(order)
        due = sorted(
            (place * gap + turn * self.job.every, number)
            for place, number in enumerate(order)
            for turn in range(int(self.job.window // self.job.every) + 1)
            if place * gap + turn * self.job.every < self.job.window
        )
        watch = asyncio.create_task(self._watch_lag())
        began, cpu = time.perf_counter(), time.process_time()
        says = [self.customers[number].say for _, number in due]
        await _at([when for when, _ in due], says)
        await asyncio.sleep(max(0.0, began + self.job.window - time.perf_counter()))
        accepted, answered = len(self.seen.accepted), len(self.seen.answered)
        used = time.process_time() - cpu
        await self._answers(self.customers, self.job.patience)
        watch.cancel()
        return {
            "accepted": sorted(self.seen.accepted),
            "answered": sorted(self.seen.answered),
            "in_window": [accepted, answered],
            "seconds": time.perf_counter() - began,
            "cpu": used / self.job.window,
            "lag": sorted(self.seen.lag),
            "sent": self.seen.sent,
            "unanswered": sum(len(customer.asked) for customer in self.customers),
            "failed": self.seen.failed,
            "errors": self.seen.errors,
            "lost": self.seen.lost,
        }

    async def close(self) -> dict[str, Any]:
        """Close every socket, when nothing is on its way to any of them."""
        await asyncio.sleep(1)
        await asyncio.gather(*(customer.close() for customer in [*self.customers, *self.guests]))
        return {}

    async def _answers(self, customers: list[Customer], seconds: float) -> None:
        until = time.perf_counter() + seconds
        while any(customer.asked for customer in customers) and time.perf_counter() < until:
            await asyncio.sleep(0.02)

    async def _watch_lag(self) -> None:
        """Measure how late this process itself is: what it adds to the times it takes."""
        while True:
            due = time.perf_counter() + 0.02
            await asyncio.sleep(0.02)
            self.seen.lag.append((time.perf_counter() - due) * 1000)


async def _at(times: Sequence[float], actions: Sequence[Callable[[], Awaitable[None]]]) -> None:
    """Start each action at its time, whatever the others do, and wait for all of them."""
    began = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for when, action in zip(times, actions, strict=True):
            await asyncio.sleep(max(0.0, began + when - time.perf_counter()))
            tasks.create_task(_done(action))


async def _done(action: Callable[[], Awaitable[None]]) -> None:
    await action()


class Steps:
    """The same from outside: a client's process, taken from step to step."""

    def __init__(self, job: Job, process: subprocess.Popen[str]) -> None:
        self.job = job
        self._process = process

    @classmethod
    @contextmanager
    def of(cls, job: Job) -> Iterator["Steps"]:
        """Start the customers of a job."""
        command = [sys.executable, "-m", "benchmarks.chat_client", json.dumps(asdict(job))]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
        try:
            yield cls(job, process)
        finally:
            process.kill()
            process.communicate()

    def step(self, name: str, watch: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """Let them take a step; `watch` is called each second until it is done."""
        assert self._process.stdin and self._process.stdout
        print(name, file=self._process.stdin, flush=True)
        while not select.select([self._process.stdout], [], [], 1.0)[0]:
            watch()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the client ended while it should {name}")
        told: dict[str, Any] = json.loads(line)
        return told


async def main() -> None:
    """Take the steps that stdin names, until it ends."""
    crowd = Crowd(Job(**json.loads(sys.argv[1])))
    steps = {
        "warm": crowd.warm,
        "half": crowd.half,
        "open": crowd.open,
        "talk": crowd.talk,
        "close": crowd.close,
    }
    loop = asyncio.get_running_loop()
    while step := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
        print(json.dumps(await steps[step]()), flush=True)


if __name__ == "__main__":
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(main())
