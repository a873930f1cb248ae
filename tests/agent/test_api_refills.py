"""Refills over HTTP: requested for a named patient, safe to repeat, and read afterwards."""

import json
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.utils import timezone

from agent.models import IdempotentCall
from agent.web.authentication import key_issue
from prescriptions.connectors.registry import connectors
from prescriptions.models import AuditEvent, Handoff, RefillRequest, SimulatedOrder

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/refills/"
DAVID = {"patient_id": "10000101", "prescription_id": 2, "pickup": 1}
LEAH = {"patient_id": "10000124", "prescription_id": 17, "pickup": "delivery"}
Ask = Callable[..., Any]


def of(settings: Any, scopes: list[str]) -> dict[str, str]:
    rates = {"DEFAULT_THROTTLE_RATES": {"key": "1000000/min"}}
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, **rates}
    connectors.cache_clear()
    return {"authorization": f"Bearer {key_issue(name='ward 3', scopes=scopes)}"}


@pytest.fixture
def headers(demo: None, settings: Any) -> dict[str, str]:
    return of(settings, ["patients"])


@pytest.fixture
def ask(client: Client, headers: dict[str, str]) -> Ask:
    def send(body: Any, key: str | None = "", **more: str) -> Any:
        named = {} if key is None else {"Idempotency-Key": key or uuid.uuid4().hex}
        return client.post(
            ADDRESS, json.dumps(body), content_type="application/json", headers={**headers, **named, **more}
        )

    return send


class TestRequest:
    def test_a_refill_that_passes_is_dispensed(self, ask: Ask) -> None:
        response = ask(DAVID)
        assert (response.status_code, response["Cache-Control"]) == (201, "no-store")
        body = response.json()
        row = RefillRequest.objects.get()
        assert body == {
            "number": row.number,
            "patient_id": "10000101",
            "prescription_id": 2,
            "state": "Refill_Dispensed",
            "path": ["Collect_Refill_Request", "Rx_Safety_Check", "Backend_Check", "Refill_Dispensed"],
            "outcome": "dispensed",
            "reason": None,
            "handoff": None,
            "order_key": row.order_key,
            "pickup": 1,
            "requested_at": row.requested_at.isoformat(),
            "updated_at": row.updated_at.isoformat(),
            "quantity": 60,
            "days_supply": 30,
            "fulfilment": "preparing",
        }
        assert SimulatedOrder.objects.get().key == row.order_key

    def test_one_that_needs_a_person_names_reason_and_handoff(self, ask: Ask) -> None:
        body = ask(LEAH).json()
        assert (body["state"], body["outcome"], body["reason"], body["pickup"]) == (
            "Escalation_Complete",
            None,
            "major_interaction",
            "delivery",
        )
        assert body["handoff"] == Handoff.objects.get().number

    def test_a_second_request_is_a_conflict_that_names_the_first(self, ask: Ask) -> None:
        first = ask(LEAH).json()["number"]
        response = ask(LEAH)
        assert (response.status_code, response.json()["number"]) == (409, first)

    @pytest.mark.parametrize(
        "change",
        [
            {"patient_id": "10000102"},
            {"patient_id": "99999999"},
            {"patient_id": "x"},
            {"prescription_id": 999},
            {"prescription_id": -1},
            {"prescription_id": 2**63 - 1},
        ],
    )
    def test_not_theirs_and_not_there_are_the_same(self, ask: Ask, change: dict[str, Any]) -> None:
        response = ask({**DAVID, **change})
        assert response.status_code == 404
        assert response.json()["detail"] == "There is no such prescription of such a patient."
        assert not RefillRequest.objects.exists()

    def test_a_delivery_without_an_address_on_file_is_refused(self, ask: Ask) -> None:
        body = {"patient_id": "10000123", "prescription_id": 12, "pickup": "delivery"}
        response = ask(body)
        assert response.status_code == 400
        assert [error["field"] for error in response.json()["errors"]] == ["pickup"]
        assert not RefillRequest.objects.exists()
        assert ask({**body, "prescription_id": 999}).status_code == 404

    def test_a_store_that_does_not_exist_is_not_found(self, ask: Ask) -> None:
        assert ask({**DAVID, "pickup": 7}).status_code == 404

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"patient_id": 5}, "patient_id"),
            ({"prescription_id": "2"}, "prescription_id"),
            ({"prescription_id": None}, "prescription_id"),
            ({"prescription_id": 2**63}, "prescription_id"),
            ({"quantity": 0}, "quantity"),
            ({"quantity": 10_001}, "quantity"),
            ({"quantity": True}, "quantity"),
            ({"days_supply": 366}, "days_supply"),
            ({"pickup": "home"}, "pickup"),
            ({"pickup": 0}, "pickup"),
            ({"pickup": None}, "pickup"),
            ({"patient_id": "a\x00"}, "patient_id"),
            ({"state": "Refill_Dispensed"}, "state"),
            ({"outcome": "dispensed"}, "outcome"),
        ],
    )
    def test_a_wrong_body_names_its_field(self, ask: Ask, change: dict[str, Any], field: str) -> None:
        response = ask({**DAVID, **change})
        assert response.status_code == 400
        assert {error["field"] for error in response.json()["errors"]} == {field}
        assert not IdempotentCall.objects.exists()

    @pytest.mark.parametrize("body", [[], "x", 5, None])
    def test_a_body_that_is_no_object_is_refused(self, ask: Ask, body: Any) -> None:
        assert ask(body).status_code == 400

    def test_the_call_is_in_the_audit_log(self, ask: Ask) -> None:
        ask(DAVID)
        what = list(AuditEvent.objects.filter(where="http:refills").values_list("what", flat=True))
        assert {"patient_found", "prescription_read", "refill_submitted", "refill_read"} <= set(what)


