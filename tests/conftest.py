"""What all tests share: no network, the database's two states, a served site, a scripted model."""

import gc
import os
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import TransactionTestCase
from network import switched_off
from scripted_model import ScriptedModel
from served_site import Site, demo_database, free_port, served
from snapshots import snapshots

gc.disable()  # until the tests are collected: what is imported and collected stays to the end


def pytest_collection_finish() -> None:
    """Let the garbage collector look only at what tests make: to look at all tests takes it half a second each time."""
    gc.freeze()
    gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    settings.NOTIFICATIONS_INLINE = True
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    # What somebody collected here for a site may be older than the sources.
    settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
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
def network(network_of_session: list[str]) -> Iterator[list[str]]:
    """Fails a test that tried to leave this machine, even if its code took the refusal for an outage."""
    network_of_session.clear()
    yield network_of_session
    if network_of_session:
        pytest.fail(f"the network is off in tests, and this test tried {network_of_session}")


# -- The database ----------------------------------------------------------------------------------------------
def _marked_as_changed(self: TransactionTestCase) -> None:
    """Instead of Django's flush: what the next test needs is restored before it begins."""
    snapshots.changed()


TransactionTestCase._fixture_teardown = _marked_as_changed  # type: ignore[method-assign]


@pytest.fixture
def _database_state(request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: Any) -> None:
    """The state that this test begins with, committed before its transaction opens."""
    marker = request.node.get_closest_marker("django_db")
    if marker and marker.kwargs.get("databases") == []:
        return  # its sites have databases of their own, and there may be none here
    state = "demo" if {"demo", "demo_committed"} & set(request.fixturenames) else "empty"
    with django_db_blocker.unblock():
        snapshots.restore(state)


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
    folder = tmp_path_factory.mktemp("site")
    worker = os.environ.get("PYTEST_XDIST_WORKER", "one")
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        database = demo_database(f"pharmacy_served_{worker}", folder)
    env = {
        **os.environ,
        "DATABASE_URL": database,
        "DEBUG": "1",
        "EMAIL_URL": "dummy://",
        "IDENTITY_CODES_PER_DAY": "100000",
        "IDENTITY_GUESSES_PER_DAY": "100000",
        "IDENTITY_CODES_PER_CONTACT_HOUR": "100000",
        "IDENTITY_CODES_PER_ADDRESS_HOUR": "100000",
        "CHAT_SOCKETS_PER_MINUTE": "100000",
        "CHAT_SOCKETS_OPEN": "500",
        "CHAT_MESSAGES_PER_MINUTE": "60",
    }
    with served(env, free_port(), folder / "server.log") as site:
        yield site
    if "postgres" in database:
        import psycopg

        with psycopg.connect(database.rsplit("/", 1)[0] + "/postgres", autocommit=True) as admin:
            admin.execute(f'DROP DATABASE IF EXISTS "{database.rsplit("/", 1)[1]}" WITH (FORCE)')


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
