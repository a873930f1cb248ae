"""The chat shows nobody quantities of controlled medicines; ids are no evidence for a number."""

from typing import Any

from agent.safety.disclosure import WITHHELD, disclosed, disclosed_of, facts_of, without_directions
from agent.safety.grounding import Grounds

CONTROLLED: dict[str, Any] = {
    "result": {"ok": True, "requestedStore": {"qty": 42}, "stores": [{"storeLabel": "Jaffa", "qty": 17}]},
    "facts": {"medication": {"id": 7, "controlled": True, "strength": "10 mg"}, "controlled": True},
}
MIXED: dict[str, Any] = {
    "result": {"matches": [{"med_id": "7", "qty_on_hand": 42}, {"med_id": "8", "qty_on_hand": 17}]},
    "facts": {
        "medications": [{"id": 7, "controlled": True}, {"id": 8, "controlled": False}],
        "totals": {"7": 42, "8": 17},
    },
}


def test_the_quantity_of_a_controlled_medicine_is_withheld() -> None:
    told = disclosed(CONTROLLED)
    assert told["result"]["requestedStore"]["qty"] == WITHHELD
    assert told["result"]["stores"][0] == {"storeLabel": "Jaffa", "qty": WITHHELD}
    assert told["facts"]["medication"]["strength"] == "10 mg"


def test_among_several_medicines_only_the_controlled_ones_quantity_is_withheld() -> None:
    told = disclosed(MIXED)
    assert [row["qty_on_hand"] for row in told["result"]["matches"]] == [WITHHELD, 17]
    assert told["facts"]["totals"] == {"7": WITHHELD, "8": 17}


def test_a_result_about_another_medicine_is_unchanged() -> None:
    plain = {"result": {"qty": 5}, "facts": {"medication": {"id": 8, "controlled": False}}}
    assert disclosed(plain) == plain


def test_ids_prove_no_number() -> None:
    facts = facts_of({"presc_id": 3, "refills_left": 5}, {"medication": {"id": 12, "pack_size": 20}})
    grounds = Grounds([facts])
    assert grounds.missing("5 refills, packs of 20") == []
    assert grounds.missing("3 refills, packs of 12") == ["3", "12"]


def test_directions_of_a_prescription_are_for_its_card_alone() -> None:
    evidence = {
        "prescriptions": [
            {"presc_id": 3, "refills_left": 5, "directions_en": "1 tablet", "directions_he": ""}
        ]
    }
    kept = {"prescriptions": [{"presc_id": 3, "refills_left": 5}]}
    assert without_directions(evidence) == kept
    assert disclosed_of({}, evidence)["facts"] == kept
    assert "directions_en" not in str(facts_of({}, evidence)), "their numbers would prove a model's figures"
