"""Start programs of this project quickly: each is forked from a process that has the libraries and lexicons loaded.

To load them takes more than two thirds of a site's start, and a run of the tests starts a hundred sites (docs/performance.md).
Unlike programs that Python was started for, forked ones run no `atexit` handlers, and all of a worker have one hash seed.
"""

import atexit
import gc
import multiprocessing
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from multiprocessing import forkserver
from pathlib import Path
from typing import Any, Final
from weakref import WeakSet

ROOT: Final = Path(__file__).resolve().parent.parent
TESTS: Final = Path(__file__).resolve().parent
FORKS: Final = sys.platform == "linux"
"""Elsewhere a fork after the libraries are loaded is not safe: there each program starts anew, and slowly."""


@cache
def _processes() -> Any:
    """Return what starts processes, with the fork server running."""
    if not FORKS:
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["preloaded", "processes"])
    # The fork server finds both there: several versions of Python ignore the paths that multiprocessing passes to it.
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = f"{TESTS}:{ROOT}"
    try:
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    return context


class Program:
    """A Python program of this project in a process of its own, with those methods of `subprocess.Popen` that tests use."""

    def __init__(
        self,
        arguments: Sequence[str],
        env: dict[str, str],
        log: Path,
        *,
        stdio: socket.socket | None = None,
        start_new_session: bool = False,
    ) -> None:
        """Run `python ARGUMENTS` in the project's folder; they begin with a file, or with `-m` and a module.

        `env` is its whole environment. What it writes is appended to `log`; with `stdio`, this is its standard input and output.
        With `start_new_session`, `os.killpg` with its number reaches all processes that it starts.
        """
        log.touch()
        self._process = _processes().Process(
            target=_run, args=(list(arguments), env, str(log), stdio, start_new_session)
        )
        self._process.start()
        _started.add(self)
        while start_new_session and self.poll() is None and os.getpgid(self.pid) != self.pid:
            time.sleep(0.005)

    @property
    def pid(self) -> int:
        """Its process number."""
        return int(self._process.pid)

    def poll(self) -> int | None:
        """Return its exit code, negative after a signal, or None while it runs."""
        code: int | None = self._process.exitcode
        return code

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return the exit code; TimeoutExpired after so many seconds."""
        self._process.join(timeout)
        if (code := self.poll()) is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, if it still runs."""
        if self.poll() is None:
            # It may have ended since, and the fork server has taken note of it.
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM, after which it ends by itself."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL, which ends it at once."""
        self.send_signal(signal.SIGKILL)


_started: Final[WeakSet[Program]] = WeakSet()


@atexit.register
def _kill_all() -> None:
    """Kill what a test left running: multiprocessing would wait for it."""
    for program in list(_started):
        program.kill()


class InteractiveProgram:
    """A program of this project with which a test exchanges lines."""

    def __init__(self, arguments: Sequence[str], env: dict[str, str], log: Path) -> None:
        self._socket, its_own = socket.socketpair()
        with its_own:
            self._program = Program(arguments, env, log, stdio=its_own)
        self._stream = self._socket.makefile("rw", encoding="utf-8")

    def read(self) -> str:
        """Return the next line that it writes."""
        return self._stream.readline().strip()

    def ask(self, line: str) -> str:
        """Give it a line, and return the one that it answers."""
        self._stream.write(f"{line}\n")
        self._stream.flush()
        return self.read()

    def end(self) -> int:
        """End its input, wait until it ends by itself, and return its exit code; it is killed after 20 seconds."""
        with self._socket, self._stream:
            self._socket.settimeout(20)
            self._socket.shutdown(socket.SHUT_WR)
            try:
                self._stream.read()  # else a line that nobody read would be an error for it
                return self._program.wait(20)
            finally:
                self._program.kill()


def _run(
    arguments: list[str], env: dict[str, str], log: str, stdio: socket.socket | None, start_new_session: bool
) -> None:
    """Run the program in its process, with its own environment, paths, input and output."""
    if start_new_session:
        os.setsid()
    os.environ.clear()
    os.environ.update(env)
    tempfile.tempdir = None  # the fork server's; TMPDIR may name another one
    os.chdir(ROOT)
    out = os.open(log, os.O_WRONLY | os.O_APPEND)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.close(out)
    if stdio:
        os.dup2(stdio.fileno(), 0)
        os.dup2(stdio.fileno(), 1)
        stdio.close()
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    libraries = [path for path in sys.path if _is_library(path)]
    sys.path[:] = [str(ROOT), *filter(None, env.get("PYTHONPATH", "").split(":")), *libraries]
    gc.enable()
    if arguments[0] == "-m":
        sys.argv[:] = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv[:] = arguments
        runpy.run_path(arguments[0], run_name="__main__")


def _is_library(path: str) -> bool:
    """Return whether a folder of `sys.path` holds libraries, and no modules of this project."""
    return bool(path) and (Path(path).is_relative_to(sys.prefix) or not Path(path).is_relative_to(ROOT))
