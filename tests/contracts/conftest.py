"""The two doors to the tools, over the demo data: the registry and HTTP give the same results."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from agent.models import ApiKey
from agent.tools.base import InvalidArguments, ToolContext
from agent.tools.registry import call_tool
from agent.web.authentication import key_issue

Call = Callable[..., dict[str, Any]]


@pytest.fixture
def key(demo: None, settings: Any) -> str:
    """A system's key with all scopes, on behalf of a pharmacist, which the number of tests does not throttle."""
    rates = {"DEFAULT_THROTTLE_RATES": {"key": "1000000/min"}}
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, **rates}
    user = User.objects.create_user("pharmacist-of-tests", is_staff=True)
    user.groups.add(Group.objects.get(name="pharmacist"))
    return key_issue(name="tests", scopes=["tools", "patients", "handoffs"], user=user)


@pytest.fixture
def system(key: str) -> ToolContext:
    """The context in which that system calls."""
    row = ApiKey.objects.get()
    return ToolContext(
        actor=f"key:{row.pk}",
        channel="http",
        language="en",
        api_key=row,
        scopes=frozenset({"tools", "patients"}),
    )


@pytest.fixture
def post(client: Client, key: str) -> Callable[..., Any]:
    """POST a tool's arguments (or a raw body) with the key."""

    def send(name: str, body: object, **headers: str) -> Any:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return client.post(
            f"/api/v1/tools/{name}/",
            content,
            content_type="application/json",
            headers={"authorization": f"Bearer {key}", **headers},
        )

    return send


@pytest.fixture(params=["registry", "http"])
def call(request: pytest.FixtureRequest, system: ToolContext, post: Callable[..., Any]) -> Call:
    """Call a tool through one of the doors: its result, or {"errors": […]} for arguments that break the schema."""

    def through_registry(name: str, accept: str = "en", **arguments: Any) -> dict[str, Any]:
        context = ToolContext(**{**vars(system), "language": accept})
        try:
            outcome = call_tool(name, arguments, context)
        except InvalidArguments as error:
            return {"errors": error.errors}
        assert outcome.ok == (outcome.code is None)
        return outcome.result

    def through_http(name: str, accept: str = "en", **arguments: Any) -> dict[str, Any]:
        response = post(name, arguments, **{"accept-language": accept})
        assert response.status_code == (400 if "errors" in response.json() else 200)
        return response.json()  # type: ignore[no-any-return]

    return through_registry if request.param == "registry" else through_http
