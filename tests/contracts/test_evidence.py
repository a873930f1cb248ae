"""What an answer may use beyond the contract's fields, and what a stored call holds."""

import json
from typing import Any

import pytest

from agent.models import ToolCall
from agent.tools.base import ToolContext
from agent.tools.registry import call_tool, toolcall_row
from inventory.models import Medication, StockLevel
from prescriptions.models import Patient
from stores.geo import Point

pytestmark = pytest.mark.django_db

TALK = ToolContext(actor="chat:tests", channel="chat", language="en")


def evidence(name: str, /, context: ToolContext = TALK, **arguments: Any) -> dict[str, Any]:
    found = call_tool(name, arguments, context).evidence
    assert json.loads(json.dumps(found)) == found
    return found


def test_a_found_medication_has_its_facts(demo: None) -> None:
    found = evidence("get_medication_by_name", medication_name="Advil")
    assert (found["by"], found["whole_word"]) == ("alias", True)
    medication = found["medication"]
    assert (medication["id"], medication["label_he"], medication["rx"]) == (1, "איבופרופן", False)
    assert (medication["form"], medication["strength"], medication["schedule"]) == ("tablet", "200 mg", "")
    assert medication["price"] is None or "." in medication["price"]
    assert medication["substitution"] == "allowed" and medication["category_en"]
    assert {"use", "dosage", "warnings"} <= set(found["leaflet"])
    dosage = found["leaflet"]["dosage"]
    assert dosage["en"] and dosage["he"] and dosage["source_en"] and len(dosage["updated_on"]) == 10


def test_an_ambiguous_or_misspelt_name_has_candidates(demo: None) -> None:
    candidates = evidence("get_medication_by_name", medication_name="ibu")["candidates"]
    assert {candidate["id"] for candidate in candidates} >= {1, 8}
    assert all(candidate["form"] and candidate["strength"] for candidate in candidates)
    for name, key in (
        ("get_medication_by_name", "medication_name"),
        ("get_medication_info", "query"),
        ("check_stock", "medication_query"),
    ):
        assert evidence(name, **{key: "ibuprofin"})["near"][0]["id"] == 1


def test_other_systems_get_no_near_misses(system: ToolContext) -> None:
    assert evidence("get_medication_info", system, query="ibuprofin")["near"] == []


def test_stock_of_one_store_has_its_level_and_dates(demo: None) -> None:
    found = evidence("check_inventory", medication_id=4)
    assert (found["low"], found["threshold"], found["restock_on"]) == (True, 10, None)
    assert found["store"]["kind"] == "online" and "T" in found["updated_at"]
    assert evidence("check_inventory", medication_id=5)["low"] is False
    assert evidence("check_inventory", medication_id=2)["restock_on"]


def test_branches_are_sorted_by_distance(demo: None) -> None:
    found = evidence("check_stock", medication_query="Advil", store_query="Jaffa")
    assert found["place"] == "store" and found["requested"]["quantity"] == 0
    florentin, ramat_aviv = found["stores"]
    assert (florentin["store_id"], ramat_aviv["store_id"]) == (103, 101)
    assert florentin["km"] == pytest.approx(1.2, abs=0.1) and ramat_aviv["km"] == pytest.approx(8, abs=0.5)
    for store in found["stores"]:
        assert store["open_now"] in {True, False} and store["phone"] and store["low"] is True
        assert isinstance(store["hours_today"], list)


def test_other_systems_get_no_opening_hours(system: ToolContext) -> None:
    assert "open_now" not in evidence("check_stock", system, medication_query="Advil")["stores"][0]


def test_a_place_without_a_branch_has_its_nearest_branch(demo: None) -> None:
    found = evidence("check_stock", medication_query="Advil", store_query="Haifa")
    assert found["nearest"]["label_en"] == "Ramat Aviv, Tel Aviv" and 70 < found["nearest"]["km"] < 95
    assert found["nearest_stocked"]["quantity"] == 5
    unknown = evidence("check_stock", medication_query="Advil", store_query="Atlantis")
    assert (unknown["nearest"], unknown["nearest_stocked"]) == (None, None)


def test_a_misspelt_place_is_offered_not_assumed(demo: None) -> None:
    outcome = call_tool("check_stock", {"medication_query": "Advil", "store_query": "Dizengof"}, TALK)
    if not outcome.ok:
        assert outcome.evidence["near_place"]["label_en"] == "Dizengoff, Tel Aviv"


