"""The HTTP door: addresses, formats, resources and the OpenAPI page."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from drf_spectacular.validation import validate_schema

from agent.tools.registry import TOOLS
from agent.web.authentication import key_issue
from inventory.models import Medication
from stores.models import Store

PROBLEM = ["type", "title", "status", "detail"]

pytestmark = pytest.mark.django_db

Get = Callable[..., Any]


@pytest.fixture
def headers(demo: None, settings: Any) -> dict[str, str]:
    rates = {"DEFAULT_THROTTLE_RATES": {"key": "1000000/min"}}
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, **rates}
    return {"authorization": f"Bearer {key_issue(name='tests', scopes=['tools', 'patients'])}"}


@pytest.fixture
def get(client: Client, headers: dict[str, str]) -> Get:
    def fetch(address: str, **query: Any) -> Any:
        return client.get(address, query, headers=headers)

    return fetch


def post(
    client: Client, headers: dict[str, str], name: str, body: Any, kind: str = "application/json"
) -> Any:
    return client.post(f"/api/v1/tools/{name}/", json.dumps(body), content_type=kind, headers=headers)


class TestFormats:
    def test_utf_8_is_not_escaped(self, client: Client, headers: dict[str, str]) -> None:
        response = post(client, headers, "get_medication_by_name", {"medication_name": "אקמול"})
        assert response["Content-Type"] == "application/json"
        assert "פרצטמול".encode() in response.content

    def test_an_answer_is_in_the_language_that_the_client_accepts(
        self, client: Client, headers: dict[str, str]
    ) -> None:
        names = {}
        for accepted in ("he", "he-IL,en;q=0.5", "en;q=0.9,he;q=0.1", "fr,he;q=0.4", "fr", "", ",,;q=x"):
            response = post(
                client, headers | {"accept-language": accepted}, "get_medication_info", {"query": "Advil"}
            )
            names[accepted] = response.json()["medication"]["name"]
        assert [name == "איבופרופן" for name in names.values()] == [
            True,
            True,
            False,
            True,
            False,
            False,
            False,
        ]

    @pytest.mark.parametrize("accept", ["text/html", "application/xml", "nonsense"])
    def test_a_response_is_json_whatever_the_client_accepts(
        self, client: Client, headers: dict[str, str], accept: str
    ) -> None:
        response = post(client, headers | {"accept": accept}, "check_stock", {"medication_query": "Advil"})
        assert (response.status_code, response["Content-Type"]) == (200, "application/json")

    @pytest.mark.parametrize(
        "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
    )
    def test_a_body_that_is_not_json_is_refused(
        self, client: Client, headers: dict[str, str], kind: str
    ) -> None:
        response = post(client, headers, "check_stock", {"medication_query": "Advil"}, kind)
        assert response.status_code == 415
        assert list(response.json()) == PROBLEM

    def test_a_content_type_with_a_charset_is_accepted(self, client: Client, headers: dict[str, str]) -> None:
        kind = "application/json; charset=utf-8"
        assert post(client, headers, "check_stock", {"medication_query": "Advil"}, kind).status_code == 200

    @pytest.mark.parametrize(
        "address", ["tools/nonsense/", "tools/CHECK_STOCK/", "tools/check_stock", "nonsense/", "tools/a/b/"]
    )
    @pytest.mark.parametrize("method", ["get", "post"])
    def test_an_unknown_address_is_not_found(
        self, client: Client, headers: dict[str, str], address: str, method: str
    ) -> None:
        response = getattr(client, method)(f"/api/v1/{address}", headers=headers)
        assert response.status_code == 404
        assert list(response.json()) == PROBLEM

    @pytest.mark.parametrize("method", ["get", "put", "patch", "delete"])
    def test_a_tool_accepts_only_post(self, client: Client, headers: dict[str, str], method: str) -> None:
        response = getattr(client, method)("/api/v1/tools/check_stock/", headers=headers)
        assert (response.status_code, list(response.json())) == (405, PROBLEM)
        assert "POST" in response["Allow"]

    def test_head_and_options_are_answered(self, client: Client, headers: dict[str, str]) -> None:
        head = client.head("/api/v1/stores/", headers=headers)
        assert (head.status_code, head.content) == (200, b"")
        options = client.options("/api/v1/tools/check_stock/", headers=headers)
        assert options.status_code == 200 and "POST" in options["Allow"]

    def test_patient_data_is_not_cached(self, client: Client, headers: dict[str, str]) -> None:
        body = {"user_identifier": "david.cohen@example.com", "action": "LIST"}
        assert post(client, headers, "prescription_management", body)["Cache-Control"] == "no-store"


class TestResources:
    def test_the_list_of_tools_has_every_tool(self, get: Get) -> None:
        tools = get("/api/v1/tools/").json()["tools"]
        assert [entry["function"]["name"] for entry in tools] == [tool.name for tool in TOOLS]

    def test_medications_are_found_by_a_search(self, get: Get) -> None:
        found = get("/api/v1/medications/", q="PainAway").json()
        assert (found["count"], found["next"], found["previous"]) == (1, None, None)
        (row,) = found["results"]
        assert (row["id"], row["name_he"], row["ingredients"]) == (7, "פיינאוויי", ["Ibuprofen"])

    def test_a_long_list_comes_in_pages(self, get: Get, client: Client, headers: dict[str, str]) -> None:
        first = get("/api/v1/medications/", limit=2).json()
        assert first["count"] == Medication.objects.count() and first["previous"] is None
        assert [row["id"] for row in first["results"]] == [1, 2]
        second = client.get(first["next"], headers=headers).json()
        assert [row["id"] for row in second["results"]] == [3, 4]
        assert client.get(second["previous"], headers=headers).json() == first
        last = get("/api/v1/medications/", limit=2, offset=first["count"] - 1).json()
        assert len(last["results"]) == 1 and last["next"] is None
        assert get("/api/v1/medications/", offset=100_000).json()["results"] == []

    def test_more_rows_need_no_more_queries(self, get: Get, django_assert_max_num_queries: Any) -> None:
        with django_assert_max_num_queries(6):
            assert len(get("/api/v1/medications/", limit=13).json()["results"]) == 13

    def test_the_list_of_stores_has_every_open_store(self, get: Get) -> None:
        results = get("/api/v1/stores/").json()["results"]
        assert [row["id"] for row in results] == [1, 101, 102, 103, 104]
        assert {row["km"] for row in results} == {None}
        assert results[1]["phone"].startswith("+972")

    def test_stores_are_sorted_by_distance_from_a_place(self, get: Get) -> None:
        found = get("/api/v1/stores/", near="32.054,34.756").json()
        assert [row["id"] for row in found["results"]] == [104, 103, 102, 101]
        assert found["results"][0]["km"] == 0 and found["results"][1]["km"] == pytest.approx(1.25, abs=0.1)
        assert found["count"] == 4

    def test_a_closed_store_is_not_listed(self, get: Get) -> None:
        Store.objects.filter(pk=104).update(is_active=False)
        assert 104 not in [row["id"] for row in get("/api/v1/stores/").json()["results"]]
        assert 104 not in [row["id"] for row in get("/api/v1/stores/", near="32,34").json()["results"]]

    @pytest.mark.parametrize("ref", ["1", "med-1"])
    def test_stock_of_a_medication_is_listed_by_store(self, get: Get, ref: str) -> None:
        both = get("/api/v1/stock/", medication=ref, store=101).json()["results"]
        assert [(row["store"], row["medication"], row["quantity"]) for row in both] == [(101, 1, 5)]
        assert {row["store"] for row in get("/api/v1/stock/", medication=ref).json()["results"]} == {
            1,
            101,
            102,
            103,
            104,
        }
        assert {row["store"] for row in get("/api/v1/stock/", store=103).json()["results"]} == {103}

    @pytest.mark.parametrize("ref", ["nonsense", "999999", "-1", "%", ""])
    def test_stock_of_an_unknown_medication_is_not_found(self, get: Get, ref: str) -> None:
        assert get("/api/v1/stock/", medication=ref).json()["results"] == []

    @pytest.mark.parametrize(
        ("address", "query", "field"),
        [
            ("medications", {"limit": "0"}, "limit"),
            ("medications", {"limit": "201"}, "limit"),
            ("medications", {"limit": "ten"}, "limit"),
            ("medications", {"offset": "-1"}, "offset"),
            ("medications", {"offset": "1" * 40}, "offset"),
            ("medications", {"q": "x" * 501}, "q"),
            ("medications", {"q": "a\x00b"}, "q"),
            ("stores", {"near": "here"}, "near"),
            ("stores", {"near": "91,0"}, "near"),
            ("stores", {"near": "0,181"}, "near"),
            ("stores", {"near": "nan,nan"}, "near"),
            ("stores", {"near": "32.0"}, "near"),
            ("stock", {"store": "x"}, "store"),
            ("stock", {"store": "-1"}, "store"),
            ("stock", {"store": str(2**63)}, "store"),
        ],
    )
    def test_a_bad_query_names_its_field(
        self, get: Get, address: str, query: dict[str, str], field: str
    ) -> None:
        response = get(f"/api/v1/{address}/", **query)
        assert response.status_code == 400
        assert [error["field"] for error in response.json()["errors"]] == [field]


class TestOpenApi:
    def test_the_schema_is_valid_and_complete(self, client: Client) -> None:
        schema = json.loads(client.get("/api/schema/?format=json").content)
        validate_schema(schema)
        for tool in TOOLS:
            operation = schema["paths"][f"/api/v1/tools/{tool.name}/"]["post"]
            assert {"200", "400", "401", "403", "429"} <= set(operation["responses"])
            assert operation["security"] == [{"key": []}]
        assert schema["components"]["securitySchemes"]["key"] == {"type": "http", "scheme": "bearer"}
        assert "/api/v1/tools/{name}/" not in schema["paths"]

    def test_the_documentation_page_loads_nothing_from_other_sites(self, client: Client) -> None:
        response = client.get("/api/docs/")
        assert response.status_code == 200
        assert b"/static/drf_spectacular_sidecar/" in response.content
        assert b"https://" not in response.content.replace(b"https://testserver", b"")


def test_a_running_process_reports_that_it_is_alive(client: Client) -> None:
    response = client.get("/healthz")
    assert (response.status_code, response.content) == (200, b"ok")
