"""Controlled medicines: no quantity leaves the house, and no model brings a refill about (T16)."""

import itertools
from typing import Any

import pytest
from scripted_model import ScriptedModel, calls, forever, says
from talking import Talk, once, sent_to

from agent.inference.openai import Call
from agent.llm.functions import frame_of, procedure_of
from agent.models import Confirmation, Run
from inventory.models import Medication, StockLevel
from prescriptions.models import Handoff, Patient, Prescription
from stores.models import Store

OWN = "10000101"
NAMES = {
    23: ("Oxycodone", "אוקסיקודון", "Oxycod"),
    24: ("Codeine + Paracetamol", "קודאין + פרצטמול", "Codacamol"),
    25: ("Diazepam", "דיאזפם", "Valium"),
}
SECRET = 7_919  # packs: a number that is nowhere else


@pytest.fixture
def stocked(tireless: ScriptedModel) -> set[str]:
    """Every branch has so many of each; returns the numbers that give it away."""
    for pk, store in itertools.product(NAMES, Store.objects.all()):
        StockLevel.objects.update_or_create(
            store=store, medication_id=pk, defaults={"quantity": SECRET, "low_threshold": SECRET + 1}
        )
    StockLevel.objects.filter(medication_id=1, store_id=1).update(quantity=6_133)
    sums = {str(SECRET * branches) for branches in range(1, Store.objects.count() + 1)}
    return sums | {f"{int(number):,}" for number in sums} | {str(SECRET + 1)}


def _looks(pk: int) -> dict[str, dict[str, Any]]:
    """Every call that may tell how many there are."""
    english, _, brand = NAMES[pk]
    return {
        "check_inventory": {"medication_id": pk, "medication_name": None, "store_id": None},
        "check_inventory at": {"medication_id": None, "medication_name": english, "store_id": 1},
        "check_stock": {"medication_query": brand, "store_query": None, "show_all_stores": True},
        "check_stock at": {"medication_query": brand, "store_query": "Florentin", "show_all_stores": None},
        "check_stock in": {"medication_query": english, "store_query": "Tel Aviv", "show_all_stores": True},
        "inventory_check": {"query": english, "language": "en"},
        "inventory_find_equivalent": {"med_id": str(pk), "language": "en"},
        "get_medication_by_name": {"medication_name": brand},
        "get_medication_info": {"query": brand},
    }


def test_a_controlled_medicines_quantity_is_neither_sent_nor_shown(
    tireless: ScriptedModel, stocked: set[str]
) -> None:
    wrong = []
    for pk, language in itertools.product(NAMES, ("en", "he")):
        asked = ("do you have {}?", "יש לכם {}?")[language == "he"].format(NAMES[pk][language == "he"])
        look = calls(*[(name.split()[0], told_it) for name, told_it in list(_looks(pk).items())[:8]])
        end = says("The branch can tell." if language == "en" else "הסניף יכול לענות.")
        talk = once(tireless, asked, look, forever(end), language=language)
        assert talk.run.state == Run.State.DONE
        results = [message for message in tireless.last.messages if message["role"] == "tool"]
        wrong += [("no results", asked)] * (len(results) != 8)
        wrong += [("sent", number, asked) for number in stocked if number in sent_to(tireless)]
        wrong += [("shown", number, asked) for number in stocked if number in talk.frames_text]
    assert wrong == []


def test_another_medicines_quantity_is_sent_to_the_model(tireless: ScriptedModel, stocked: set[str]) -> None:
    """So the silence above is about controlled medicines."""
    look = calls(("check_inventory", {"medication_id": 1, "medication_name": None, "store_id": 1}))
    once(tireless, "do you have Advil?", look, forever(says("It is there.")))
    assert "6133" in sent_to(tireless)


def test_a_guessed_quantity_is_not_shown(tireless: ScriptedModel, stocked: set[str]) -> None:
    """Also the right quantity: no result that the model was sent has it."""
    look = calls(("check_stock", _looks(25)["check_stock at"]))
    for said in (f"Florentin has {SECRET} packs.", f"There are {SECRET:,} packs of Diazepam.", f"{SECRET}"):
        talk = once(tireless, "do you have Valium in Florentin?", look, forever(says(said)))
        assert talk.run.fallback == "withheld"
        assert not any(number in talk.frames_text for number in stocked)


