"""Run an evaluation in worker processes, one per core, without the installation's database or services."""

import json
import os
import queue
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, Protocol, TypedDict

from django.conf import settings

from evaluation.outcome import Outcome, TrialRow
from evaluation.scenario import Scenario

# The variables that a worker inherits: what it needs to run, and where the language model is.
_INHERITED: Final = (
    *("PATH", "HOME", "TMPDIR", "LANG", "VIRTUAL_ENV"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "TZDIR"),
)
_INHERITED_PREFIXES: Final = ("OPENAI_", "PYTHON", "LC_")
_ATTEMPTS: Final = 2
"""How many workers may die in one trial before it counts as failed."""

Jobs = queue.SimpleQueue[tuple[Scenario, int]]
"""Scenarios to play, each with the number of the trial."""


class Job(TypedDict):
    """One trial, as the line that a worker reads."""

    scenario: str
    trial: int


class WorkerDied(Exception):
    """A worker ended in the middle of a trial."""


def evaluation_run(
    scenarios: Sequence[Scenario],
    *,
    model: str,
    trials: int,
    customer: str = "scripted",
    workers: int | None = None,
    template: Path | None = None,
    on_row: Callable[[TrialRow], None] = lambda row: None,
) -> list[TrialRow]:
    """Play every scenario `trials` times and return the outcomes, sorted by scenario and trial.

    `on_row` is called with each outcome as soon as it is there. `template` is a database from `template_make`; without
    one, it is made.
    """
    jobs: Jobs = queue.SimpleQueue()
    for trial in range(1, trials + 1):
        for scenario in scenarios:
            jobs.put((scenario, trial))
    rows: list[TrialRow] = []
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for row in _play(folder, source, number, jobs, model, customer):
                rows.append(row)
                on_row(row)
        except BaseException as error:
            errors.append(error)

    with tempfile.TemporaryDirectory(prefix="evaluation-") as name:
        folder = Path(name)
        source = template or template_make(folder)
        count = min(workers or os.cpu_count() or 1, len(scenarios) * trials)
        threads = [threading.Thread(target=work, args=[number]) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]
    order = {scenario.name: number for number, scenario in enumerate(scenarios)}
    return sorted(rows, key=lambda row: (order[row["scenario"]], row["trial"]))


def template_make(folder: Path) -> Path:
    """Make the database that every trial begins with: migrated, with the demo data of the evaluation's date."""
    path = folder / "template.sqlite3"
    with _start(folder, "template", str(path), database="template") as worker:
        worker.wait_done()
    return path


def _play(
    folder: Path, template: Path, number: int, jobs: Jobs, model: str, customer: str
) -> Iterator[TrialRow]:
    """Play jobs in one worker until there are none left; replace a worker that dies and repeat its trial once."""
    database = folder / f"{number}.sqlite3"
    job: tuple[Scenario, int] | None = None
    attempts = _ATTEMPTS
    while True:
        with _start(
            folder, "play", str(template), str(database), model, customer, database=str(number)
        ) as worker:
            worker.wait_ready()
            while True:
                if job is None:
                    attempts = _ATTEMPTS
                    try:
                        job = jobs.get_nowait()
                    except queue.Empty:
                        return
                try:
                    row = worker.play({"scenario": job[0].name, "trial": job[1]})
                except WorkerDied as error:
                    attempts -= 1
                    if not attempts:
                        yield _lost(*job, str(error))
                        job = None
                    break
                yield row
                job = None


def _lost(scenario: Scenario, trial: int, why: str) -> TrialRow:
    """Return the outcome of a trial whose workers died."""
    problems = [f"the worker died: {why}"]
    return Outcome(scenario.name, scenario.family, scenario.lang, trial, problems=problems).as_row()


class WorkerProcess(Protocol):
    """Describe the part of `subprocess.Popen` that a worker needs; tests give a forked process instead."""

    stdin: IO[str] | None
    stdout: IO[str] | None

    def wait(self, timeout: float | None = None) -> int: ...

    def kill(self) -> None: ...


class Worker:
    """One worker process; jobs and outcomes are lines of JSON on its pipes."""

    def __init__(self, process: WorkerProcess, log: Path) -> None:
        self.process = process
        self._log = log

    def play(self, job: Job) -> TrialRow:
        """Send a job and wait for its outcome. Raises WorkerDied."""
        try:
            stdin = _pipe(self.process.stdin)
            stdin.write(json.dumps(job) + "\n")
            stdin.flush()
            row: TrialRow = json.loads(self._read_line())
        except OSError:
            raise WorkerDied(self._last_line()) from None
        return row

    def wait_ready(self) -> None:
        """Wait until the worker serves the site. Raises WorkerDied."""
        self._read_line()

    def wait_done(self) -> None:
        """Wait until a worker that gets no jobs has ended successfully. Raises WorkerDied."""
        if self.process.wait():
            raise WorkerDied(self._last_line())

    def close(self) -> None:
        """End the worker, by force if it takes more than 15 seconds."""
        with suppress(OSError):  # the last job may still be in the buffer of a dead worker's pipe
            _pipe(self.process.stdin).close()
        _pipe(self.process.stdout).close()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _read_line(self) -> str:
        line = _pipe(self.process.stdout).readline()
        if not line.endswith("\n"):  # nothing, or what it had written when it died
            raise WorkerDied(self._last_line())
        return line

    def _last_line(self) -> str:
        """Return the last line that the worker logged."""
        lines = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else "without a word"

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def process_start(arguments: Sequence[str], env: dict[str, str], log: Path) -> WorkerProcess:
    """Start Python in the project's folder with pipes; its errors are appended to the log. Tests replace this by a fork."""
    with log.open("a") as errors:
        return subprocess.Popen(
            [sys.executable, *arguments],
            cwd=settings.BASE_DIR,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )


def _start(folder: Path, *arguments: str, database: str) -> Worker:
    """Start a worker with a database and a log of this name in the folder."""
    log = folder / f"{database}.log"
    environment = _environment(folder / f"{database}.sqlite3")
    return Worker(process_start(["-m", "evaluation.worker", *arguments], environment, log), log)


def _environment(database: Path) -> dict[str, str]:
    """Return a worker's environment: nothing of this installation but the language model's address."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name in _INHERITED or name.startswith(_INHERITED_PREFIXES) or name.lower().endswith("_proxy")
    }
    return inherited | {
        "DJANGO_SETTINGS_MODULE": "pharmacy_site.settings",
        "DATABASE_URL": f"sqlite:///{database}",
        "SECRET_KEY": secrets.token_urlsafe(50),
        # For the demo inbox, where the codes are read.
        "DEBUG": "1",
        "EMAIL_URL": "dummy://",
        "LOG_LEVEL": "WARNING",
        # All trials come from one address.
        "CHAT_CONVERSATIONS_PER_HOUR": "1000000",
    }


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream
