"""Serving an application in processes of its own, and what these use of the machine."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.databases import ROOT


@dataclass(frozen=True)
class Server:
    """A server that was started here; its figures are those of all its processes together."""

    port: int
    pid: int

    def cpu(self) -> float | None:
        """Return the CPU seconds used so far, where the system tells (Linux)."""
        return _cpu(self._processes())

    def memory(self) -> int | None:
        """Return the bytes of memory in use; a page that processes share is counted once."""
        return _memory(self._processes())

    def _processes(self) -> list[int]:
        children: dict[int, list[int]] = {}
        for entry in Path("/proc").glob("[0-9]*"):
            if fields := _stat(int(entry.name)):
                children.setdefault(int(fields[1]), []).append(int(entry.name))
        found = [self.pid]
        for pid in found:
            found += children.get(pid, [])
        return found


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/…/stat behind the name, empty when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _cpu(pids: Sequence[int]) -> float | None:
    ticks = [int(fields[11]) + int(fields[12]) for pid in pids if (fields := _stat(pid))]
    return sum(ticks) / os.sysconf("SC_CLK_TCK") if ticks else None


def _memory(pids: Sequence[int]) -> int | None:
    sizes = []
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        sizes += [int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")]
    return sum(sizes) if sizes else None


@contextmanager
def served(server: str, application: str, env: Mapping[str, str], *flags: str) -> Iterator[Server]:
    """Serve an application with daphne or uvicorn, or the site as `manage.py serve` does; `flags` are more of the server's."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    address = ["--port", str(port)]
    commands = {
        "serve": ["manage.py", "serve", *address, *flags],
        "daphne": ["-m", "daphne", *address, "-v", "0", *flags, application],
        "uvicorn": [
            "-m",
            "uvicorn",
            *address,
            "--no-access-log",
            "--log-level",
            "error",
            *flags,
            application,
        ],
    }
    process = subprocess.Popen([sys.executable, *commands[server]], cwd=ROOT, env=env)
    try:
        _wait(port, process)
        yield Server(port, process.pid)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the server did not answer in time")
