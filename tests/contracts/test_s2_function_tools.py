"""S2 (function-tools.md): every example, field, reason and fallback rule, at both doors."""

from typing import Any

import pytest

from agent.tools.base import ToolContext
from agent.tools.registry import call_tool
from inventory.models import LeafletSection, Medication, StockLevel
from stores.geo import Point
from stores.models import Store

pytestmark = pytest.mark.django_db

NOT_FOUND = {"ok": False, "reason": "MED_NOT_FOUND"}
TALK = ToolContext(actor="chat:tests", channel="chat", language="en")


def said(**more: Any) -> ToolContext:
    return ToolContext(**{**vars(TALK), **more})


class TestGetMedicationInfo:
    def test_the_documented_example(self, call: Any) -> None:
        result = call("get_medication_info", query="אקמול")
        assert list(result) == ["ok", "medication", "matchedBy"]
        assert (result["ok"], result["matchedBy"]) == (True, "alias")
        medication = result["medication"]
        assert list(medication) == ["id", "name", "activeIngredient", "prescriptionRequired", "labelUsage"]
        assert medication["id"] == "med-6"
        assert medication["name"] == "Paracetamol"
        assert medication["activeIngredient"] == "Paracetamol (Acetaminophen)"
        assert medication["prescriptionRequired"] is False
        assert len(medication["labelUsage"]) > 20

    @pytest.mark.parametrize(
        ("query", "id_", "by"),
        [
            ("Ibuprofen", "med-1", "name"),
            ("Advil", "med-1", "alias"),
            ("אדוויל", "med-1", "alias"),
            ("loratadine", "med-12", "ingredient"),
            ("Paracetamol", "med-6", "name"),
            ("פרצטמול", "med-6", "name"),
        ],
    )
    def test_a_query_may_be_a_name_an_alias_or_an_ingredient(
        self, call: Any, query: str, id_: str, by: str
    ) -> None:
        result = call("get_medication_info", query=query)
        assert (result["medication"]["id"], result["matchedBy"]) == (id_, by)

    def test_a_hebrew_request_is_answered_in_hebrew(self, call: Any) -> None:
        medication = call("get_medication_info", accept="he", query="Tylenol")["medication"]
        assert medication["name"] == "פרצטמול"
        assert any("א" <= letter <= "ת" for letter in medication["labelUsage"])

    def test_a_missing_leaflet_text_refers_to_a_pharmacist(self, call: Any) -> None:
        LeafletSection.objects.filter(medication=6, kind="use").delete()
        usage = call("get_medication_info", query="Paracetamol")["medication"]["labelUsage"]
        assert usage == "No usage text on file. Ask a pharmacist."

    @pytest.mark.parametrize("query", ["xyzzy", "", "  ", "it", "%", "ibu", "ibuprofin"])
    def test_an_unknown_or_ambiguous_name_is_not_found(self, call: Any, query: str) -> None:
        assert call("get_medication_info", query=query) == NOT_FOUND

    @pytest.mark.parametrize("tool", ["get_medication_info", "check_prescription_requirement"])
    @pytest.mark.parametrize("query", ["", "it", "And does it require a prescription?"])
    def test_a_medication_of_the_conversation_is_used_when_none_is_named(
        self, demo: None, tool: str, query: str
    ) -> None:
        result = call_tool(tool, {"query": query}, said(context_medications=(2,))).result
        assert result["ok"] is True
        assert result["medication"]["id"] == "med-2"
        assert result.get("matchedBy", "context") == "context"
        assert result["prescriptionRequired" if "prescriptionRequired" in result else "medication"]

    @pytest.mark.parametrize("tool", ["get_medication_info", "check_prescription_requirement"])
    def test_two_medications_in_the_conversation_are_ambiguous(self, demo: None, tool: str) -> None:
        assert call_tool(tool, {"query": "it"}, said(context_medications=(1, 2))).result == NOT_FOUND

    def test_a_named_medication_is_preferred_to_the_conversations(self, demo: None) -> None:
        outcome = call_tool("get_medication_info", {"query": "Advil"}, said(context_medications=(2,)))
        assert outcome.result["medication"]["id"] == "med-1"

    def test_an_ambiguous_name_is_not_resolved_from_the_conversation(self, demo: None) -> None:
        outcome = call_tool("get_medication_info", {"query": "ibu"}, said(context_medications=(2,)))
        assert outcome.result == NOT_FOUND
        assert len(outcome.evidence["candidates"]) > 1


class TestCheckPrescriptionRequirement:
    def test_the_documented_example(self, call: Any) -> None:
        assert call("check_prescription_requirement", query="Advil") == {
            "ok": True,
            "medication": {"id": "med-1", "name": "Ibuprofen"},
            "prescriptionRequired": False,
        }

    @pytest.mark.parametrize(
        ("query", "required"), [("אמוקסיצילין", True), ("Metformin", True), ("Zyrtec", False)]
    )
    def test_the_prescription_requirement_is_returned(self, call: Any, query: str, required: bool) -> None:
        assert call("check_prescription_requirement", query=query)["prescriptionRequired"] is required

    def test_an_unknown_name_is_not_found(self, call: Any) -> None:
        assert call("check_prescription_requirement", query="xyzzy") == NOT_FOUND


