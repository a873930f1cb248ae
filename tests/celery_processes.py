"""Celery workers and a beat in processes of their own, which a test can kill; imported by the tests that need them."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from processes import Program

CELERY = ("-m", "celery", "-A", "pharmacy_site")


class Celery:
    """A worker with two processes and a beat, started as the README says."""

    def __init__(self, env: dict[str, str], folder: Path) -> None:
        self._env, self._folder = env, folder
        self.log = folder / "celery.log"
        self._running: dict[str, Program] = {}

    def start(self, name: str) -> None:
        """Start "worker" or "beat"."""
        options = {
            "worker": [
                "worker",
                "-c",
                "2",
                "-l",
                "WARNING",
                "-n",
                f"{self._env['TEST_QUEUE']}{len(self._running)}@%h",
            ],
            "beat": ["beat", "-s", str(self._folder / "beat"), "--pidfile=", "-l", "WARNING"],
        }[name]
        self._running[name] = Program([*CELERY, *options], self._env, self.log, start_new_session=True)

    def kill(self, name: str) -> None:
        """Kill a program and all its processes at once."""
        process = self._running.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)

    def stop(self) -> None:
        """End what runs."""
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def celery(env: dict[str, str], folder: Path, *names: str) -> Iterator[Celery]:
    """Programs of Celery, by default a worker and a beat."""
    running = Celery(env, folder)
    try:
        for name in names or ("worker", "beat"):
            running.start(name)
        yield running
    finally:
        running.stop()


def listening(address: str) -> bool:
    """Whether somebody answers at a broker's address."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port_of(address))) == 0


def port_of(address: str) -> int:
    """The port in a broker's address."""
    return int(address.split("//")[1].split("@")[-1].strip("/").split("/")[0].split(":")[1])


def wait_until(what: object, seconds: float, says: object = lambda: "") -> float:
    """Wait until `what()` is true, and return after how many seconds it was."""
    began = time.monotonic()
    while not what():  # type: ignore[operator]
        assert time.monotonic() - began < seconds, says()  # type: ignore[operator]
        time.sleep(0.05)
    return time.monotonic() - began
