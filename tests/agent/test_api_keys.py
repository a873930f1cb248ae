"""Keys over HTTP: who is let in, how often, and what an issued key is."""

import io
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.test import Client

from agent.models import ApiKey
from agent.tools.registry import TOOLS
from agent.web.authentication import key_issue
from pharmacy_site.lib.counters import counters

PROBLEM = ["type", "title", "status", "detail"]

pytestmark = pytest.mark.django_db

PRIVATE = {"prescription_management", "prescription_verify"}
ADDRESSES = ["/api/v1/tools/", "/api/v1/medications/", "/api/v1/stores/", "/api/v1/stock/"]
HANDOFFS = "/api/v1/handoffs/"


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


@pytest.fixture(autouse=True)
def _own_cache(settings: Any) -> Iterator[None]:
    backend = "django.core.cache.backends.locmem.LocMemCache"
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": uuid.uuid4().hex}}
    counters.cache_clear()
    yield
    counters.cache_clear()


def test_the_command_prints_only_the_key() -> None:
    out = io.StringIO()
    call_command("issue_api_key", "till 3", "--scope", "tools", "--scope", "patients", stdout=out)
    key = out.getvalue().removesuffix("\n")
    assert key.startswith("phk_") and len(key) > 40
    assert all(letter.isascii() and (letter.isalnum() or letter in "_-.") for letter in key)
    row = ApiKey.objects.get()
    assert (row.name, row.scopes, row.prefix) == ("till 3", ["tools", "patients"], key[:12])
    assert key not in row.key_hash and len(row.key_hash) == 64


def staff(name: str, role: str, **fields: Any) -> User:
    user = User.objects.create_user(name, **{"is_staff": True, **fields})
    user.groups.add(Group.objects.get(name=role))
    return user


def test_a_key_for_hand_offs_is_bound_to_a_member_of_staff(client: Client) -> None:
    dana, out = staff("dana", "pharmacist"), io.StringIO()
    call_command("issue_api_key", "desk 2", "--scope", "handoffs", "--user", "dana", stdout=out)
    key = out.getvalue().removesuffix("\n")
    row = ApiKey.objects.get()
    assert (row.user, row.scopes) == (dana, ["handoffs"])
    assert client.get(HANDOFFS, headers=bearer(key)).status_code == 200
    assert client.get("/api/v1/tools/", headers=bearer(key)).status_code == 403


@pytest.mark.parametrize(
    "arguments",
    [
        ["--scope", "handoffs"],
        ["--scope", "handoffs", "--user", "nobody"],
        ["--scope", "tools", "--user", "dana"],
        ["--scope", "handoffs", "--user", "gone"],
        ["--scope", "handoffs", "--user", "root"],
        ["--scope", "handoffs", "--user", "adam"],
        ["--scope", "handoffs", "--user", "customer"],
    ],
)
def test_no_other_key_for_hand_offs_is_issued(arguments: list[str]) -> None:
    staff("dana", "pharmacist")
    staff("gone", "pharmacist", is_active=False)
    staff("root", "pharmacist", is_superuser=True)
    staff("adam", "administrator")
    staff("customer", "pharmacist", is_staff=False)
    with pytest.raises(CommandError):
        call_command("issue_api_key", "x", *arguments)
    assert not ApiKey.objects.exists()


def test_a_key_is_granted_knowledge_roles() -> None:
    roles = ["--role", "patient_diabetes", "--role", "doctor_dental", "--role", "doctor_dental"]
    call_command("issue_api_key", "clinic", "--scope", "tools", *roles, stdout=io.StringIO())
    assert ApiKey.objects.get().roles == ["doctor_dental", "patient_diabetes"]
    call_command("issue_api_key", "till 4", "--scope", "tools", stdout=io.StringIO())
    assert ApiKey.objects.get(name="till 4").roles == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["--scope", "patients", "--role", "doctor_dental"],
        ["--scope", "tools", "--role", "No role"],
        ["--scope", "tools", "--role", "x" * 41],
        ["--scope", "tools", "--role", ""],
    ],
)
def test_no_other_key_with_a_knowledge_role_is_issued(arguments: list[str]) -> None:
    with pytest.raises(CommandError):
        call_command("issue_api_key", "x", *arguments)
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize("arguments", [["x"], ["x", "--scope", "root"], []])
def test_the_command_refuses_wrong_arguments(arguments: list[str]) -> None:
    with pytest.raises(CommandError):
        call_command("issue_api_key", *arguments)
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize("address", [*ADDRESSES, HANDOFFS, f"{HANDOFFS}H-1001/"])
@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer nonsense", "Basic dXNlcjpwYXNz", "Bearer a b", "phk_x", "Bearer ß"]
)
def test_a_request_without_a_valid_key_is_refused(client: Client, address: str, header: str | None) -> None:
    response = client.get(address, headers={} if header is None else {"authorization": header})
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "Bearer"
    assert list(response.json()) == PROBLEM