def test_a_city_without_stock_has_no_branches_to_list(demo: None) -> None:
    StockLevel.objects.filter(medication=1, store__gt=1).update(quantity=0)
    found = evidence("check_stock", medication_query="Advil", store_query="Tel Aviv")
    assert (found["stores"], found["elsewhere"], found["city_he"]) == ([], [], found["city_he"])


def test_kilometres_are_measured_from_a_shared_location(demo: None) -> None:
    origin = ToolContext(**{**vars(TALK), "origin": Point(32.075, 34.775)})
    stores = evidence("check_stock", origin, medication_query="Zyrtec", store_query="Tel Aviv")["stores"]
    assert (stores[0]["store_id"], stores[0]["km"]) == (102, 0.0)


def test_equivalents_have_the_total_stock(demo: None) -> None:
    found = evidence("inventory_check", query="PainAway", language="en")
    assert (found["totals"], found["more"]) == ({"7": 0}, False)
    found = evidence("inventory_find_equivalent", med_id="7", language="en")
    assert found["totals"]["8"] == 25 and found["substitution"] == "allowed"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("check_inventory", {"medication_id": 0}),
        ("inventory_check", {"query": "Oxycodone", "language": "en"}),
        ("check_stock", {"medication_query": "Oxycodone"}),
    ],
)
def test_controlled_medicines_are_marked(demo: None, tool: str, arguments: dict[str, Any]) -> None:
    oxycodone = Medication.objects.get(name_en="Oxycodone")
    if "medication_id" in arguments:
        arguments = {"medication_id": oxycodone.pk}
    controlled = evidence(tool, **arguments)["controlled"]
    assert controlled is True or controlled == [oxycodone.pk]


def test_every_pair_has_its_level_and_kind(demo: None) -> None:
    warfarin = Medication.objects.get(name_en="Warfarin").pk
    found = evidence("interaction_check", med_ids=[1, warfarin, 7], language="en")
    assert {(pair["a"], pair["b"], pair["level"], pair["kind"]) for pair in found["pairs"]} == {
        (1, warfarin, "avoid", "listed"),
        (warfarin, 7, "avoid", "listed"),
        (1, 7, "caution", "same_ingredient"),
    }
    assert found["medications"]["7"] == {"en": "PainAway", "he": "פיינאוויי"}
    assert evidence("interaction_check", med_ids=["xx"], language="en")["unknown"] == ["xx"]


def test_a_patients_evidence_has_no_names_or_contacts(demo: None) -> None:
    david = Patient.objects.get(mrn="10000101")
    context = ToolContext(**{**vars(TALK), "patient": david})
    listed = evidence(
        "prescription_management", context, user_identifier="david.cohen@example.com", action="LIST"
    )
    verified = evidence(
        "prescription_verify", context, patient_id="10000101", med_id="2", intent="refill", language="en"
    )
    assert listed["prescriptions"][0]["presc_id"] == 1 == verified["prescription"]["presc_id"]
    for secret in ("David", "Cohen", "דוד", "david", "1234567", "10000101"):
        assert secret not in json.dumps([listed, verified], ensure_ascii=False)


def test_a_call_over_http_is_stored(post: Any, system: ToolContext) -> None:
    post("prescription_management", {"user_identifier": "david.cohen@example.com", "action": "LIST"})
    post("check_stock", {"medication_query": "xyzzy 050-1234567"})
    first, second = ToolCall.objects.all()
    assert (first.name, first.ok, first.code, first.actor) == (
        "prescription_management",
        True,
        "",
        system.actor,
    )
    assert first.api_key == system.api_key and first.arguments == {"user_identifier": "***", "action": "LIST"}
    assert first.evidence["prescriptions"][0]["presc_id"] == 1
    assert (second.ok, second.code) == (False, "MED_NOT_FOUND")
    assert second.arguments == {"medication_query": "xyzzy ***"}
    assert first.duration_ms >= 0 and first.run is None


def test_a_call_of_the_chat_is_not_stored_by_the_tool(demo: None) -> None:
    row = toolcall_row(call_tool("check_stock", {"medication_query": "Advil"}, TALK), TALK)
    assert row.pk is None and row.actor == "chat:tests" and ToolCall.objects.count() == 0
