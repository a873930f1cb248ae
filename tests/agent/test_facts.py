"""Results become facts: every kind in both languages, nothing of a controlled quantity, ids that last."""

import re
from typing import Any

import pytest
from django.utils import timezone

from agent.answers.facts.fact import Fact, Menu, names_in_marker
from agent.answers.facts.leaflets import SECTIONS
from agent.answers.facts.results import FACTS, facts_of
from agent.answers.renderer import Renderer
from agent.conversation import events
from agent.inference.base import Step, StepResult, Turn
from agent.models import Run
from agent.tools.base import ToolContext
from agent.tools.registry import TOOLS, call_tool
from agent.turn.actions import store_info
from inventory.models import LeafletSection, StockLevel
from pharmacy_site.lib.text import Language
from prescriptions.models import Patient
from stores.models import Store

OWN = "10000101"
LANGUAGES: tuple[Language, Language] = ("en", "he")


def _result(name: str, arguments: dict[str, Any], language: Language) -> StepResult:
    step = Step(name, arguments)
    if name == "store.info":
        run = Run(conversation=events.conversation_begin(language=language)[0])
        return store_info(run, step, "192.0.2.1")
    context = ToolContext(
        actor="chat:test", channel="chat", language=language, patient=Patient.objects.get(mrn=OWN)
    )
    outcome = call_tool(name, arguments, context)
    return StepResult(step, outcome.ok, outcome.result, outcome.code or "", outcome.evidence)


def facts(name: str, language: Language = "en", /, **arguments: Any) -> list[Fact]:
    turn = Turn("", language, {}, timezone.localtime())
    return facts_of(Renderer(turn, language), _result(name, arguments, language))


def _bare(text: str) -> str:
    return re.sub("[\u2066-\u2069]", "", text)


def _stock(medicine: str, store: str | None = None, *, everywhere: bool = True) -> dict[str, Any]:
    return {"medication_query": medicine, "store_query": store, "show_all_stores": everywhere}


OWN_PRESCRIPTIONS = {
    "user_identifier": "david.cohen@example.com",
    "action": "LIST",
    "prescription_id": None,
}
KINDS: list[tuple[str, dict[str, Any], set[str]]] = [
    (
        "get_medication_by_name",
        {"medication_name": "Advil"},
        {"name", "ingredients", "strength", "form", "pack", "prescription", "price", "maker"}
        | {f"leaflet.{kind}" for kind in SECTIONS},
    ),
    ("get_medication_info", {"query": "Lisinopril"}, {"ingredients", "leaflet.pregnancy"}),
    ("check_prescription_requirement", {"query": "Amoxicillin"}, {"prescription"}),
    (
        "check_inventory",
        {"medication_id": 9, "medication_name": None, "store_id": None},
        {"stock", "restock"},
    ),
    ("check_stock", _stock("Advil", "Florentin"), {"stock", "hours_today", "phone"}),
    ("check_stock", _stock("Advil", "Haifa"), {"place", "nearest", "stock"}),
    ("check_stock", _stock("Oxycodone"), {"stock"}),
    ("inventory_check", {"query": "pain relievers"}, {"list", "listed", "price"}),
    ("inventory_find_equivalent", {"med_id": "1"}, {"equivalents"}),
    ("interaction_check", {"med_ids": ["1", "15"]}, {"interaction"}),
    ("interaction_check", {"med_ids": ["5", "6"]}, {"interaction"}),
    ("store.info", {"query": "Florentin"}, {"branch", "hours_week", "hours_today", "phone", "address"}),
    ("store.info", {"query": None}, {"branch", "hours_week"}),
    ("store.info", {"query": "Haifa"}, {"place", "nearest"}),
    (
        "prescription_management",
        OWN_PRESCRIPTIONS,
        {"prescription_state", "refill", "valid_until", "issued", "last_filled"},
    ),
    ("prescription_verify", {"patient_id": OWN, "med_id": "12", "intent": "refill"}, {"prescription"}),
]


@pytest.mark.django_db
@pytest.mark.usefixtures("demo")
@pytest.mark.parametrize(("name", "arguments", "kinds"), KINDS)
def test_each_result_has_its_facts_in_both_languages(
    name: str, arguments: dict[str, Any], kinds: set[str]
) -> None:
    wants_language = name.startswith(("inventory_", "interaction_")) or name == "prescription_verify"
    found = {}
    for language in LANGUAGES:
        given = arguments | ({"language": language} if wants_language else {})
        found[language] = facts(name, language, **given)
        assert kinds <= {fact.kind for fact in found[language]}
        for fact in found[language]:
            hebrew = bool(re.search("[א-ת]", fact.text))
            assert hebrew == (language == "he"), fact.text
            assert fact.text.strip() == fact.text and "{" not in fact.text and "None" not in fact.text
    same = [[(fact.kind, fact.polarity, fact.is_required) for fact in found[one]] for one in LANGUAGES]
    if name != "get_medication_by_name":  # what a name is called otherwise differs between languages
        assert same[0] == same[1]


def test_every_tool_has_facts() -> None:
    assert {tool.name for tool in TOOLS} <= set(FACTS)