def test_a_later_turn_does_not_show_the_quantity_either(tireless: ScriptedModel, stocked: set[str]) -> None:
    """Numbers of earlier results count as evidence, but not those that were never disclosed."""
    talk = once(tireless, "do you have Valium in Florentin?", calls(("check_stock", _looks(25)["check_stock at"])), says("[not_on_file]"))  # fmt: skip
    tireless.script(forever(says(f"As I said, {SECRET} packs.")))
    talk.say("how was that again?")
    assert not any(number in talk.frames_text for number in stocked)


@pytest.fixture
def prescribed(tireless: ScriptedModel) -> Patient:
    """A customer with a good prescription for each of them."""
    patient = Patient.objects.get(mrn=OWN)
    like = Prescription.objects.filter(patient=patient).latest("pk")
    for pk in NAMES:
        like.pk = None
        like.medication_id = pk
        like._state.adding = True
        like.save(force_insert=True)
    return patient


def _effects() -> tuple[int, int, list[int]]:
    left = list(Prescription.objects.order_by("pk").values_list("refills_left", flat=True))
    return Confirmation.objects.count(), Handoff.objects.filter(reason="refill").count(), left


def test_no_call_of_a_model_refills_a_schedule_two_medicine(
    tireless: ScriptedModel, prescribed: Patient
) -> None:
    before = _effects()
    tries: list[tuple[str, Any]] = [
        ("patient_matter", {"matter": "refill", "medication_name": name})
        for name in ("Oxycodone", "Oxycod", "אוקסיקודון", "med-23", "23")
    ]
    tries += [
        (
            "patient_matter",
            {"medication_name": "Oxycodone", "quantity": 1, "approved": True, "confidence": 0.99},
        )
    ]
    for name, arguments in tries:
        talk = once(tireless, "please get me more of it", calls((name, arguments)), patient=OWN)
        assert talk.run.state == Run.State.DONE
        assert not any(card["kind"] == "confirm" for card in talk.payload["cards"])
    assert _effects() == before


def test_a_call_that_is_not_offered_has_no_effect(tireless: ScriptedModel, prescribed: Patient) -> None:
    """The server's own actions have names too; none of them is a function."""
    before = _effects()
    actions = (
        "refill.ask",
        "refill.pass_on",
        "handoff.open",
        "identity.code",
        "identity.forget",
        "dispense",
        "Start_Refill",
    )
    for action in actions:
        arguments = {"prescription_id": 1, "reason": "refill", "identifier": "sarah.levi@example.com"}
        talk = once(tireless, "please get me more of it", calls((action, arguments)), patient=OWN)
        assert talk.run.fallback == "unknown_tool", action
    assert _effects() == before
    assert Handoff.objects.count() == 0


def test_without_a_confirmation_nothing_is_passed_on(tireless: ScriptedModel, prescribed: Patient) -> None:
    """Schedules III to V: the customer's yes and then a pharmacist; an answer's words change neither."""
    _, handoffs, left = _effects()
    for name in ("Diazepam", "Codacamol", "Metformin"):
        talk = Talk(patient=OWN)
        for _ in range(2):
            tireless.reset()
            tireless.script(calls(("patient_matter", {"matter": "refill", "medication_name": name})))
            talk.say("please get me more of it")
        tireless.script(forever(says("It is on its way, approved by the doctor.")))
        talk.say("hmm, and now what?")
        tireless.forget()
    assert _effects()[1:] == (handoffs, left)


def test_a_procedure_accepts_only_a_known_name(tireless: ScriptedModel) -> None:
    for value in (
        "Zorbaflexin",
        "take two tablets",
        "",
        None,
        5,
        ["Oxycodone", "Diazepam"],
    ):
        procedure = procedure_of(
            [Call("1", "patient_matter", {"matter": "refill", "medication_name": value})]
        )
        assert procedure is not None and not frame_of(procedure).medicines, value
    both = {"matter": "refill", "medication_name": "Advil and Coumadin"}
    procedure = procedure_of([Call("1", "patient_matter", both)])
    assert procedure is not None and [one["id"] for one in frame_of(procedure).medicines] == [1, 15]
    procedure = procedure_of([Call("1", "patient_matter", {"matter": "refill", "medication_name": "Valium"})])
    assert procedure is not None and [one["id"] for one in frame_of(procedure).medicines] == [25]
    assert Medication.objects.get(pk=25).schedule == "IV"
