"""What all tests share: no network, the database's two states, a served site, a scripted model."""

import gc
import os
import re
import shutil
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, connections
from django.test import TransactionTestCase
from django.utils import translation
from network import switched_off
from scripted_model import ScriptedModel
from served_site import IN_PARALLEL, Site, demo_site, made_once, migrated_template
from snapshots import snapshots

from pharmacy_site.lib.private_files import new_files_private

gc.disable()  # until the tests are collected: what is imported and collected stays to the end


# What these look at is read and said; the rows behind it are the same on each database.
ABOUT_WORDS = re.compile(
    r"tests/llm/|tests/agent/test_(answers|beside_cards|cards|emergency\w*|facts|handoff_reason|knowledge_chat|lookalikes"
    r"|open_emergency|refill_(answers|called_off|names|times|wishes)|site_answers|unassessed|who_answers|withdrawal)\.py"
)


OF_PROCESSES = re.compile(
    r"tests/(services/test_(delivery|handoff_kills|refill_crashes|refill_storms|served_limits)|hardening/test_floods)\.py"
)


SLOW = (
    "/tests/services/",
    "/tests/browser/",
    "/tests/evaluation/",
    "/tests/test_",
    "/tests/hardening/",
    "/tests/llm/",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that CI runs once, and let the slow files begin, so that no worker is left with one at the end.

    CI runs once what has the same result on each database, and what is about several processes.
    """
    _slow_first(items)
    for item in items:
        if OF_PROCESSES.search(item.path.as_posix()):
            item.add_marker("processes")
        given = {"db", "transactional_db", "django_db_setup"} & set(getattr(item, "fixturenames", ()))
        if not given and item.get_closest_marker("django_db") is None:
            item.add_marker("no_database")
        elif ABOUT_WORDS.search(item.path.as_posix()):
            item.add_marker("words")


def _slow_first(items: list[pytest.Item]) -> None:
    """Order the files: one of each slow part in turn, since four browsers at a time would wait for each other, then the rest."""
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path.as_posix(), []).append(item)
    slow = [[file for file in files if part in file] for part in SLOW]
    first = [file for turn in zip_longest(*slow) for file in turn if file]
    items[:] = [
        item for file in [*first, *(file for file in files if file not in first)] for item in files[file]
    ]


def pytest_collection_finish() -> None:
    """Let the garbage collector look only at what tests make, and seldom: to look at all tests takes it half a second each time."""
    gc.freeze()
    gc.set_threshold(100_000)
    gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    new_files_private()  # as in manage.py and the applications, by which the site is entered
    settings.NOTIFICATIONS_INLINE = True
    # Only the tests of the second factor give one.
    settings.SECOND_FACTOR_REQUIRED = False
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    # What somebody collected here for a site may be older than the sources.
    settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
    if settings.DATABASE["ENGINE"].endswith("sqlite3"):
        # Larger pages than SQLite's own: a restore, which writes all of them, takes half as long. And nothing waits for the disk.
        options = settings.DATABASE["OPTIONS"]
        options["init_command"] = f"PRAGMA page_size=16384; {options['init_command']} PRAGMA synchronous=OFF;"
    # Look for a static file when one is asked for: every test's client would list all of them first.
    settings.WHITENOISE_AUTOREFRESH = True
    _take_own_redis()


def _take_own_redis() -> None:
    """Give each parallel worker a Redis database of its own, for the tests and for the sites that they serve."""
    url = os.environ.get("REDIS_URL") or os.environ.get("TEST_REDIS_URL") or "redis://127.0.0.1:6379/7"
    server, _, number = url.rpartition("/")
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    own = f"{server}/{min(int(number) + worker, 15)}"  # Redis has 16 databases by default
    os.environ["TEST_REDIS_URL"] = own
    if settings.REDIS_URL:
        os.environ["REDIS_URL"] = settings.REDIS_URL = own
        settings.CACHES["default"]["LOCATION"] = own
        settings.CHANNEL_LAYERS["default"]["CONFIG"]["hosts"] = [own]


# -- The network ---------------------------------------------------------------------------------------------
@pytest.fixture(scope="session", autouse=True)
def network_of_session() -> Iterator[list[str]]:
    """Refuses connections that leave this machine, from the first fixture on."""
    with switched_off() as refused:
        yield refused


@pytest.fixture(autouse=True)
def page_language() -> Iterator[None]:
    """End the language of a page that a test asked for: Django's client answers in the test's own thread."""
    yield
    translation.deactivate()


@pytest.fixture(autouse=True)
def network(network_of_session: list[str]) -> Iterator[list[str]]:
    """Fails a test that tried to leave this machine, even if its code took the refusal for an outage."""
    network_of_session.clear()
    yield network_of_session
    if network_of_session:
        pytest.fail(f"the network is off in tests, and this test tried {network_of_session}")


# -- The database ----------------------------------------------------------------------------------------------
@pytest.fixture(scope="session", autouse=True)
def _run_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Name the folder that the workers of this run share; pytest removes those of earlier runs but the last ones."""
    own = tmp_path_factory.getbasetemp()
    os.environ["TEST_RUN_FOLDER"] = str(own.parent if IN_PARALLEL else own)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    request: pytest.FixtureRequest,
    _run_folder: None,
    django_db_modify_db_settings_parallel_suffix: None,
    django_db_blocker: Any,
) -> Iterator[None]:
    """Let the test database of a parallel worker begin as a copy of one that the first of them migrated, which takes seven seconds."""
    database, is_reused = connection.settings_dict["TEST"], request.config.getoption("reuse_db")
    is_sqlite = connection.vendor == "sqlite"
    if IN_PARALLEL and not is_reused:
        with django_db_blocker.unblock():
            migrated = made_once("migrated", migrated_template)
        if is_sqlite:
            _remove_sqlite(database["NAME"])
            shutil.copy(migrated.removeprefix("sqlite:///"), database["NAME"])
        else:
            database["TEMPLATE"] = migrated.rpartition("/")[2]
    yield
    if is_sqlite and not is_reused:
        connections.close_all()
        _remove_sqlite(database["NAME"])


