"""The site served in a process of its own, on a database of its own; imported by the tests that need it."""

import fcntl
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from processes import ROOT, InteractiveProgram, Program

IN_CI = bool(os.environ.get("CI"))
FULL = "FAULTS_EXAMPLES" in os.environ  # as `make test-faults` sets it: the long versions
ON_POSTGRESQL = connection.vendor == "postgresql"
IN_PARALLEL = "PYTEST_XDIST_TESTRUNUID" in os.environ
INSTALLED = connection.settings_dict["NAME"]  # before pytest-django names the test database


def missing(what: str) -> None:
    """Skips a test whose part is absent here; in CI every part is there, so that its absence is a failure."""
    if IN_CI:
        pytest.fail(f"{what} must be there in CI")
    pytest.skip(f"{what} is not there")


_SHELL = """
import contextlib, io, json, sys, traceback
from django.db import connections
for line in sys.stdin:
    said, error = io.StringIO(), ""
    with contextlib.redirect_stdout(said):
        try:
            exec(json.loads(line), {})
        except BaseException:
            error = traceback.format_exc()
    connections.close_all()
    print(json.dumps([said.getvalue(), error]), flush=True)
"""


class Shell:
    """A Django shell on a served site's database; it stays open, because each start takes a second of the processor."""

    def __init__(self, env: dict[str, str], log: Path) -> None:
        self._program = InteractiveProgram(["manage.py", "shell", "-v0", "-c", _SHELL], env, log)

    def run(self, code: str) -> str:
        """Run code with names of its own, and return what it prints."""
        said, error = json.loads(self._program.ask(json.dumps(code)))
        assert not error, error
        return str(said)

    def end(self) -> None:
        """Let it end by itself."""
        self._program.end()


@dataclass(frozen=True)
class Site:
    """A site that is served for tests, with a database of its own."""

    url: str
    ws_url: str
    env: dict[str, str]
    process: Program
    log: Path
    _shells: list[Shell] = field(default_factory=list)

    def shell(self, code: str) -> str:
        """Run code on the served site's database, in another process, and return what it prints."""
        if not self._shells:
            self._shells.append(Shell(self.env, self.log))
        return self._shells[0].run(code).strip()

    def shell_end(self) -> None:
        """End the process of `shell`."""
        while self._shells:
            self._shells.pop().end()

    def manage(self, *arguments: str) -> str:
        """Runs a management command on the served site's database."""
        return managed(self.env, *arguments)


def fresh_tree(folder: Path) -> Path:
    """The project in this folder, with a `var/` of its own; only the package that says where that is must be a copy."""
    folder.mkdir(exist_ok=True)
    for path in ROOT.iterdir():
        if path.name not in {"var", "pharmacy_site", "manage.py"} and not path.name.startswith("."):
            (folder / path.name).symlink_to(path)
    shutil.copytree(
        ROOT / "pharmacy_site", folder / "pharmacy_site", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "manage.py", folder / "manage.py")
    return folder


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@cache
def made_once(name: str, make: Callable[[Path], str]) -> str:
    """What `make` returns for a folder of this run: called by the first worker that needs it, kept for the others."""
    folder = Path(os.environ["TEST_RUN_FOLDER"])
    made = folder / name
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed; the other workers wait here
        if not made.exists():
            made.write_text(make(folder))
    return made.read_text()


def site_env(database: str, **more: str) -> dict[str, str]:
    """The environment of a served site on this database."""
    own = {
        "DATABASE_URL": database,
        "DEBUG": "1",
        "DJANGO_SETTINGS_MODULE": "served_settings",
        "EMAIL_URL": "dummy://",
        "PYTHONPATH": str(Path(__file__).parent),
        "TMPDIR": os.environ["TEST_RUN_FOLDER"],  # forked programs leave their files there
    }
    return {**os.environ, **own, **more}


