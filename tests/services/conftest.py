"""Served sites with real neighbours, and ways to make a database slow."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from served_site import Site, demo_database, free_port, served


@dataclass(frozen=True)
class Sites:
    """Starts sites on one database with the demo data; each takes further environment variables."""

    env: dict[str, str]
    folder: Path

    @property
    def mail(self) -> Path:
        return self.folder / "mail"

    @contextmanager
    def __call__(self, server: str = "uvicorn", **env: str) -> Iterator[Site]:
        port = free_port()
        with served({**self.env, **env}, port, self.folder / f"{port}.log", server) as running:
            yield running

    def sql(self, *statements: str) -> list[Any]:
        """Runs statements on the database, and returns the rows of the last."""
        url = self.env["DATABASE_URL"]
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

    @contextmanager
    def slow_answers(self, seconds: float) -> Iterator[None]:
        """Meanwhile each answer's commit takes about so long: a trigger on what only that commit writes."""
        if self.env["DATABASE_URL"].startswith("sqlite"):
            create = [
                f"CREATE TRIGGER slow BEFORE INSERT ON agent_toolcall BEGIN SELECT sleep({seconds}); END"
            ]
            drop = ["DROP TRIGGER slow"]
        else:
            create = [
                "CREATE FUNCTION slow() RETURNS trigger AS $$ BEGIN PERFORM pg_sleep("
                f"{seconds}); RETURN NEW; END $$ LANGUAGE plpgsql",
                "CREATE TRIGGER slow BEFORE INSERT ON agent_toolcall FOR EACH STATEMENT EXECUTE FUNCTION slow()",
            ]
            drop = ["DROP TRIGGER slow ON agent_toolcall", "DROP FUNCTION slow()"]
        self.sql(*create)
        try:
            yield
        finally:
            self.sql(*drop)


@pytest.fixture
def site(
    tmp_path: Path, django_db_setup: None, django_db_blocker: Any
) -> Callable[..., AbstractContextManager[Site]]:
    """Sites on one fresh database."""
    with django_db_blocker.unblock():
        database = demo_database(f"pharmacy_parts_{os.getpid()}", tmp_path)
    env = {
        **os.environ,
        "DATABASE_URL": database,
        "DJANGO_SETTINGS_MODULE": "sleeping_settings",
        "PYTHONPATH": str(Path(__file__).parents[1]),
        "DEBUG": "1",
        "EMAIL_URL": f"file:///{tmp_path / 'mail'}",
        "REDIS_URL": "",
        "CELERY_BROKER_URL": "",
    }
    return Sites(env, tmp_path)
