"""Runs an evaluation: worker processes, one per core, that never see the installation's database or services."""

import json
import os
import queue
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

from django.conf import settings

from evaluation.scenario import Scenario
from evaluation.trial import Outcome

Row = dict[str, Any]
# What a worker takes from outside: how to run at all, and where a language model is.
_KEPT: Final = ("PATH", "HOME", "TMPDIR", "LANG", "VIRTUAL_ENV", "SSL_CERT_FILE", "SSL_CERT_DIR", "TZDIR")
_KEPT_PREFIXES: Final = ("OPENAI_", "PYTHON", "LC_")
_LIVES: Final = 2  # how many workers may die at one trial


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
    told: Callable[[Row], None] = lambda row: None,
) -> list[Row]:
    """Plays every scenario so often and returns the outcomes, by scenario and trial; `told` hears of each at once.

    `template` is a database from `template_make`; without one it is made.
    """
    jobs: queue.SimpleQueue[tuple[Scenario, int]] = queue.SimpleQueue()
    for trial in range(1, trials + 1):
        for scenario in scenarios:
            jobs.put((scenario, trial))
    rows: list[Row] = []
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for row in _worked(folder, source, number, jobs, model, customer):
                rows.append(row)
                told(row)
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
    """The database that every trial begins with: migrated, with the demo data of the evaluation's noon."""
    path = folder / "template.sqlite3"
    with _process(folder, "template", str(path), database="template") as worker:
        worker.wait_done()
    return path


def _worked(
    folder: Path,
    template: Path,
    number: int,
    jobs: "queue.SimpleQueue[tuple[Scenario, int]]",
    model: str,
    customer: str,
) -> Iterator[Row]:
    """The outcomes of one worker; one that dies is replaced, and its trial tried once more."""
    job: tuple[Scenario, int] | None = None
    lives = _LIVES
    while True:
        arguments = [
            "play",
            str(template),
            str(folder / f"{number}.sqlite3"),
            model,
            customer,
        ]
        with _process(folder, *arguments, database=str(number)) as worker:
            worker.read()
            while True:
                if job is None:
                    lives = _LIVES
                    try:
                        job = jobs.get_nowait()
                    except queue.Empty:
                        return
                try:
                    row = worker.ask({"scenario": job[0].name, "trial": job[1]})
                except WorkerDied as error:
                    lives -= 1
                    if not lives:
                        yield _lost(*job, str(error))
                        job = None
                    break
                yield row
                job = None


def _lost(scenario: Scenario, trial: int, why: str) -> Row:
    lost = Outcome(scenario.name, scenario.family, scenario.lang, trial, problems=[f"the worker died: {why}"])
    return lost.told()


class _Worker:
    """One process and the lines between it and us."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path) -> None:
        self._process, self._log = process, log

    def ask(self, job: Mapping[str, Any]) -> Row:
        """Gives a job and waits for its outcome. Raises WorkerDied."""
        try:
            stdin = _pipe(self._process.stdin)
            stdin.write(json.dumps(job) + "\n")
            stdin.flush()
        except BrokenPipeError:
            raise WorkerDied(self._last_line()) from None
        return self.read()

    def read(self) -> Row:
        """The next line. Raises WorkerDied."""
        line = _pipe(self._process.stdout).readline()
        if not line:
            raise WorkerDied(self._last_line())
        row: Row = json.loads(line)
        return row

    def wait_done(self) -> None:
        """Waits until it ended well. Raises WorkerDied."""
        _pipe(self._process.stdin).close()
        if self._process.wait():
            raise WorkerDied(self._last_line())

    def close(self) -> None:
        """Ends it."""
        _pipe(self._process.stdin).close()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _pipe(self._process.stdout).close()

    def _last_line(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else "without a word"

    def __enter__(self) -> "_Worker":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _process(folder: Path, *arguments: str, database: str) -> _Worker:
    log = folder / f"{database}.log"
    with log.open("a") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "evaluation.worker", *arguments],
            cwd=settings.BASE_DIR,
            env=_environment(folder / f"{database}.sqlite3"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    return _Worker(process, log)


def _environment(database: Path) -> dict[str, str]:
    """Nothing of this installation but the language model's address."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT or name.startswith(_KEPT_PREFIXES) or name.lower().endswith("_proxy")
    }
    return kept | {
        "DJANGO_SETTINGS_MODULE": "pharmacy_site.settings",
        "DATABASE_URL": f"sqlite:///{database}",
        "SECRET_KEY": secrets.token_urlsafe(50),
        "DEBUG": "1",  # the demo inbox, where codes are read
        "EMAIL_URL": "dummy://",
        "LOG_LEVEL": "WARNING",
    }


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream
