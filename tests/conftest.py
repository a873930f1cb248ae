"""What all tests share: no network, the demo database, append-only tables through a flush, a served site, a scripted model."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.test import TransactionTestCase
from network import switched_off
from scripted_model import ScriptedModel
from served_site import Site, demo_database, free_port, served

from pharmacy_site.lib.append_only import create_sql, drop_sql

PROTECTED = ("inventory_stockmove", "prescriptions_auditevent")


def pytest_configure(config: pytest.Config) -> None:
    settings.NOTIFICATIONS_INLINE = True
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    # What somebody collected here for a site may be older than the sources.
    settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"


def _phase(item: pytest.Item) -> int:
    """Plain tests meet an empty database, transactional ones leave it empty, and then the demo data stays."""
    names = set(getattr(item, "fixturenames", ()))
    marker = item.get_closest_marker("django_db")
    if "demo_loaded" in names:
        return 2
    if names & {"transactional_db", "demo_committed"} or (marker and marker.kwargs.get("transaction")):
        return 1
    return 0


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_phase)


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


# -- Append-only tables: the flush between transactional tests may empty them --------------------------------
@contextmanager
def unprotected() -> Iterator[None]:
    """Takes the triggers away for as long as the tests' own clean-up needs."""
    with connection.cursor() as cursor:
        for table in PROTECTED:
            for statement in drop_sql(connection.vendor, table):
                cursor.execute(statement)
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            for table in PROTECTED:
                for statement in create_sql(connection.vendor, table):
                    cursor.execute(statement, params=None)


_teardown = TransactionTestCase._fixture_teardown


def _teardown_unprotected(self: TransactionTestCase) -> None:
    with unprotected():
        _teardown(self)


TransactionTestCase._fixture_teardown = _teardown_unprotected  # type: ignore[method-assign]


# -- The demo database ---------------------------------------------------------------------------------------
@pytest.fixture(scope="session")
def demo_loaded(django_db_setup: None, django_db_blocker: object) -> None:
    """The demo data once per run; tests in transactions see it and roll back what they change."""
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        call_command("load_demo", verbosity=0, stdout=StringIO())


@pytest.fixture
def demo(demo_loaded: None, db: None) -> None:
    """The demo data inside a transaction that is rolled back."""


@pytest.fixture
def demo_committed(transactional_db: None) -> None:
    """The demo data in committed rows, for tests with threads, sockets or several connections."""
    call_command("load_demo", verbosity=0, stdout=StringIO())


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
