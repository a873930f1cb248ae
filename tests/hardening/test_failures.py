"""Errors over HTTP: a problem document for every one, 503 without the database, and nothing personal in the log."""

import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from agent.chat.admission import origin_allowed
from agent.chat.protocol import BadMessage, read
from agent.web.authentication import key_issue
from pharmacy_site.lib.logs import Line

TOOL = "/api/v1/tools/check_inventory/"


@pytest.fixture
def system(db: None) -> Client:
    """A client with a key, whose errors are answered as they are in production."""
    client = Client(raise_request_exception=False)
    client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {key_issue(name='shop', scopes=['tools'])}"
    return client


def is_problem(response: Any, status: int) -> dict[str, Any]:
    assert response.status_code == status
    assert response["Content-Type"] == "application/problem+json"
    body: dict[str, Any] = json.loads(response.content)
    assert (body["type"], body["status"]) == ("about:blank", status)
    assert body["title"]
    assert body.get("detail") or body.get("errors")
    return body


# -- Problem documents ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("enforced", [False, True])
@pytest.mark.parametrize("method", ["get", "post", "put", "delete"])
@pytest.mark.parametrize(
    "address", ["/api", "/api/nothing", "/api/v1/", "/api/v1/tools/check_inventory", "/api/v1/refills"]
)
def test_what_does_not_exist_and_a_missing_slash_are_404_problems(
    db: None, address: str, method: str, enforced: bool
) -> None:
    client = Client(enforce_csrf_checks=enforced)
    body = is_problem(getattr(client, method)(address, content_type="application/json"), 404)
    assert "slash" in body["detail"]


def test_refusals_are_problems(system: Client) -> None:
    is_problem(Client().post(TOOL), 401)
    assert system.get(TOOL).status_code == 405
    is_problem(system.get(TOOL), 405)
    is_problem(system.post(TOOL, "x", content_type="text/plain"), 415)
    is_problem(system.post(TOOL, "x" * 70_000, content_type="application/json"), 413)
    is_problem(system.post("/api/v1/tools/nothing/", {}, content_type="application/json"), 404)
    is_problem(system.get("/api/v1/refills/"), 403)
    body = is_problem(system.post(TOOL, {"medication_name": 5}, content_type="application/json"), 400)
    assert set(body["errors"][0]) == {"field", "message"}


def test_another_hosts_request_is_a_problem(db: None) -> None:
    response = Client(raise_request_exception=False, headers={"host": "evil.example"}).get("/api/v1/tools/")
    is_problem(response, 400)


def test_a_tools_own_failures_stay_what_they_are(system: Client) -> None:
    response = system.post(TOOL, {"medication_name": "Nothing"}, content_type="application/json")
    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert set(response.json()) == {"success", "error", "error_code"} or response.json()["success"] is False


@pytest.mark.parametrize(
    "body",
    [
        '{"medication_name": "Advil", "medication_name": "Valium"}',
        '{"medication_name": "Advil", "medication\\u005fname": "Valium"}',
        '{"medication_name": "Advil", "x": {"a": 1, "a": 2}}',
    ],
)
def test_a_body_that_names_a_key_twice_is_refused(system: Client, body: str) -> None:
    is_problem(system.post(TOOL, body, content_type="application/json"), 400)


def test_a_frame_that_names_a_key_twice_is_refused() -> None:
    with pytest.raises(BadMessage):
        read('{"v": 1, "type": "ping", "type": "conversation.delete"}')
    assert read('{"v": 1, "type": "ping"}')["type"] == "ping"


# -- Without the database ----------------------------------------------------------------------------------------
@pytest.fixture
def no_database(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The database's file is where nobody can open it, for the connections that begin from now on."""
    if connection.vendor != "sqlite":
        pytest.skip("takes a file away")
    connection.close()
    with monkeypatch.context() as patch:
        patch.setitem(connection.settings_dict, "NAME", "/nonexistent/pharmacy.sqlite3")
        yield
        connection.close()


@pytest.mark.parametrize("debug", [False, True])
def test_the_api_answers_503_without_the_database(no_database: None, settings: Any, debug: bool) -> None:
    settings.DEBUG = debug
    client = Client(raise_request_exception=False, headers={"authorization": "Bearer phk_x"})
    response = client.get("/api/v1/tools/")
    is_problem(response, 503)
    assert int(response["Retry-After"]) > 0


@pytest.mark.parametrize("address", ["/admin/", "/admin/login/"])
def test_pages_answer_503_in_both_languages_without_the_database(no_database: None, address: str) -> None:
    client = Client(raise_request_exception=False)
    client.cookies["sessionid"] = "x" * 32
    response = (
        client.get(address)
        if address == "/admin/"
        else client.post(address, {"username": "a", "password": "b"})
    )
    assert response.status_code == 503
    assert int(response["Retry-After"]) > 0
    assert "Back in a moment" in response.text
    assert "נחזור בעוד רגע" in response.text


def test_the_site_works_on_when_the_database_is_back(transactional_db: None) -> None:
    User.objects.create_superuser("boss", password="a long one for staff")
    client = Client(raise_request_exception=False)
    if connection.vendor == "sqlite":
        name = connection.settings_dict["NAME"]
        connection.close()
        connection.settings_dict["NAME"] = "/nonexistent/pharmacy.sqlite3"
        try:
            assert client.get("/admin/").status_code in (302, 503)
        finally:
            connection.close()
            connection.settings_dict["NAME"] = name
    assert client.login(username="boss", password="a long one for staff")
    assert client.get("/admin/").status_code == 200


# -- Logs --------------------------------------------------------------------------------------------------------
def entry(error: BaseException | None, text: str = "failed") -> str:
    record = logging.LogRecord("django.request", logging.ERROR, __file__, 1, text, None, None)
    if error is not None:
        record.exc_info = (type(error), error, error.__traceback__)
        logging.Formatter().format(record)  # as another handler leaves it: with the whole traceback
    return Line("{asctime} {levelname} {name} {message}", style="{").format(record)


def test_an_entry_has_an_offset_and_of_an_error_its_type_and_place_only() -> None:
    try:
        raise ValueError("david.cohen@example.com")
    except ValueError as caught:
        line = entry(caught)
    assert re.match(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d ERROR django.request failed \[", line
    )
    assert "ValueError at test_failures.py:" in line
    assert "david" not in line
    assert "\n" not in line


def test_an_entry_is_one_line_whatever_it_quotes() -> None:
    assert "\n" not in entry(None, "first\n2026-01-01T00:00:00.000+00:00 INFO forged line")


# -- Origins -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("https", "origin", "is_ours"),
    [
        (False, "http://localhost", True),
        (False, "https://localhost", False),
        (False, "https://localhost:80", False),
        (False, "http://localhost:443", False),
        (True, "https://localhost", True),
        (True, "http://localhost", False),
        (True, "http://localhost:443", False),
        (True, "https://localhost:80", False),
    ],
)
def test_only_the_scheme_that_the_site_is_served_by_is_ours(
    settings: Any, https: bool, origin: str, is_ours: bool
) -> None:
    settings.HTTPS = https
    scope = {"headers": [(b"host", b"localhost"), (b"origin", origin.encode())]}
    assert origin_allowed(scope) is is_ours


def test_a_length_that_is_stated_twice_is_refused(system: Client) -> None:
    response = system.post(TOOL, {}, content_type="application/json", HTTP_TRANSFER_ENCODING="chunked")
    assert "Transfer-Encoding" in is_problem(response, 400)["detail"]
    assert response["Connection"] == "close"
