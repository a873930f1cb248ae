"""The site served in a process of its own, on a database of its own; imported by the tests that need it."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.db import connection

ROOT = Path(__file__).resolve().parent.parent
IN_CI = bool(os.environ.get("CI"))


def missing(what: str) -> None:
    """Skips a test whose part is absent here; in CI every part is there, so that its absence is a failure."""
    if IN_CI:
        pytest.fail(f"{what} must be there in CI")
    pytest.skip(f"{what} is not there")


@dataclass(frozen=True)
class Site:
    """A site that is served for tests, with a database of its own."""

    url: str
    ws_url: str
    env: dict[str, str]

    def manage(self, *arguments: str) -> str:
        """Runs a management command on the served site's database."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT, env=self.env, check=True, capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def fresh_database(name: str, folder: Path) -> str:
    """The URL of a new empty database of the kind that this run tests on."""
    if connection.vendor == "sqlite":
        return f"sqlite:///{folder / name}.sqlite3"
    import psycopg

    own = connection.settings_dict
    where = {
        "host": own["HOST"],
        "port": own["PORT"] or 5432,
        "user": own["USER"],
        "password": own["PASSWORD"],
    }
    with psycopg.connect(**where, dbname="postgres", autocommit=True) as admin:
        admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        admin.execute(f'CREATE DATABASE "{name}"')
    return f"postgres://{where['user']}:{where['password']}@{where['host']}:{where['port']}/{name}"


def wait_until_served(url: str, process: subprocess.Popen[bytes], seconds: float = 40) -> None:
    """Returns when the site answers; fails when its process ended or the time is over."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}")
        try:
            with urllib.request.urlopen(f"{url}/healthz", timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the server did not answer in time")


@contextmanager
def served(env: dict[str, str], port: int, log: Path) -> Iterator[Site]:
    """Serves the site with daphne, as `make run` does."""
    command = [
        sys.executable,
        "-m",
        "daphne",
        "-b",
        "127.0.0.1",
        "-p",
        str(port),
        "-v",
        "0",
        "pharmacy_site.asgi:application",
    ]
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=out, stderr=subprocess.STDOUT)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until_served(url, process)
        yield Site(url, f"ws://127.0.0.1:{port}/ws/chat/", env)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