def _remove_sqlite(name: str) -> None:
    """Remove a database with its logs: SQLite would write that of an earlier one into a new file of its name."""
    for ending in ("", "-wal", "-shm"):
        Path(name + ending).unlink(missing_ok=True)


@pytest.fixture(scope="session")
def django_db_keepdb(request: pytest.FixtureRequest, django_db_modify_db_settings: None) -> bool:
    """On SQLite, keep the copy instead of beginning with an empty file."""
    return bool(request.config.getoption("reuse_db")) or (IN_PARALLEL and connection.vendor == "sqlite")


def _marked_as_changed(self: TransactionTestCase) -> None:
    """Instead of Django's flush: what the next test needs is restored before it begins."""
    snapshots.changed()


TransactionTestCase._fixture_teardown = _marked_as_changed  # type: ignore[method-assign]


class _DemoIndexes:
    """Keeps the search indexes of the demo data between tests; building one takes as long as three tests."""

    def __init__(self) -> None:
        self._states: dict[Any, dict[str, Any]] = {}  # of each demo state, by role
        self._built: dict[Any, Any] = {}

    def put_back(self, indexing: Any, state: str, *, is_about_them: bool) -> None:
        """Drop the indexes of the test before, and put those of the demo data back that were built already."""
        known = [one for states in self._states.values() for one in states.values()]
        self._built |= {held.state: held for held in indexing._held.values() if held.state in known}
        indexing.indexes_forget()
        if state != "demo" or is_about_them:
            return
        if (key := snapshots.current) not in self._states:
            roles = indexing.KnowledgeCollection.objects.values_list("role", flat=True)
            self._states[key] = {role: indexing._state(role) for role in roles}
        for role, one in self._states[key].items():
            # A test that published, and was rolled back, leaves an index of a later state.
            if (held := self._built.get(one)) and held.state == one:
                indexing._held[role] = held


_demo_indexes = _DemoIndexes()


@pytest.fixture
def _database_state(request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: Any) -> None:
    """The state that this test begins with, committed before its transaction opens."""
    marker = request.node.get_closest_marker("django_db")
    if marker and marker.kwargs.get("databases") == []:
        return  # its sites have databases of their own, and there may be none here
    state = "demo" if {"demo", "demo_committed"} & set(request.fixturenames) else "empty"
    with django_db_blocker.unblock():
        snapshots.restore(state)
        if indexing := sys.modules.get("agent.knowledge.indexing"):
            about_them = "/knowledge/" in request.node.path.as_posix()
            _demo_indexes.put_back(indexing, state, is_about_them=about_them)
    if switches := sys.modules.get("prescriptions.switches"):
        switches.board.forget()


@pytest.fixture
def _django_db_helper(_database_state: None, _django_db_helper: None) -> None:
    """What pytest-django does for every test with a database, after the restore."""


@pytest.fixture
def demo(db: None) -> None:
    """The demo data inside a transaction that is rolled back."""


@pytest.fixture
def demo_committed(transactional_db: None) -> None:
    """The demo data in committed rows, for tests with threads, sockets or several connections."""


# -- A served site -------------------------------------------------------------------------------------------
@pytest.fixture(scope="session")
def chat_server(
    tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: object
) -> Iterator[Site]:
    """The whole site in a process of its own, on a database of its own with the demo data."""
    limits = {
        "IDENTITY_CODES_PER_DAY": "100000",
        "IDENTITY_GUESSES_PER_DAY": "100000",
        "IDENTITY_CODES_PER_CONTACT_HOUR": "100000",
        "IDENTITY_CODES_PER_ADDRESS_HOUR": "100000",
        "CHAT_SOCKETS_PER_MINUTE": "100000",
        "CHAT_CONVERSATIONS_PER_HOUR": "100000",
        "CHAT_FRAMES_PER_SECOND": "1000",
        "CHAT_SOCKETS_OPEN": "500",
        "CHAT_MESSAGES_PER_MINUTE": "60",
        "HANDOFFS_PER_ADDRESS": "100000",
    }
    folder = tmp_path_factory.mktemp("served")
    with demo_site("served", folder, django_db_blocker, with_knowledge=True, **limits) as site:
        yield site


# -- A scripted language model -------------------------------------------------------------------------------
@pytest.fixture(scope="session")
def scripted_server() -> Iterator[ScriptedModel]:
    """The server behind `scripted_model`, for sites that live longer than a test and need its address."""
    with ScriptedModel() as model:
        yield model


@pytest.fixture
def scripted_model(scripted_server: ScriptedModel) -> Iterator[ScriptedModel]:
    """A language model that says what the test scripts; fails on leftovers and on requests nobody scripted."""
    scripted_server.reset()
    yield scripted_server
    try:
        scripted_server.verify()
    finally:
        scripted_server.reset()