def managed(env: dict[str, str], *arguments: str) -> str:
    """Run a management command in this environment, and return what it prints."""
    command = [sys.executable, "manage.py", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def migrated_template(folder: Path) -> str:
    """The URL of a new database with the rows of the migrations only, that others are copied from."""
    url = _empty_database(_template_name("migrated"), folder)
    managed(site_env(url), "migrate", "-v0")
    if connection.vendor == "sqlite":
        # Larger pages than SQLite's own: tests restore all of them, which takes half as long.
        sql(url, "PRAGMA journal_mode=DELETE", "PRAGMA page_size=16384", "VACUUM")
    return url


def demo_made() -> str:
    """The URL of a database with the demo data, that others are copied from."""
    return made_once("demo", _demo_template)


def _demo_template(folder: Path) -> str:
    url = _copy(made_once("migrated", migrated_template), _template_name("demo"), folder)
    managed(site_env(url), "load_demo", "-v0")
    return url


def _template_without_knowledge(folder: Path) -> str:
    """The URL of a copy of it without the knowledge base; a site on it has no index to build, two fifths of its start."""
    url = _copy(demo_made(), _template_name("without_knowledge"), folder)
    # All tables of agent/models/knowledge.py: SQLite would not say that rows of another one are left alone.
    sql(url, *(f"DELETE FROM agent_knowledge{table}" for table in ("version", "entry", "collection")))
    return url


def _template_name(kind: str) -> str:
    """The name of a database that others are copied from; on PostgreSQL the runs on one server have different ones."""
    return f"template_{kind}" if connection.vendor == "sqlite" else f"{INSTALLED}_{kind}"


@contextmanager
def demo_database(name: str, folder: Path, blocker: Any, *, with_knowledge: bool = False) -> Iterator[str]:
    """The URL of a new database with the demo data, of the kind that this run tests on; dropped at the end.

    It is called by this name and the test process. Without the knowledge base unless `with_knowledge`: tests that ask
    about health need it.
    """
    with blocker.unblock():
        template = (
            demo_made() if with_knowledge else made_once("without_knowledge", _template_without_knowledge)
        )
        url = _copy(template, f"pharmacy_{name}_{os.getpid()}", folder)
    try:
        yield url
    finally:
        _drop(url)


@contextmanager
def empty_database(name: str, folder: Path) -> Iterator[str]:
    """What Django calls a new database without tables, of the kind that this run tests on; dropped at the end."""
    url = _empty_database(f"pharmacy_{name}_{os.getpid()}", folder)
    try:
        yield url.removeprefix("sqlite:///") if connection.vendor == "sqlite" else url.rpartition("/")[2]
    finally:
        _drop(url)


def _drop(url: str) -> None:
    """Drop a database of PostgreSQL; a file is removed with its folder."""
    if url.startswith("postgres"):
        import psycopg

        server, _, own = url.rpartition("/")
        with psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
            admin.execute(f'DROP DATABASE IF EXISTS "{own}" WITH (FORCE)')


def _copy(template: str, name: str, folder: Path) -> str:
    if connection.vendor == "sqlite":
        path = folder / f"{name}.sqlite3"
        with (
            closing(sqlite3.connect(template.removeprefix("sqlite:///"))) as source,
            closing(sqlite3.connect(path)) as copy,
        ):
            source.backup(copy)
        return f"sqlite:///{path}"
    return _empty_database(name, folder, template.rsplit("/", 1)[1])


def sql(url: str, *statements: str) -> list[Any]:
    """Run statements on a database, and return the rows of the last."""
    rows: list[Any] = []
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=20)) as database:
            for statement in statements:
                rows = list(database.execute(statement))
            database.commit()
        return rows
    import psycopg

    with psycopg.connect(url) as connected:
        for statement in statements:
            cursor = connected.execute(statement)
            rows = list(cursor) if cursor.description else []
    return rows


def _empty_database(name: str, folder: Path, template: str = "template0") -> str:
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
        admin.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    return f"postgres://{where['user']}:{where['password']}@{where['host']}:{where['port']}/{name}"


def wait_until_served(url: str, process: Program | subprocess.Popen[bytes], seconds: float = 40) -> None:
    """Returns when the site answers; fails when its process ended or the time is over."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if (code := process.poll()) is not None:
            raise RuntimeError(f"the server ended with {code}")
        try:
            with urllib.request.urlopen(f"{url}/healthz", timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the server did not answer in time")


@contextmanager
def served(env: dict[str, str], port: int, log: Path, server: str = "uvicorn") -> Iterator[Site]:
    """Serves the site as `make run` does, or with daphne.

    With few connections each: PostgreSQL has a hundred for all sites that the workers of a run serve at a time.
    """
    env = {"DATABASE_POOL": "8", **env}
    command = ["manage.py", "serve", "--port", str(port)]
    if server == "daphne":
        application = "pharmacy_site.asgi:application"
        command = ["-m", "daphne", "-b", "127.0.0.1", "-p", str(port), "-v", "0", application]
    process = Program(command, env, log)
    url = f"http://127.0.0.1:{port}"
    site = Site(url, f"ws://127.0.0.1:{port}/ws/chat/", env, process, log)
    try:
        wait_until_served(url, process)
        yield site
    finally:
        try:
            site.shell_end()
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def demo_site(
    name: str, folder: Path, blocker: Any, *, with_knowledge: bool = False, **env: str
) -> Iterator[Site]:
    """Serve a site on a copy of the demo data of its own, without the knowledge base unless `with_knowledge`."""
    with (
        demo_database(name, folder, blocker, with_knowledge=with_knowledge) as database,
        served(site_env(database, **env), free_port(), folder / "server.log") as site,
    ):
        yield site
