"""Generated requests to every operation of the OpenAPI schema (E1, small): no 5xx, and what the schema says."""

import os
from collections.abc import Iterator
from functools import cache
from typing import Any
from uuid import uuid4

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    positive_data_acceptance,
    response_schema_conformance,
    status_code_conformance,
)
from served_site import IN_CI, ON_POSTGRESQL

from agent.models import ApiKey
from agent.tools.registry import TOOLS
from pharmacy_site.wsgi import application
from prescriptions.audit import Access
from prescriptions.handoffs.services import handoff_claim, handoff_open

pytestmark = pytest.mark.django_db

EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "25" if IN_CI and ON_POSTGRESQL else "8"))
PATHS = [
    *(
        f"GET /api/v1/{name}/"
        for name in (
            *("medications", "stock", "stores", "tools", "refills", "refills/{number}"),
            *("handoffs", "handoffs/{number}"),
        )
    ),
    "POST /api/v1/refills/",
    "POST /api/v1/knowledge/ask/",
    *(f"POST /api/v1/handoffs/{{number}}/{name}/" for name in ("claim", "decide", "reply")),
    *(f"POST /api/v1/tools/{tool.name}/" for tool in TOOLS),
]
ONCE = {"POST /api/v1/refills/", "POST /api/v1/knowledge/ask/"}
ALWAYS = [
    not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance
]  # fmt: skip


@cache
def operations() -> dict[str, Any]:
    """Each operation by its method and path; read once, through the door that clients read it through."""
    schema = schemathesis.openapi.from_wsgi("/api/schema/?format=json", application)
    return {found.ok().label: found.ok() for found in schema.get_all_operations()}


@pytest.fixture(autouse=True)
def _one_connection() -> Iterator[None]:
    """Requests share the test's transaction; the test client would do the same."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


def test_every_operation_is_tested() -> None:
    assert set(operations()) == set(PATHS)


@pytest.mark.parametrize("path", PATHS)
def test_valid_requests_get_documented_responses(key: str, path: str) -> None:
    generate(operations()[path], key, GenerationMode.POSITIVE, positive_data_acceptance)


@pytest.mark.parametrize("path", PATHS)
def test_invalid_requests_are_refused(key: str, path: str) -> None:
    """Resources ignore unknown parameters on purpose; tools refuse whatever breaks their schema."""
    refused = [negative_data_rejection] if path.startswith("POST ") else []
    generate(operations()[path], key, GenerationMode.NEGATIVE, *refused)


@pytest.mark.parametrize("path", [path for path in PATHS if "handoffs/{number}" in path])
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_requests_about_a_claimed_hand_off_get_documented_responses(
    key: str, path: str, mode: GenerationMode
) -> None:
    """Numbers that are made up exist nowhere, so that nothing behind them would be reached."""
    row = handoff_open(conversation_id=None, reason="customer_asked", run_key="tests", language="en")
    holder = ApiKey.objects.get().user
    assert holder is not None
    handoff_claim(row, holder, access=Access("user:1", "tests"))
    generate(operations()[path], key, mode, number=row.number)


def generate(operation: Any, key: str, mode: GenerationMode, *checks: Any, number: str | None = None) -> None:
    @seed(1)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def run(case: Any) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        if operation.label in ONCE and mode == GenerationMode.POSITIVE:
            headers["Idempotency-Key"] = uuid4().hex  # the same one twice is another case
        if number is not None:
            case.path_parameters = {"number": number}
        response = case.call(headers=headers)
        case.validate_response(response, checks=[*ALWAYS, *checks])

    run()