@pytest.mark.parametrize("tool", [tool.name for tool in TOOLS])
def test_a_tool_without_a_valid_key_is_refused(client: Client, tool: str) -> None:
    response = client.post(f"/api/v1/tools/{tool}/", "{}", content_type="application/json")
    assert response.status_code == 401


def test_a_revoked_key_is_refused_at_once(client: Client) -> None:
    key = key_issue(name="x", scopes=["tools"])
    assert client.get("/api/v1/tools/", headers=bearer(key)).status_code == 200
    ApiKey.objects.update(is_active=False)
    assert client.get("/api/v1/tools/", headers=bearer(key)).status_code == 401


@pytest.mark.parametrize("tool", [tool.name for tool in TOOLS])
@pytest.mark.parametrize("scope", ["tools", "patients"])
def test_each_tool_needs_its_scope(client: Client, tool: str, scope: str) -> None:
    key = key_issue(name="x", scopes=[scope])
    response = client.post(
        f"/api/v1/tools/{tool}/", "{}", content_type="application/json", headers=bearer(key)
    )
    # With the scope the empty arguments are looked at (check_inventory takes even none).
    allowed = (tool in PRIVATE) == (scope == "patients")
    assert response.status_code == (403 if not allowed else 200 if tool == "check_inventory" else 400)


@pytest.mark.parametrize("address", ADDRESSES)
def test_resources_need_the_scope_for_tools(client: Client, address: str) -> None:
    key = key_issue(name="x", scopes=["patients"])
    assert client.get(address, headers=bearer(key)).status_code == 403


@pytest.fixture
def _three_a_minute(settings: Any) -> None:
    rates = {"DEFAULT_THROTTLE_RATES": {"key": "3/min"}}
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, **rates}


@pytest.mark.usefixtures("_three_a_minute")
def test_calls_beyond_the_rate_are_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.web.authentication.time.time", lambda: 1_800_000_010.0)
    key, other = key_issue(name="x", scopes=["tools"]), key_issue(name="y", scopes=["tools"])
    statuses = [client.get("/api/v1/tools/", headers=bearer(key)).status_code for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]
    refused = client.get("/api/v1/tools/", headers=bearer(key))
    assert 1 <= int(refused["Retry-After"]) <= 60
    assert list(refused.json()) == PROBLEM
    assert client.get("/api/v1/tools/", headers=bearer(other)).status_code == 200
    monkeypatch.setattr("agent.web.authentication.time.time", lambda: 1_800_000_070.0)
    assert client.get("/api/v1/tools/", headers=bearer(key)).status_code == 200


@pytest.mark.usefixtures("_three_a_minute")
def test_without_the_cache_calls_are_accepted_and_a_warning_is_logged(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Down:
        def add(self, *args: Any, **kwargs: Any) -> None:
            raise ConnectionError("redis://:password@cache is gone")

    monkeypatch.setattr("pharmacy_site.lib.counters.counters", Down)
    key = key_issue(name="x", scopes=["tools"])
    assert [client.get("/api/v1/tools/", headers=bearer(key)).status_code for _ in range(5)] == [200] * 5
    assert "throttle not counted" in caplog.text and "password" not in caplog.text


def test_the_default_rate_is_600_a_minute(settings: Any) -> None:
    assert settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"]["key"] == "600/min"
