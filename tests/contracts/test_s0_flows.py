"""S0 (flows.md), "Tool Specifications": every example, field, error code, reason and fallback rule, at both doors."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from inventory.models import LeafletSection, Medication, StockLevel
from prescriptions.models import Prescription

pytestmark = pytest.mark.django_db

MEDICATION_FIELDS = [
    "med_id", "name_en", "name_he", "active_ingredients", "dosage_en", "dosage_he", "rx_required", "warnings_en",
    "warnings_he",
]  # fmt: skip
INVENTORY_FIELDS = [
    "med_id", "store_id", "medication_name_en", "medication_name_he", "in_stock", "qty", "restock_eta"
]  # fmt: skip
PRESCRIPTION_FIELDS = [
    "presc_id", "med_id", "medication_name_en", "medication_name_he", "refills_left", "status", "can_refill"
]  # fmt: skip


def in_days(days: int) -> str:
    return (timezone.localdate() + timedelta(days=days)).isoformat()


class TestGetMedicationByName:
    def test_the_documented_example(self, call: Any) -> None:
        result = call("get_medication_by_name", medication_name="Ibuprofen")
        assert list(result) == ["success", "medication"]
        assert result["success"] is True
        medication = result["medication"]
        assert list(medication) == MEDICATION_FIELDS
        assert medication["med_id"] == 1
        assert (medication["name_en"], medication["name_he"]) == ("Ibuprofen", "איבופרופן")
        assert medication["active_ingredients"] == "Ibuprofen 200mg"
        assert medication["rx_required"] is False
        assert "NSAID" in medication["warnings_en"]
        for field in ("dosage_en", "dosage_he", "warnings_en", "warnings_he"):
            assert isinstance(medication[field], str) and len(medication[field]) > 10
        assert "200" in medication["dosage_en"] and 'מ"ג' in medication["dosage_he"]

    def test_several_ingredients_are_listed_with_their_strengths(self, call: Any) -> None:
        result = call("get_medication_by_name", medication_name="Augmentin")
        assert result["medication"]["active_ingredients"] == "Amoxicillin 875mg, Clavulanic acid 125mg"

    @pytest.mark.parametrize(
        ("name", "med_id"),
        [
            ("ibuprofen", 1),
            ("IBUPROFEN", 1),
            ("איבופרופן", 1),
            ("  Ibuprofen ", 1),
            ("Moxypen", 2),
            ("מוקסיפן", 2),
            ("צטיריזין", 5),
            ("Tylenol", 6),
            ("אקמול", 6),
            ("לאקמול", 6),
            ("לוסק", 3),
            ("מטפורמין", 4),
            ("Cetiriz", 5),
            ("טיריזי", 5),
            ("PainAway", 7),
        ],
    )
    def test_an_exact_name_is_preferred_to_an_alias_and_an_alias_to_a_part(
        self, call: Any, name: str, med_id: int
    ) -> None:
        assert call("get_medication_by_name", medication_name=name)["medication"]["med_id"] == med_id

    def test_an_exact_name_is_preferred_to_an_ingredient(self, call: Any) -> None:
        """Ibuprofen is also the ingredient of three brands; only one product is called so."""
        assert call("get_medication_by_name", medication_name="Ibuprofen")["medication"]["med_id"] == 1

    @pytest.mark.parametrize("name", ["xyz", "איןכזאת", "100% sure", "%", "_", "%%", "a_b", "ibuprofin"])
    def test_an_unknown_name_is_not_found(self, call: Any, name: str) -> None:
        assert call("get_medication_by_name", medication_name=name) == {
            "success": False,
            "error_code": "NOT_FOUND",
            "error_message": f"No medication found matching '{name}'",
            "query": name,
        }

    @pytest.mark.parametrize("name", ["", "   ", "\t\n", "\u200b"])
    def test_an_empty_name_is_not_found(self, call: Any, name: str) -> None:
        assert call("get_medication_by_name", medication_name=name) == {
            "success": False,
            "error_code": "NOT_FOUND",
            "error_message": "Medication name cannot be empty",
        }

    def test_an_ambiguous_name_gets_suggestions(self, call: Any) -> None:
        result = call("get_medication_by_name", medication_name="ibu")
        assert list(result) == ["success", "error_code", "error_message", "query", "suggestions"]
        assert (result["success"], result["error_code"], result["query"]) == (False, "AMBIGUOUS", "ibu")
        assert result["error_message"]
        assert len(result["suggestions"]) > 1
        for suggestion in result["suggestions"]:
            assert suggestion.endswith(")") and " (" in suggestion

    def test_at_most_ten_distinct_suggestions(self, call: Any) -> None:
        from inventory.index import index_rebuild

        made = [
            Medication.objects.create(
                name_en="Zzcalm", name_he="זזרוגע", form="tablet", strength=f"{number} mg", is_active=True
            )
            for number in range(1, 13)
        ]
        index_rebuild([medication.pk for medication in made])
        suggestions = call("get_medication_by_name", medication_name="zzcalm")["suggestions"]
        assert len(suggestions) == 10 == len(set(suggestions))
        assert "Zzcalm, tablet 1 mg (זזרוגע)" in suggestions

    def test_a_missing_text_refers_to_a_pharmacist(self, call: Any) -> None:
        LeafletSection.objects.filter(medication=5, kind__in=["dosage", "warnings"]).delete()
        medication = call("get_medication_by_name", medication_name="Cetirizine")["medication"]
        assert medication["dosage_en"] == "No dosage text on file. Ask a pharmacist."
        assert "רוקח" in medication["dosage_he"]
        assert "pharmacist" in medication["warnings_en"] and "רוקח" in medication["warnings_he"]

    def test_a_missing_hebrew_name_is_replaced_by_the_english_one(self, call: Any) -> None:
        Medication.objects.filter(pk=5).update(name_he=None)
        assert (
            call("get_medication_by_name", medication_name="Cetirizine")["medication"]["name_he"]
            == "Cetirizine"
        )


class TestCheckInventory:
    def test_the_documented_example_out_of_stock(self, call: Any) -> None:
        result = call("check_inventory", medication_id=2)
        assert result == {
            "success": True,
            "inventory": {
                "med_id": 2,
                "store_id": 1,
                "medication_name_en": "Amoxicillin",
                "medication_name_he": "אמוקסיצילין",
                "in_stock": False,
                "qty": None,
                "restock_eta": in_days(14),
            },
        }
        assert list(result["inventory"]) == INVENTORY_FIELDS

    def test_a_product_in_stock_has_its_quantity(self, call: Any) -> None:
        inventory = call("check_inventory", medication_id=5)["inventory"]
        assert (inventory["in_stock"], inventory["qty"], inventory["restock_eta"]) == (True, 200, None)

    def test_a_product_in_stock_has_no_restock_date(self, call: Any) -> None:
        StockLevel.objects.filter(medication=4, store=1).update(restock_on=in_days(7))
        inventory = call("check_inventory", medication_id=4)["inventory"]
        assert (inventory["qty"], inventory["restock_eta"]) == (5, None)

    @pytest.mark.parametrize("days", [0, -1, -30])
    def test_a_restock_date_in_the_past_is_not_shown(self, call: Any, days: int) -> None:
        StockLevel.objects.filter(medication=2, store=1).update(restock_on=in_days(days))
        assert call("check_inventory", medication_id=2)["inventory"]["restock_eta"] is None

    @pytest.mark.parametrize("ref", [1, "1", "med-1"])
    def test_an_id_may_be_written_in_every_notation(self, call: Any, ref: Any) -> None:
        assert call("check_inventory", medication_id=ref)["inventory"]["qty"] == 150

    @pytest.mark.parametrize(("store_id", "qty"), [(None, 150), (1, 150), (101, 5), (102, None), (103, 3)])
    def test_without_a_store_the_default_store_is_read(
        self, call: Any, store_id: int | None, qty: int | None
    ) -> None:
        inventory = call("check_inventory", medication_id=1, store_id=store_id)["inventory"]
        assert (inventory["store_id"], inventory["qty"]) == (store_id or 1, qty)

    def test_an_id_is_preferred_to_a_name(self, call: Any) -> None:
        result = call("check_inventory", medication_id=5, medication_name="Ibuprofen", store_id=1)
        assert result["inventory"]["med_id"] == 5

    @pytest.mark.parametrize(
        ("name", "med_id"), [("Cetirizine", 5), ("צטיריזין", 5), ("moxi", 2), ("buprofe", 1), ("Advil", 1)]
    )
    def test_a_name_selects_the_best_match(self, call: Any, name: str, med_id: int) -> None:
        assert call("check_inventory", medication_name=name)["inventory"]["med_id"] == med_id

    def test_a_partial_name_selects_the_first_match(self, call: Any) -> None:
        assert call("check_inventory", medication_name="ibu")["inventory"]["med_id"] > 0

    @pytest.mark.parametrize(
        "arguments", [{}, {"medication_id": None}, {"medication_name": " "}, {"store_id": 1}]
    )
    def test_a_call_without_a_medication_is_invalid(self, call: Any, arguments: dict[str, Any]) -> None:
        result = call("check_inventory", **arguments)
        assert list(result) == ["success", "error_code", "error_message"]
        assert (result["success"], result["error_code"]) == (False, "INVALID_STATE")

    def test_a_name_that_matches_nothing_is_not_found(self, call: Any) -> None:
        assert call("check_inventory", medication_name="xyz") == {
            "success": False,
            "error_code": "NOT_FOUND",
            "error_message": "Medication 'xyz' not found",
        }

    @pytest.mark.parametrize("ref", [999999, 0, -1, 2**63 - 1, "abc", "med-", "٢", "med-999999", ""])
    def test_an_unknown_id_is_not_found(self, call: Any, ref: Any) -> None:
        result = call("check_inventory", medication_id=ref)
        assert (result["error_code"], result["error_message"]) == (
            "NOT_FOUND",
            f"Medication '{ref}' not found",
        )

    @pytest.mark.parametrize("store_id", [999, 0, -1, 2**31, 2**63 - 1])
    def test_an_unknown_store_is_not_found(self, call: Any, store_id: int) -> None:
        result = call("check_inventory", medication_id=1, store_id=store_id)
        assert result["error_code"] == "NOT_FOUND"
        assert "inventory" in result["error_message"].lower()

    def test_a_store_that_never_carried_the_product_is_not_found(self, call: Any) -> None:
        StockLevel.objects.filter(medication=1, store=101).delete()
        result = call("check_inventory", medication_id=1, store_id=101)
        assert (result["success"], result["error_code"]) == (False, "NOT_FOUND")
        assert "inventory" in result["error_message"].lower()


class TestPrescriptionManagement:
    def test_the_documented_list_example(self, call: Any) -> None:
        result = call("prescription_management", user_identifier="david.cohen@example.com", action="LIST")
        assert list(result) == ["success", "user_name", "prescriptions"]
        assert (result["success"], result["user_name"]) == (True, "David Cohen")
        first, second = result["prescriptions"]
        assert list(first) == PRESCRIPTION_FIELDS
        assert first == {
            "presc_id": 1,
            "med_id": 2,
            "medication_name_en": "Amoxicillin",
            "medication_name_he": "אמוקסיצילין",
            "refills_left": 2,
            "status": "active",
            "can_refill": True,
        }
        assert (second["presc_id"], second["med_id"], second["refills_left"]) == (2, 4, 5)

    def test_the_documented_refill_example(self, call: Any) -> None:
        result = call(
            "prescription_management",
            user_identifier="david.cohen@example.com",
            action="REFILL_STATUS",
            prescription_id=1,
        )
        assert list(result) == ["success", "prescription", "refill_eligible", "reason"]
        assert list(result["prescription"]) == PRESCRIPTION_FIELDS
        assert result["prescription"]["presc_id"] == 1
        assert (result["refill_eligible"], result["reason"]) == (True, "2 refill(s) available")

    @pytest.mark.parametrize(
        "identifier",
        ["DAVID.Cohen@Example.COM", "050-1234567", "0501234567", "+972501234567", "+972 50-123-4567"],
    )
    def test_a_user_is_found_by_email_or_phone(self, call: Any, identifier: str) -> None:
        result = call("prescription_management", user_identifier=identifier, action="LIST")
        assert result["user_name"] == "David Cohen"

    @pytest.mark.parametrize(
        ("identifier", "prescription_id", "status", "eligible", "reason"),
        [
            ("sarah.levi@example.com", 3, "completed", False, "Prescription is completed"),
            ("yossi.g@example.com", 6, "expired", False, "Prescription is expired"),
            ("michael.benari@example.com", 4, "active", True, "3 refill(s) available"),
        ],
    )
    def test_a_refill_status_has_its_reason(
        self, call: Any, identifier: str, prescription_id: int, status: str, eligible: bool, reason: str
    ) -> None:
        result = call(
            "prescription_management",
            user_identifier=identifier,
            action="REFILL_STATUS",
            prescription_id=prescription_id,
        )
        assert result["prescription"]["status"] == status
        assert result["prescription"]["can_refill"] is eligible
        assert (result["refill_eligible"], result["reason"]) == (eligible, reason)

    @pytest.mark.parametrize(
        ("stored", "refills", "status", "can_refill", "reason"),
        [
            ("active", 0, "active", False, "No refills remaining"),
            ("cancelled", 2, "expired", False, "Prescription is expired"),
            ("refill_pending", 2, "active", True, "2 refill(s) available"),
            ("on_hold", 2, "expired", False, "Prescription is expired"),
        ],
    )
    def test_a_stored_status_is_translated_to_the_contracts_words(
        self, call: Any, stored: str, refills: int, status: str, can_refill: bool, reason: str
    ) -> None:
        Prescription.objects.filter(pk=1).update(status=stored, refills_left=refills)
        result = call(
            "prescription_management",
            user_identifier="david.cohen@example.com",
            action="REFILL_STATUS",
            prescription_id=1,
        )
        assert result["prescription"]["status"] == status
        assert result["prescription"]["can_refill"] is can_refill is result["refill_eligible"]
        assert result["reason"] == reason

    def test_a_user_without_prescriptions_gets_an_empty_list(self, call: Any) -> None:
        result = call("prescription_management", user_identifier="maya.f@example.com", action="LIST")
        assert result == {"success": True, "user_name": "Maya Friedman", "prescriptions": []}

    @pytest.mark.parametrize("identifier", ["xyz@example.com", "052-0000000", "", "nobody", "%", "10000101"])
    def test_an_unknown_user_is_unauthorized(self, call: Any, identifier: str) -> None:
        assert call("prescription_management", user_identifier=identifier, action="LIST") == {
            "success": False,
            "error_code": "UNAUTHORIZED",
            "error_message": f"User not found with identifier: {identifier}",
        }

    @pytest.mark.parametrize("action", ["DELETE", "list", "", "LIST "])
    def test_an_invalid_action_is_refused(self, call: Any, action: str) -> None:
        result = call("prescription_management", user_identifier="david.cohen@example.com", action=action)
        assert list(result) == ["success", "error_code", "error_message"]
        assert (result["success"], result["error_code"]) == (False, "INVALID_STATE")

    @pytest.mark.parametrize("prescription_id", [None, 3, 999999, 0, -1, 2**63 - 1, -(2**63)])
    def test_a_missing_foreign_or_unknown_prescription_is_refused(
        self, call: Any, prescription_id: int | None
    ) -> None:
        result = call(
            "prescription_management",
            user_identifier="david.cohen@example.com",
            action="REFILL_STATUS",
            prescription_id=prescription_id,
        )
        assert list(result) == ["success", "error_code", "error_message"]
        assert (result["success"], result["error_code"]) == (False, "NOT_FOUND")

    def test_foreign_and_unknown_differ_in_the_number_only(self, call: Any) -> None:
        messages = {
            call(
                "prescription_management",
                user_identifier="david.cohen@example.com",
                action="REFILL_STATUS",
                prescription_id=number,
            )["error_message"].replace(str(number), "#")
            for number in (3, 999999)
        }
        assert len(messages) == 1
