"""S1 (tool-contracts.md): every field, error code and fallback rule, at both doors."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from inventory.models import Ingredient, Medication, StockLevel
from prescriptions.models import Prescription

pytestmark = pytest.mark.django_db

STOCKED_FIELDS = [
    "med_id", "brand_name", "generic_name", "active_ingredients", "form", "strength", "rx_required", "qty_on_hand"
]  # fmt: skip
VERIFY_FIELDS = [
    "ok", "error", "rx_required", "patient_found", "has_valid_rx", "rx_status", "expires_at", "refills_remaining",
    "next_step", "notes",
]  # fmt: skip


def med_id(name: str, **more: Any) -> str:
    return str(Medication.objects.get(name_en=name, **more).pk)


def failed(result: dict[str, Any], code: str) -> str:
    assert list(result) == ["ok", "error"]
    assert list(result["error"]) == ["code", "message"]
    assert (result["ok"], result["error"]["code"]) == (False, code)
    assert result["error"]["message"]
    return str(result["error"]["message"])


class TestInventoryCheck:
    def test_a_result_has_the_contracts_fields(self, call: Any) -> None:
        result = call("inventory_check", query="PainAway", language="en")
        assert list(result) == ["ok", "error", "matches", "notes"]
        assert (result["ok"], result["error"]) == (True, None)
        (match,) = result["matches"]
        assert list(match) == STOCKED_FIELDS
        assert match == {
            "med_id": "7",
            "brand_name": "PainAway",
            "generic_name": "Ibuprofen",
            "active_ingredients": ["Ibuprofen"],
            "form": "tablet",
            "strength": "200 mg",
            "rx_required": False,
            "qty_on_hand": 0,
        }

    @pytest.mark.parametrize(
        ("name", "packs"), [("Ibuprofen", 158), ("Cetirizine", 208), ("Nurofen", 3), ("AcidEase", 18)]
    )
    def test_the_quantity_is_the_total_over_all_stores(self, call: Any, name: str, packs: int) -> None:
        result = call("inventory_check", query=name, language="en")
        assert {match["qty_on_hand"] for match in result["matches"] if match["brand_name"] == name} == {packs}

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("PainAway 200 mg tablets", {"7"}),
            ("פיינאוויי", {"7"}),
            ("acetaminophen", {"6"}),
            ("Zyrtec", {"5"}),
            ("loratadine", {"12"}),
        ],
    )
    def test_a_query_may_be_a_brand_a_generic_name_an_ingredient_or_an_alias(
        self, call: Any, query: str, expected: set[str]
    ) -> None:
        result = call("inventory_check", query=query, language="he")
        assert expected <= {match["med_id"] for match in result["matches"]}

    @pytest.mark.parametrize("query", ["pain relievers", "משככי כאבים"])
    def test_a_query_may_be_a_category(self, call: Any, query: str) -> None:
        found = {match["med_id"] for match in call("inventory_check", query=query, language="en")["matches"]}
        assert {"1", "6"} <= found
        assert not {"5", "10"} & found

    @pytest.mark.parametrize("query", ["xyzzy", "", "   ", "%", "_"])
    @pytest.mark.parametrize("language", ["en", "he"])
    def test_an_unknown_query_is_not_found(self, call: Any, query: str, language: str) -> None:
        message = failed(call("inventory_check", query=query, language=language), "MED_NOT_FOUND")
        assert ("לא" in message) == (language == "he")

    def test_the_language_changes_no_names(self, call: Any) -> None:
        english = call("inventory_check", query="אקמול", language="en")
        assert english["matches"] == call("inventory_check", query="אקמול", language="he")["matches"]
        assert english["matches"][0]["brand_name"] == "Paracetamol"

    def test_the_release_type_is_part_of_the_form(self, call: Any) -> None:
        Medication.objects.filter(pk=12).update(release="extended")
        (match,) = call("inventory_check", query="AllerFree", language="en")["matches"]
        assert match["form"] == "extended-release tablet"


class TestInventoryFindEquivalent:
    def test_a_result_has_the_contracts_fields(self, call: Any) -> None:
        result = call(
            "inventory_find_equivalent",
            med_id="7",
            language="en",
            require_same_strength=True,
            require_same_form=True,
        )
        assert list(result) == ["ok", "error", "requested", "equivalents", "notes"]
        assert (result["ok"], result["error"]) == (True, None)
        assert list(result["requested"]) == STOCKED_FIELDS
        assert (result["requested"]["med_id"], result["requested"]["qty_on_hand"]) == ("7", 0)
        by_id = {entry["med_id"]: entry for entry in result["equivalents"]}
        assert set(by_id) == {"1", "8", "9"}
        assert by_id["8"]["qty_on_hand"] == 25
        for entry in by_id.values():
            assert list(entry) == [*STOCKED_FIELDS, "disclosure"]
            assert entry["disclosure"] == {
                "same_active_ingredients": True,
                "same_strength": True,
                "same_form": True,
                "possible_differences": ["price", "inactive ingredients", "packaging"],
            }
        assert "may exist" in result["notes"]

    def test_omitted_flags_are_true(self, call: Any) -> None:
        strict = call("inventory_find_equivalent", med_id="7", language="en")
        assert strict == call(
            "inventory_find_equivalent",
            med_id="7",
            language="en",
            require_same_strength=None,
            require_same_form=None,
        )

    def test_a_waived_requirement_is_disclosed(self, call: Any) -> None:
        Medication.objects.filter(pk=8).update(form="capsule")
        assert "8" not in self.ids(call("inventory_find_equivalent", med_id="7", language="en"))
        result = call("inventory_find_equivalent", med_id="7", language="en", require_same_form=False)
        disclosure = next(e["disclosure"] for e in result["equivalents"] if e["med_id"] == "8")
        assert (disclosure["same_form"], disclosure["same_strength"]) == (False, True)
        assert "form" in disclosure["possible_differences"]

    def test_extended_release_is_another_form(self, call: Any) -> None:
        Medication.objects.filter(pk=8).update(release="extended")
        assert "8" not in self.ids(call("inventory_find_equivalent", med_id="7", language="en"))

    @pytest.mark.parametrize("ref", [7, "7", "med-7"])
    def test_an_id_may_be_written_in_every_notation(self, call: Any, ref: Any) -> None:
        assert call("inventory_find_equivalent", med_id=ref, language="he")["requested"]["med_id"] == "7"

    @pytest.mark.parametrize("ref", ["999999", "PainAway", "", 0, -7, 2**63 - 1])
    def test_an_unknown_medication_is_not_found(self, call: Any, ref: Any) -> None:
        failed(call("inventory_find_equivalent", med_id=ref, language="en"), "MED_NOT_FOUND")

    @pytest.mark.parametrize(("language", "word"), [("en", "equivalent"), ("he", "תחליף")])
    def test_a_product_without_equivalents_gets_an_error(self, call: Any, language: str, word: str) -> None:
        """Augmentin shares only one of its two ingredients with Amoxicillin."""
        message = failed(
            call("inventory_find_equivalent", med_id="13", language=language), "NO_EQUIVALENTS_FOUND"
        )
        assert word in message

    @staticmethod
    def ids(result: dict[str, Any]) -> set[str]:
        return {entry["med_id"] for entry in result.get("equivalents", [])}


class TestPrescriptionVerify:
    def verify(
        self, call: Any, patient: str, medication: Any, intent: str = "refill", language: str = "en"
    ) -> Any:
        arguments = {"patient_id": patient, "med_id": medication, "intent": intent, "language": language}
        return call("prescription_verify", **arguments)

    def test_a_result_has_the_contracts_fields(self, call: Any) -> None:
        result = self.verify(call, "10000101", "2")
        assert list(result) == VERIFY_FIELDS
        expires = Prescription.objects.get(pk=1).expires_on.isoformat()
        assert result == {
            "ok": True,
            "error": None,
            "rx_required": True,
            "patient_found": True,
            "has_valid_rx": True,
            "rx_status": "active",
            "expires_at": expires,
            "refills_remaining": 2,
            "next_step": "allow_refill_request",
            "notes": None,
        }

    def test_a_patient_without_a_prescription_has_no_valid_one(self, call: Any) -> None:
        result = self.verify(call, "10000108", "2")
        assert (result["has_valid_rx"], result["rx_status"], result["expires_at"]) == (False, None, None)
        assert (result["refills_remaining"], result["next_step"]) == (0, "request_rx_details")
        assert result["patient_found"] is True

    @pytest.mark.parametrize("intent", ["new", "refill"])
    def test_an_over_the_counter_product_needs_no_prescription(self, call: Any, intent: str) -> None:
        result = self.verify(call, "10000108", "1", intent)
        assert (result["rx_required"], result["next_step"]) == (False, "allow_refill_request")

    @pytest.mark.parametrize(
        ("stored", "refills", "intent", "status", "next_step"),
        [
            ("active", 2, "refill", "active", "allow_refill_request"),
            ("active", 0, "refill", "active", "cannot_proceed"),
            ("active", 0, "new", "active", "allow_refill_request"),
            ("refill_pending", 2, "refill", "refill_pending", "cannot_proceed"),
            ("completed", 0, "refill", "expired", "cannot_proceed"),
            ("expired", 3, "refill", "expired", "cannot_proceed"),
            ("cancelled", 3, "refill", "cancelled", "cannot_proceed"),
            ("on_hold", 3, "refill", "expired", "cannot_proceed"),
        ],
    )
    def test_each_status_has_its_next_step(
        self, call: Any, stored: str, refills: int, intent: str, status: str, next_step: str
    ) -> None:
        Prescription.objects.filter(pk=1).update(status=stored, refills_left=refills)
        result = self.verify(call, "10000101", 2, intent)
        assert (result["rx_status"], result["next_step"]) == (status, next_step)
        assert (result["notes"] is None) == (next_step == "allow_refill_request")
        if stored == "completed":
            assert result["refills_remaining"] == 0

    def test_an_active_prescription_past_its_date_is_expired(self, call: Any) -> None:
        Prescription.objects.filter(pk=1).update(expires_on=timezone.localdate() - timedelta(days=1))
        result = self.verify(call, "10000101", "2")
        assert (result["has_valid_rx"], result["rx_status"]) == (False, "expired")
        assert result["next_step"] == "cannot_proceed"

    @pytest.mark.parametrize("patient", ["99999999", "", "david.cohen@example.com", "٣٣٣٣٣٣", "1" * 400])
    def test_an_unknown_patient_is_not_found(self, call: Any, patient: str) -> None:
        failed(self.verify(call, patient, "2"), "PATIENT_NOT_FOUND")

    @pytest.mark.parametrize("medication", ["999999", "Amoxicillin", 0])
    def test_an_unknown_medication_is_not_found(self, call: Any, medication: Any) -> None:
        failed(self.verify(call, "10000101", medication), "MED_NOT_FOUND")

    def test_notes_are_in_the_requested_language(self, call: Any) -> None:
        assert "מרשם" in self.verify(call, "10000108", "2", language="he")["notes"]


class TestInteractionCheck:
    def check(self, call: Any, refs: list[Any], language: str = "en") -> Any:
        return call("interaction_check", med_ids=refs, language=language)

    def test_a_pair_marked_avoid_is_returned(self, call: Any) -> None:
        warfarin = med_id("Warfarin")
        result = self.check(call, ["1", warfarin])
        assert list(result) == ["ok", "error", "interaction_level", "pairs", "notes"]
        assert (result["ok"], result["error"], result["interaction_level"]) == (True, None, "avoid")
        (pair,) = result["pairs"]
        assert list(pair) == ["med_id_a", "med_id_b", "level", "message"]
        assert (pair["med_id_a"], pair["med_id_b"], pair["level"]) == ("1", warfarin, "avoid")
        assert "cannot be taken together" in pair["message"]

    def test_brands_inherit_and_the_order_does_not_matter(self, call: Any) -> None:
        warfarin = med_id("Warfarin")
        result = self.check(call, [warfarin, "med-7"], "he")
        assert result["interaction_level"] == "avoid"
        assert (result["pairs"][0]["med_id_a"], result["pairs"][0]["med_id_b"]) == (warfarin, "7")
        assert "אין ליטול" in result["pairs"][0]["message"] and "פיינאוויי" in result["pairs"][0]["message"]

    def test_a_pair_marked_caution_is_returned(self, call: Any) -> None:
        result = self.check(call, [med_id("Aspirin"), 1])
        assert result["interaction_level"] == "caution"
        assert "caution" in result["pairs"][0]["message"]

    def test_two_products_with_the_same_ingredient_are_a_caution(self, call: Any) -> None:
        result = self.check(call, ["1", "7"])
        assert (result["interaction_level"], result["pairs"][0]["level"]) == ("caution", "caution")
        assert "both contain Ibuprofen" in result["pairs"][0]["message"]

    @pytest.mark.parametrize(("language", "words"), [("en", "does not mean it is safe"), ("he", "אין פירוש")])
    def test_no_known_interaction_is_not_called_safe(self, call: Any, language: str, words: str) -> None:
        result = self.check(call, ["3", "5"], language)
        assert (result["interaction_level"], result["pairs"]) == ("none", [])
        assert words in result["notes"]

    def test_the_worst_level_of_several_pairs_is_returned(self, call: Any) -> None:
        result = self.check(call, ["1", med_id("Aspirin"), med_id("Warfarin"), "5"])
        assert result["interaction_level"] == "avoid"
        assert sorted(pair["level"] for pair in result["pairs"]) == ["avoid", "caution", "caution"]

    def test_one_medication_named_twice_is_one(self, call: Any) -> None:
        assert self.check(call, [2, "2", "med-2"])["pairs"] == []

    @pytest.mark.parametrize(("language", "word"), [("en", "pharmacist"), ("he", "רוקח")])
    def test_an_unknown_id_is_reported(self, call: Any, language: str, word: str) -> None:
        message = failed(self.check(call, ["1", "kryptonite", 999999], language), "UNKNOWN_MED_ID")
        assert "kryptonite" in message and "999999" in message and word in message

    def test_a_pair_that_was_never_assessed_is_reported_as_unknown(self, call: Any) -> None:
        Ingredient.objects.filter(key="cetirizine").update(assessed=False)
        message = failed(self.check(call, ["3", "5"]), "UNKNOWN_MED_ID")
        assert "Cetirizine" in message

    def test_a_found_pair_is_returned_with_what_was_not_assessed(self, call: Any) -> None:
        Ingredient.objects.filter(key="cetirizine").update(assessed=False)
        result = self.check(call, ["1", med_id("Warfarin"), "5"])
        assert result["interaction_level"] == "avoid"
        assert "Cetirizine" in result["notes"]

    def test_stock_and_interactions_do_not_depend_on_each_other(self, call: Any) -> None:
        StockLevel.objects.all().update(quantity=0)
        assert self.check(call, ["1", med_id("Warfarin")])["interaction_level"] == "avoid"
