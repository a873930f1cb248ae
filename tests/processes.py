"""Start programs of this project quickly: each is forked from a process that has the libraries and lexicons loaded.

To load them takes more than two thirds of a site's start, and a run of the tests starts a hundred sites (docs/performance.md).
"""

import gc
import multiprocessing
import os
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from multiprocessing import forkserver
from pathlib import Path
from typing import Final
from unittest import mock

ROOT: Final = Path(__file__).resolve().parent.parent
TESTS: Final = Path(__file__).resolve().parent

_forks: Final = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["preloaded"])


class Program:
    """A Python program of this project in a process of its own, with those methods of `subprocess.Popen` that tests use."""

    def __init__(
        self,
        arguments: Sequence[str],
        env: dict[str, str],
        log: Path,
        *,
        line: socket.socket | None = None,
        own_session: bool = False,
    ) -> None:
        """Start it in the project's folder, as `python ARGUMENTS`: a file or `-m` with a module, and what they are given.

        `env` is its whole environment. What it writes goes to `log`; with a `line`, this is its standard input and output.
        With `own_session` its number is also that of the group of all processes that it starts.
        """
        log.touch()
        # Not the paths of this process, which the server of forks would not take over before Python 3.13.
        with mock.patch.dict(os.environ, {"PYTHONPATH": f"{TESTS}:{ROOT}"}):
            forkserver.ensure_running()
        self._process = _forks.Process(target=_run, args=(list(arguments), env, str(log), line, own_session))
        self._process.start()

    @property
    def pid(self) -> int:
        """Its process number."""
        assert self._process.pid
        return self._process.pid

    def poll(self) -> int | None:
        """Return its exit code, negative after a signal, or None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return the exit code; TimeoutExpired after so many seconds."""
        self._process.join(timeout)
        if (code := self._process.exitcode) is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Let it end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


class InteractiveProgram:
    """A program of this project with which a test exchanges lines."""

    def __init__(self, arguments: Sequence[str], env: dict[str, str], log: Path) -> None:
        self._ours, theirs = socket.socketpair()
        with theirs:
            self._program = Program(arguments, env, log, line=theirs)
        self._stream = self._ours.makefile("rw", encoding="utf-8")

    def read(self) -> str:
        """Return the next line that it says."""
        return self._stream.readline().strip()

    def ask(self, line: str) -> str:
        """Give it a line, and return the one that it answers."""
        self._stream.write(f"{line}\n")
        self._stream.flush()
        return self.read()

    def end(self) -> int:
        """End its input, wait until it ends by itself, and return its exit code."""
        self._stream.close()
        self._ours.close()
        return self._program.wait(20)


def _run(
    arguments: list[str], env: dict[str, str], log: str, line: socket.socket | None, own_session: bool
) -> None:
    """Be the program, from the fork on: with the environment, paths and output that it would have been started with."""
    if own_session:
        os.setsid()
    os.environ.clear()
    os.environ.update(env)
    os.chdir(ROOT)
    out = os.open(log, os.O_WRONLY | os.O_APPEND)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.close(out)
    if line:
        os.dup2(line.fileno(), 0)
        os.dup2(line.fileno(), 1)
        line.close()
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    libraries = [path for path in sys.path if path.startswith((sys.prefix, sys.base_prefix))]
    sys.path[:] = [str(ROOT), *env.get("PYTHONPATH", "").split(":"), *libraries]
    gc.enable()
    if arguments[0] == "-m":
        sys.argv[:] = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv[:] = arguments
        runpy.run_path(arguments[0], run_name="__main__")