@pytest.mark.django_db
@pytest.mark.usefixtures("demo")
def test_a_leaflet_is_quoted_word_for_word_and_what_it_lacks_is_said() -> None:
    LeafletSection.objects.filter(medication=9, kind="storage").delete()
    by_kind = {fact.kind: fact for fact in facts("get_medication_by_name", medication_name="Nurofen")}
    for section in LeafletSection.objects.filter(medication=9):
        assert section.text_en in by_kind[f"leaflet.{section.kind}"].text
    assert "says nothing about storage" in by_kind["leaflet.storage"].text
    LeafletSection.objects.filter(medication=9).delete()
    kinds = [fact.kind for fact in facts("get_medication_by_name", medication_name="Nurofen")]
    assert "leaflet" in kinds and not [kind for kind in kinds if kind.startswith("leaflet.")]


@pytest.mark.django_db
@pytest.mark.usefixtures("demo")
def test_the_polarity_of_stock_is_that_of_the_shelf() -> None:
    for fact in facts("check_stock", **_stock("Advil")):
        if fact.kind != "stock":
            continue
        store = next((one for one in Store.objects.all() if one.name_en == fact.subject), None)
        assert store is not None
        quantity = StockLevel.objects.get(medication=1, store=store).quantity
        assert fact.polarity is (quantity > 0)
        assert (f"{quantity} unit" in fact.text) == (quantity > 0)


@pytest.mark.django_db
@pytest.mark.usefixtures("demo")
def test_a_product_that_no_branch_has_says_so() -> None:
    StockLevel.objects.filter(medication=1).update(quantity=0)
    said = [fact for fact in facts("check_stock", **_stock("Advil")) if fact.kind == "stock"]
    assert said and all(fact.polarity is False for fact in said)
    assert any("None of our branches" in fact.text for fact in said)


@pytest.mark.django_db
@pytest.mark.usefixtures("demo")
def test_of_a_controlled_medicine_no_fact_has_a_quantity() -> None:
    StockLevel.objects.filter(medication=23).update(quantity=7919)
    calls = [
        ("check_stock", _stock("Oxycodone")),
        ("check_stock", _stock("Oxycodone", "Florentin")),
        ("check_inventory", {"medication_id": 23, "medication_name": None, "store_id": 103}),
        ("inventory_check", {"query": "Oxycodone", "language": "en"}),
    ]
    for name, arguments in calls:
        found = facts(name, **arguments)
        assert found and not any("7919" in fact.text or "7,919" in fact.text for fact in found)
        assert all(fact.polarity is None for fact in found if fact.kind in ("stock", "listed"))


@pytest.mark.django_db
@pytest.mark.usefixtures("demo")
def test_stock_and_price_of_a_prescription_medicine_bring_its_note() -> None:
    for fact in facts("check_stock", **_stock("Lisinopril")):
        if fact.kind == "stock":
            assert fact.companion and "requires a prescription" in fact.companion.text
    assert not any(fact.companion for fact in facts("check_stock", **_stock("Advil")))


@pytest.mark.django_db
@pytest.mark.usefixtures("demo")
def test_an_unknown_or_ambiguous_name_is_a_fact_that_lists_what_may_be_meant() -> None:
    [unknown] = facts("get_medication_by_name", medication_name="Zorbaflexin")
    assert (unknown.kind, unknown.polarity) == ("not_found", False) and "Zorbaflexin" in unknown.text
    [near] = facts("get_medication_by_name", medication_name="Zyrtex")
    assert "Cetirizine" in near.text
    [several] = facts("get_medication_by_name", medication_name="ibu")
    assert several.kind == "which" and "Ibuprofen" in several.text and "IbuTabs" in several.text


@pytest.mark.django_db
@pytest.mark.usefixtures("demo")
def test_prescriptions_name_their_dates_and_no_directions() -> None:
    found = {
        (fact.kind, fact.subject): _bare(fact.text)
        for fact in facts("prescription_management", **OWN_PRESCRIPTIONS)
    }
    assert "refills remaining" in found["prescription_state", "Metformin"]
    assert "is valid until" in found["valid_until", "Metformin"]
    assert not any("with a meal" in text for text in found.values())


def test_a_menu_keeps_ids_and_counts_on() -> None:
    one, other = Fact("price", "Advil", "₪1."), Fact("stock", "Jaffa", "None.", is_lasting=False)
    menu = Menu([], "en")
    assert [fact.id for fact in menu.add([one, other, one])] == ["f1", "f2", "f1"]
    later = Menu(menu.to_remember(), "en")
    assert [(fact.id, fact.text) for fact in later.facts] == [("f1", "₪1.")]
    assert [fact.id for fact in later.add([other, one])] == ["f2", "f1"]
    other_language = Menu(menu.to_remember(), "he")
    assert other_language.facts == [] and [fact.id for fact in other_language.add([other])] == ["f2"]


def test_a_fact_that_need_not_be_said_is_released() -> None:
    menu = Menu([], "en")
    named = menu.add([Fact("interaction", "A and B", "Careful.", is_required=True)])
    assert menu.required == named
    menu.release(named)
    assert menu.required == [] and menu.to_remember() == []


def test_a_marker_names_one_or_several_facts() -> None:
    assert names_in_marker("[f3]") == ["f3"]
    assert names_in_marker("[F3, f04; f5]") == ["f3", "f4", "f5"]