class TestRepeating:
    @pytest.mark.parametrize("key", [None, " ", "ä", "x" * 256, "a\tb"])
    def test_the_key_is_required(self, ask: Ask, key: str | None) -> None:
        response = ask(DAVID, key)
        assert response.status_code == 400
        assert [error["field"] for error in response.json()["errors"]] == ["Idempotency-Key"]

    def test_the_same_key_and_body_get_the_same_bytes(self, ask: Ask) -> None:
        answers = {(row.status_code, row.content) for row in (ask(LEAH, "k1") for _ in range(5))}
        assert len(answers) == 1 and RefillRequest.objects.count() == 1

    def test_a_conflict_is_repeated_too(self, ask: Ask) -> None:
        ask(LEAH)
        assert {(ask(LEAH, "k1").status_code) for _ in range(3)} == {409}

    def test_the_same_key_with_another_body_is_refused(self, ask: Ask) -> None:
        ask(LEAH, "k1")
        assert [ask({**LEAH, "quantity": 1 + n}, "k1").status_code for n in range(3)] == [422] * 3
        assert RefillRequest.objects.count() == 1

    def test_the_key_of_another_system_is_another_key(self, ask: Ask, settings: Any, client: Client) -> None:
        ask(LEAH, "k1")
        other = of(settings, ["patients"])
        response = client.post(
            ADDRESS, json.dumps(DAVID), content_type="application/json",
            headers={**other, "Idempotency-Key": "k1"},
        )  # fmt: skip
        assert response.status_code == 201

    def test_a_call_that_died_is_done_again_and_has_one_effect(
        self, ask: Ask, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        number = ask(LEAH, "k1").json()["number"]
        IdempotentCall.objects.update(status=None, body="", created_at=timezone.now() - timedelta(seconds=61))
        again = ask(LEAH, "k1")
        assert (again.status_code, again.json()["number"]) == (201, number)

    def test_a_call_that_takes_too_long_says_so(self, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
        ask(LEAH, "k1")
        IdempotentCall.objects.update(status=None)
        monkeypatch.setattr("agent.web.idempotency._WAIT_SECONDS", 0.0)
        assert ask(LEAH, "k1").status_code == 503


class TestReading:
    def test_requests_are_listed_by_patient_and_state(
        self, ask: Ask, client: Client, headers: dict[str, str]
    ) -> None:
        david, leah = ask(DAVID).json()["number"], ask(LEAH).json()["number"]

        def listed(**query: str) -> list[str]:
            response = client.get(ADDRESS, query, headers=headers)
            assert (response.status_code, response["Cache-Control"]) == (200, "no-store")
            return [row["number"] for row in response.json()["results"]]

        assert listed() == [leah, david]
        assert listed(patient_id="10000101") == [david]
        assert listed(patient_id="99999999") == []
        assert listed(state="Escalation_Complete") == [leah]
        assert listed(patient_id="10000101", state="Escalation_Complete") == []
        assert client.get(ADDRESS, {"state": "lost"}, headers=headers).status_code == 400

    def test_more_requests_need_no_more_queries(
        self, ask: Ask, client: Client, headers: dict[str, str], django_assert_max_num_queries: Any
    ) -> None:
        for body in (DAVID, LEAH, {**DAVID, "patient_id": "10000107", "prescription_id": 8}):
            ask(body)
        with django_assert_max_num_queries(14):
            assert client.get(ADDRESS, headers=headers).json()["count"] == 3

    def test_one_is_read_by_its_number(self, ask: Ask, client: Client, headers: dict[str, str]) -> None:
        body = ask(LEAH).json()
        response = client.get(f"{ADDRESS}{body['number']}/", headers=headers)
        assert (response.json(), response["Cache-Control"]) == (body, "no-store")
        for number in ("R-1", "x" * 500, "%"):
            assert client.get(f"{ADDRESS}{number}/", headers=headers).status_code == 404

    @pytest.mark.parametrize("scopes", [None, ["tools"]])
    def test_the_scope_for_patients_is_needed(
        self, client: Client, demo: None, settings: Any, scopes: list[str] | None
    ) -> None:
        headers = {} if scopes is None else of(settings, scopes)
        expected = 401 if scopes is None else 403
        assert client.get(ADDRESS, headers=headers).status_code == expected
        assert client.get(f"{ADDRESS}R-1001/", headers=headers).status_code == expected
        assert (
            client.post(
                ADDRESS, json.dumps(DAVID), content_type="application/json", headers=headers
            ).status_code
            == expected
        )


@pytest.mark.django_db(transaction=True)
def test_simultaneous_requests_have_one_effect(demo_committed: None, settings: Any) -> None:
    """B1 and B2, small: mixed keys, one prescription; each key gets one answer."""
    headers = of(settings, ["patients"])
    barrier = Barrier(12)

    def send(number: int) -> tuple[str, int, bytes]:
        key = f"key-{number % 3}"
        barrier.wait(timeout=20)
        try:
            response = Client().post(
                ADDRESS, json.dumps(DAVID), content_type="application/json",
                headers={**headers, "Idempotency-Key": key},
            )  # fmt: skip
            return key, response.status_code, response.content
        finally:
            connections.close_all()

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(send, range(12)))
    assert len(set(answers)) == 3  # one answer per key, byte for byte
    assert {status for _, status, _ in answers} <= {201, 409}
    assert RefillRequest.objects.filter(outcome="dispensed").count() == 1
    assert SimulatedOrder.objects.count() == 1
