"""Readiness: each part's state, soon, whatever hangs."""

import threading
import time
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client

from agent.web import health

pytestmark = pytest.mark.django_db

PARTS = ["database", "cache", "channel_layer", "broker"]


@pytest.fixture(autouse=True)
def _one_process(settings: Any) -> None:
    settings.REDIS_URL = settings.CELERY_BROKER_URL = ""


def test_a_site_without_services_is_ready(client: Client) -> None:
    response = client.get("/readyz")
    assert response.status_code == 200
    assert response.json() == {
        "status": "ok",
        "database": "ok",
        "cache": "in process",
        "channel_layer": "in process",
        "broker": "in process",
    }
    assert response["Cache-Control"] == "no-store"


def test_without_the_database_the_site_is_not_ready(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    def down() -> str:
        raise OperationalError("password=secret")

    monkeypatch.setattr(health, "_database", down)
    response = client.get("/readyz")
    assert response.status_code == 503
    assert (response.json()["status"], response.json()["database"]) == ("down", "down")
    assert "secret" not in response.content.decode() + caplog.text


@pytest.mark.parametrize("part", PARTS[1:])
def test_without_another_part_the_site_is_degraded(
    client: Client, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    def down() -> str:
        raise ConnectionError

    monkeypatch.setattr(health, f"_{part}", down)
    response = client.get("/readyz")
    assert (response.status_code, response.json()["status"], response.json()[part]) == (
        200,
        "degraded",
        "down",
    )


def test_a_process_that_shuts_down_is_not_ready(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    shutting_down = threading.Event()
    shutting_down.set()
    monkeypatch.setattr(health, "shutting_down", shutting_down)
    response = client.get("/readyz")
    assert (response.status_code, response.json()["status"]) == (503, "ending")


def test_an_unreachable_redis_and_broker_are_reported_as_down(client: Client, settings: Any) -> None:
    settings.REDIS_URL = settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    response = client.get("/readyz")
    assert response.status_code == 200
    assert response.json()["channel_layer"] == response.json()["broker"] == "down"


def test_a_part_that_does_not_answer_is_reported_within_the_time_limit(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()

    def hangs() -> str:
        released.wait(20)
        return "ok"

    monkeypatch.setattr(health, "_broker", hangs)
    monkeypatch.setattr(health, "SECONDS", 0.2)
    started = time.monotonic()
    try:
        response = client.get("/readyz")
    finally:
        released.set()
    assert time.monotonic() - started < 5
    assert (response.status_code, response.json()["broker"]) == (200, "down")
