"""The two states of the test database, "empty" and "demo", each made once and then restored in a moment.

Empty is what the migrations leave; demo is that with `load_demo`, whose dates are counted from today. Of parallel
workers the first makes what the others copy (served_site.py); the demo data on SQLite only.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import date
from io import StringIO
from typing import Final

from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone
from served_site import IN_PARALLEL, demo_made

_BUSY: Final = (
    100  # how often a restore meets a lock before it fails; sqlite3 waits a tenth of a second each time
)
_STARTED: Final = timezone.localdate()  # the day that the demo data of the run are counted from


class _Snapshots:
    """Restores the state that a test begins with, unless the database is in it already."""

    def __init__(self) -> None:
        self._restorers: dict[tuple[str, date | None], Callable[[], None]] = {}
        self.current: tuple[str, date | None] | None = None
        self._installed = connection.settings_dict["NAME"]

    def restore(self, state: str) -> None:
        """Bring the database to a state; outside of transactions."""
        key = (state, timezone.localdate() if state == "demo" else None)
        if key == self.current:
            return
        assert connection.settings_dict["NAME"] != self._installed, "this is no test database"
        if key in self._restorers:
            self._restorers[key]()
        else:
            if state == "demo":
                self._load_demo()
            self._restorers[key] = _take(f"snapshot_{len(self._restorers)}")
        self.current = key

    def _load_demo(self) -> None:
        self.changed()  # a test that was rolled back leaves PostgreSQL's counters advanced
        self.restore("empty")
        if IN_PARALLEL and connection.vendor == "sqlite" and timezone.localdate() == _STARTED:
            with closing(sqlite3.connect(demo_made().removeprefix("sqlite:///"))) as made:
                _put_back(made)
        else:
            call_command("load_demo", verbosity=0, stdout=StringIO())

    def changed(self) -> None:
        """Let the next restore happen, whatever state it asks for."""
        self.current = None


def _take(name: str) -> Callable[[], None]:
    """Copy the database; the function that is returned puts the copy back."""
    return _take_postgresql(name) if connection.vendor == "postgresql" else _take_sqlite()


def _take_sqlite() -> Callable[[], None]:
    """In memory, page by page: tables, triggers, full-text indexes and counters."""
    connection.ensure_connection()
    copy = sqlite3.connect(":memory:")
    connection.connection.backup(copy)
    return lambda: _put_back(copy)


def _put_back(source: sqlite3.Connection) -> None:
    """Overwrite the test database with another one, page by page."""
    busy = 0

    def give_up(status: int, _remaining: int, _total: int) -> None:
        nonlocal busy
        busy = busy + 1 if status in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED} else 0
        if busy > _BUSY:
            raise TimeoutError("another connection keeps the test database locked")

    connection.ensure_connection()
    source.backup(connection.connection, progress=give_up, sleep=0.1)


def _take_postgresql(name: str) -> Callable[[], None]:
    """In a schema of its own: rows and counters, by name, since a test may migrate back and forth, which makes tables anew."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_COPY.format(name=name))

    def restore() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_RESTORE.format(name=name))

    return restore


_COPY: Final = """
DROP SCHEMA IF EXISTS {name} CASCADE;
CREATE SCHEMA {name};
CREATE SCHEMA IF NOT EXISTS snapshot_marks;
CREATE TABLE IF NOT EXISTS snapshot_marks.tables ("table" text PRIMARY KEY, state text, rows bigint, newest bigint);
CREATE OR REPLACE FUNCTION snapshot_marks.of(name text, OUT rows bigint, OUT newest bigint) AS $$ BEGIN
    EXECUTE format('SELECT count(*), greatest(max(xmin::text::bigint), (
        SELECT max(xmin::text::bigint) FROM pg_attribute WHERE attrelid = %1$L::regclass
    )) FROM %1$s', format('public.%I', name)) INTO rows, newest;
END $$ LANGUAGE plpgsql;
DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
        EXECUTE format('CREATE UNLOGGED TABLE {name}.%1$I AS TABLE public.%1$I', name);
    END LOOP;
END $$;
CREATE TABLE {name}.counters AS
    SELECT format('public.%I', sequencename) AS counter, last_value FROM pg_sequences
    WHERE schemaname = 'public';
"""
# As a replica, which fires no trigger: neither those of foreign keys nor those that keep tables append-only. A table that
# nobody changed since it was restored to this state is left as it is. What was inserted, updated or altered shows by the
# number of its transaction, which only grows, what was deleted by the count.
_RESTORE: Final = """
SET LOCAL session_replication_role = replica;
DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
        CONTINUE WHEN EXISTS (
            SELECT FROM snapshot_marks.tables AS mark, snapshot_marks.of(name) AS now
            WHERE mark."table" = name AND mark.state = '{name}' AND (mark.rows, mark.newest) = (now.rows, now.newest)
        );
        EXECUTE format('DELETE FROM public.%I', name);
        EXECUTE format('INSERT INTO public.%1$I SELECT * FROM {name}.%1$I', name);
        DELETE FROM snapshot_marks.tables WHERE "table" = name;
        INSERT INTO snapshot_marks.tables SELECT name, '{name}', now.rows, now.newest FROM snapshot_marks.of(name) AS now;
    END LOOP;
    PERFORM setval(counter::regclass, coalesce(last_value, 1), last_value IS NOT NULL) FROM {name}.counters;
END $$;
"""

snapshots: Final = _Snapshots()
