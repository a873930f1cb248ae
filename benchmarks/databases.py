"""Databases of the benchmarks' own: made, filled with the demo data, copied and dropped again; never the site's."""

import os
import secrets
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

ROOT = Path(__file__).resolve().parent.parent
VENDORS = ("sqlite", "postgresql")
POSTGRES = os.environ.get("BENCH_POSTGRES", "postgres://postgres@127.0.0.1:5432").rstrip("/")
UNSET = (
    *("REDIS_URL", "CELERY_BROKER_URL", "TRUSTED_PROXIES", "HTTPS", "DATABASE_THREADS", "DATABASE_POOL"),
    *("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"),
)


@dataclass
class Databases:
    """The databases of one kind: a template with the demo data, and copies of it."""

    vendor: str
    folder: Path
    prefix: str

    def url(self, name: str) -> str:
        """Return the DATABASE_URL of one of them."""
        if self.vendor == "sqlite":
            return f"sqlite:///{self.folder / name}.sqlite3"
        return f"{POSTGRES}/{self.prefix}_{name}"

    def template_make(self) -> None:
        """Migrate an empty database and load the demo data into it."""
        if self.vendor == "postgresql":
            _postgres(f'CREATE DATABASE "{self.prefix}_template"')
        env = environment(self.url("template"))
        for command in ("migrate", "load_demo"):
            done = subprocess.run(
                [sys.executable, "manage.py", command, "-v0"],
                cwd=ROOT,
                env=env,
                capture_output=True,
                text=True,
            )
            if done.returncode:
                raise RuntimeError(f"{command} failed on {self.vendor}:\n{done.stderr}")
        if self.vendor == "sqlite":
            with closing(sqlite3.connect(self.folder / "template.sqlite3")) as file:
                file.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def copy(self, name: str) -> str:
        """Return the URL of a new copy of the template; nobody may be connected to the template."""
        if self.vendor == "sqlite":
            shutil.copyfile(self.folder / "template.sqlite3", self.folder / f"{name}.sqlite3")
        else:
            _postgres(f'CREATE DATABASE "{self.prefix}_{name}" TEMPLATE "{self.prefix}_template"')
        return self.url(name)

    def drop(self) -> None:
        """Remove them all, also those that another process copied; the files go with their folder."""
        if self.vendor == "postgresql":
            with psycopg.connect(f"{POSTGRES}/postgres", autocommit=True) as connection:
                names = connection.execute(
                    "SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [self.prefix]
                ).fetchall()
                for (name,) in names:
                    _postgres(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


@contextmanager
def databases(vendor: str, folder: Path) -> Iterator[Databases]:
    """Give the databases of one kind for as long as the block runs."""
    own = Databases(vendor, folder, f"pharmacy_bench_{secrets.token_hex(4)}")
    try:
        own.template_make()
        yield own
    finally:
        own.drop()


def environment(url: str) -> dict[str, str]:
    """Return the environment of every process that is measured: one process, no debug, nothing from outside."""
    return {
        **{name: value for name, value in os.environ.items() if name not in UNSET},
        "DATABASE_URL": url,
        "DEBUG": "0",  # with it Django keeps every query in memory
        "SECRET_KEY": secrets.token_urlsafe(50),
        "EMAIL_URL": "dummy://",
        "LOG_LEVEL": "ERROR",
        "API_RATE": "100000000/min",  # counted as always, never reached
        "DJANGO_SETTINGS_MODULE": "pharmacy_site.settings",
        "PYTHONPATH": str(ROOT),
    }


def postgres_absent() -> str:
    """Return why PostgreSQL cannot be measured here, empty when it can."""
    try:
        _postgres("SELECT 1")
    except psycopg.Error as error:
        return f"PostgreSQL skipped, set BENCH_POSTGRES: {str(error).strip().splitlines()[0]}"
    return ""


def _postgres(statement: str) -> None:
    with psycopg.connect(f"{POSTGRES}/postgres", autocommit=True, connect_timeout=5) as connection:
        connection.execute(statement)
