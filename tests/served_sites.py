"""Sites with real neighbours on one database with the demo data, and ways to make that slow; imported by the tests that need them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from served_site import Site, demo_database, free_port, served, site_env, sql


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
        """Run statements on the database, and return the rows of the last."""
        return sql(self.env["DATABASE_URL"], *statements)

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


@contextmanager
def sites_of(name: str, folder: Path, blocker: Any) -> Iterator[Sites]:
    """Sites on a new database, which has no knowledge base and is dropped at the end."""
    with demo_database(name, folder, blocker) as database:
        env = site_env(
            database,
            DJANGO_SETTINGS_MODULE="sleeping_settings",
            EMAIL_URL=f"file:///{folder / 'mail'}",
            REDIS_URL="",
            CELERY_BROKER_URL="",
            # Sites that are given the same Redis count there together.
            CHAT_CONVERSATIONS_PER_HOUR="100000",
        )
        yield Sites(env, folder)