class TestCheckStock:
    def test_the_documented_example(self, call: Any) -> None:
        result = call("check_stock", medication_query="Advil", store_query="Jaffa", show_all_stores=False)
        assert result == {
            "ok": True,
            "medication": {
                "id": "med-1",
                "name": "Ibuprofen",
                "activeIngredient": "Ibuprofen",
                "prescriptionRequired": False,
            },
            "requestedStore": {"storeLabel": "Jaffa, Tel Aviv", "qty": 0},
            # Nearest first: the document's example has these two the wrong way round.
            "stores": [
                {"storeLabel": "Florentin, Tel Aviv", "qty": 3},
                {"storeLabel": "Ramat Aviv, Tel Aviv", "qty": 5},
            ],
            "meta": {"showAllStores": False},
        }
        assert list(result) == ["ok", "medication", "requestedStore", "stores", "meta"]

    @pytest.mark.parametrize(
        "place", ["Jaffa", "יפו", "ביפו", "jafa", "104", "יפו, תל אביב", "Jaffa, Tel Aviv", "JAFFA"]
    )
    def test_jaffa_is_always_store_104(self, call: Any, place: str) -> None:
        result = call("check_stock", medication_query="Nurofen", store_query=place)
        assert result["requestedStore"] == {"storeLabel": "Jaffa, Tel Aviv", "qty": 1}
        assert "Jaffa, Tel Aviv" not in [store["storeLabel"] for store in result["stores"]]

    @pytest.mark.parametrize("place", ["Ramat Aviv", "ברמת אביב", "101", "רמת אביב"])
    def test_a_branch_is_found_by_its_other_names(self, call: Any, place: str) -> None:
        result = call("check_stock", medication_query="Advil", store_query=place)
        assert result["requestedStore"] == {"storeLabel": "Ramat Aviv, Tel Aviv", "qty": 5}

    @pytest.mark.parametrize("place", ["תל אביב-יפו", "Tel Aviv", "תל אביב", "TLV", 'ת"א'])
    def test_a_city_lists_its_branches(self, call: Any, place: str) -> None:
        result = call("check_stock", medication_query="Advil", store_query=place)
        assert result["requestedStore"] is None
        assert {store["storeLabel"]: store["qty"] for store in result["stores"]} == {
            "Ramat Aviv, Tel Aviv": 5,
            "Florentin, Tel Aviv": 3,
        }

    def test_a_city_with_all_stores_lists_every_branch(self, call: Any) -> None:
        result = call("check_stock", medication_query="Advil", store_query="Tel Aviv", show_all_stores=True)
        assert len(result["stores"]) == 4

    @pytest.mark.parametrize("place", [None, "", "  "])
    def test_without_a_store_branches_are_sorted_from_the_reference_branch(
        self, call: Any, place: str | None
    ) -> None:
        """Without a place the order is that from the reference branch (Ramat Aviv)."""
        result = call("check_stock", medication_query="Advil", store_query=place)
        assert result["requestedStore"] is None
        assert [store["storeLabel"] for store in result["stores"]] == [
            "Ramat Aviv, Tel Aviv",
            "Florentin, Tel Aviv",
        ]

    def test_show_all_adds_branches_without_stock(self, call: Any) -> None:
        result = call("check_stock", medication_query="Advil", show_all_stores=True)
        assert result["meta"] == {"showAllStores": True}
        assert {store["storeLabel"]: store["qty"] for store in result["stores"]} == {
            "Ramat Aviv, Tel Aviv": 5,
            "Dizengoff, Tel Aviv": 0,
            "Florentin, Tel Aviv": 3,
            "Jaffa, Tel Aviv": 0,
        }

    def test_show_all_does_not_repeat_the_requested_store(self, call: Any) -> None:
        result = call("check_stock", medication_query="Advil", store_query="Jaffa", show_all_stores=True)
        assert [store["storeLabel"] for store in result["stores"]] == [
            "Florentin, Tel Aviv",
            "Dizengoff, Tel Aviv",
            "Ramat Aviv, Tel Aviv",
        ]

    def test_the_online_store_is_not_listed_among_branches(self, call: Any) -> None:
        labels = [
            s["storeLabel"]
            for s in call("check_stock", medication_query="Omeprazole", show_all_stores=True)["stores"]
        ]
        assert len(labels) == 4 and "Online store" not in labels

    def test_the_online_store_can_be_requested(self, call: Any) -> None:
        result = call("check_stock", medication_query="Omeprazole", store_query="1")
        assert result["requestedStore"] == {"storeLabel": "Online store", "qty": 75}

    def test_without_stock_anywhere_no_branch_is_listed(self, call: Any) -> None:
        result = call("check_stock", medication_query="Amoxicillin", store_query="Jaffa")
        assert (result["requestedStore"]["qty"], result["stores"]) == (0, [])

    @pytest.mark.parametrize("flag", [None, False])
    def test_without_the_flag_not_all_stores_are_shown(self, call: Any, flag: bool | None) -> None:
        assert call("check_stock", medication_query="Advil", show_all_stores=flag)["meta"] == {
            "showAllStores": False
        }

    def test_a_hebrew_request_is_answered_in_hebrew(self, call: Any) -> None:
        result = call("check_stock", accept="he", medication_query="Advil", store_query="Jaffa")
        assert result["medication"]["name"] == "איבופרופן"
        assert result["requestedStore"]["storeLabel"] == "יפו, תל אביב"
        assert result["stores"][0]["storeLabel"] == "פלורנטין, תל אביב"

    def test_an_unknown_medication_is_not_found(self, call: Any) -> None:
        assert call("check_stock", medication_query="xyzzy", store_query="Jaffa") == NOT_FOUND

    def test_a_city_without_a_store_is_not_served(self, call: Any) -> None:
        assert call("check_stock", medication_query="Advil", store_query="NYC") == {
            "ok": False,
            "reason": "CITY_NOT_SERVED",
            "city": "NYC",
            "message": "We don’t have stores in NYC.",
        }

    @pytest.mark.parametrize("place", ["Haifa", "חיפה", "999", "Atlantis", "רחוב יפו", "%"])
    def test_any_place_without_a_store_is_not_served(self, call: Any, place: str) -> None:
        result = call("check_stock", accept="he", medication_query="Advil", store_query=place)
        assert list(result) == ["ok", "reason", "city", "message"]
        assert (result["ok"], result["reason"], result["city"]) == (False, "CITY_NOT_SERVED", place)
        assert place in result["message"] and result["message"].startswith("אין לנו סניפים")

    @pytest.mark.parametrize(
        ("message", "label"),
        [
            ("יש לכם אדוויל ביפו?", "Jaffa, Tel Aviv"),
            ("Do you have Advil in Florentin?", "Florentin, Tel Aviv"),
            ("איפה יש טיפות?", None),
            ("Advil in Jaffa or Florentin?", None),
            ("I need 101 of them", None),
        ],
    )
    def test_the_store_is_inferred_from_the_message(
        self, demo: None, message: str, label: str | None
    ) -> None:
        result = call_tool("check_stock", {"medication_query": "Advil"}, said(message=message)).result
        assert (result["requestedStore"] or {"storeLabel": None})["storeLabel"] == label

    def test_a_place_in_the_message_without_a_store_is_not_served(self, demo: None) -> None:
        outcome = call_tool("check_stock", {"medication_query": "Advil"}, said(message="Advil in Haifa?"))
        assert outcome.code == "CITY_NOT_SERVED"

    def test_a_named_store_is_preferred_to_the_messages(self, demo: None) -> None:
        arguments = {"medication_query": "Advil", "store_query": "Florentin"}
        result = call_tool("check_stock", arguments, said(message="and in Jaffa?")).result
        assert result["requestedStore"]["storeLabel"] == "Florentin, Tel Aviv"

    def test_the_medication_of_the_conversation_is_used(self, demo: None) -> None:
        arguments = {"medication_query": "it", "store_query": "Jaffa"}
        result = call_tool("check_stock", arguments, said(context_medications=(1,))).result
        assert result["medication"]["id"] == "med-1"

    def test_distances_are_measured_from_a_shared_location(self, demo: None) -> None:
        outcome = call_tool(
            "check_stock", {"medication_query": "Cetirizine"}, said(origin=Point(32.05, 34.75))
        )
        kilometres = [store["km"] for store in outcome.evidence["stores"]]
        assert kilometres == sorted(kilometres) and kilometres[0] < 1
        assert outcome.evidence["stores"][0]["label_en"] == "Jaffa, Tel Aviv"

    def test_without_a_place_there_are_no_kilometres(self, demo: None) -> None:
        outcome = call_tool("check_stock", {"medication_query": "Cetirizine"}, TALK)
        assert {store["km"] for store in outcome.evidence["stores"]} == {None}

    def test_a_city_with_one_branch_selects_that_branch(self, call: Any) -> None:
        haifa = Store.objects.get(pk=104).locality.__class__.objects.get(slug="haifa")
        store = Store.objects.create(id=201, name_en="Carmel, Haifa", locality=haifa, lat=32.8, lng=34.98)
        StockLevel.objects.create(store=store, medication=Medication.objects.get(pk=1), quantity=4)
        result = call("check_stock", medication_query="Advil", store_query="Haifa")
        assert result["requestedStore"] == {"storeLabel": "Carmel, Haifa", "qty": 4}
