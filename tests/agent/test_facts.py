"""Results become facts: every kind in both languages, nothing of a controlled quantity, ids that last."""

import ast
import inspect
import json
import re
from copy import deepcopy
from typing import Any

import pytest
from django.utils import timezone

from agent import evidence
from agent.answers.facts.fact import Fact, Menu, names_in_marker
from agent.answers.facts.leaflets import SECTIONS
from agent.answers.facts.results import FACTS, facts_of
from agent.answers.renderer import Renderer
from agent.conversation import events
from agent.inference.base import Step, StepResult, Turn
from agent.models import KnowledgeEntry, Run
from agent.tools.base import ToolContext
from agent.tools.registry import TOOLS, call_tool
from agent.turn.actions import ACTIONS
from inventory.models import LeafletSection, StockLevel
from pharmacy_site.lib.text import Language
from prescriptions.models import Patient
from stores.models import Store

OWN = "10000101"
LANGUAGES: tuple[Language, Language] = ("en", "he")


def _result(name: str, arguments: dict[str, Any], language: Language) -> StepResult:
    step = Step(name, arguments)
    if name in ACTIONS:
        run = Run(conversation=events.conversation_begin(language=language)[0], input_seq=1)
        return ACTIONS[name](run, step, "192.0.2.1")
    context = ToolContext(
        actor="chat:test", channel="chat", language=language, patient=Patient.objects.get(mrn=OWN)
    )
    outcome = call_tool(name, arguments, context)
    return StepResult(step, outcome.ok, outcome.result, outcome.code or "", outcome.evidence)


def facts(name: str, language: Language = "en", /, **arguments: Any) -> list[Fact]:
    return _facts_in(_result(name, arguments, language), language)


def _facts_in(result: StepResult, language: Language) -> list[Fact]:
    turn = Turn("", language, {}, timezone.localtime())
    return facts_of(Renderer(turn, language), result)


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
        {
            "name",
            "ingredients",
            "strength",
            "form",
            "pack",
            "prescription",
            "price",
            "category",
            "maker",
            "source",
        }
        | {f"leaflet.{kind}" for kind in SECTIONS},
    ),
    ("get_medication_info", {"query": "Lisinopril"}, {"ingredients", "leaflet.pregnancy"}),
    ("check_prescription_requirement", {"query": "Amoxicillin"}, {"prescription"}),
    (
        "check_inventory",
        {"medication_id": 9, "medication_name": None, "store_id": None},
        {"stock", "restock"},
    ),
    ("check_stock", _stock("Advil", "Florentin"), {"stock", "hours_today", "phone", "as_of"}),
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
        {"prescriptions", "prescription_state", "refill", "valid_until", "issued", "last_filled", "supply"},
    ),
    (
        "prescription_verify",
        {"patient_id": OWN, "med_id": "12", "intent": "refill"},
        {"prescription", "refill"},
    ),
    ("site.answer", {"topic": "parking", "branch": "Jaffa"}, {"site.parking", "phone"}),
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
@pytest.mark.parametrize(
    ("language", "asked", "unknown"),
    [("en", "can i split tablets in half", "zorbulin gizmo"), ("he", "אפשר לחצות כדור?", "זורבולין גיזמו")],
)
def test_a_stored_answer_is_quoted_word_for_word_with_its_source(
    language: Language, asked: str, unknown: str
) -> None:
    (answer,) = facts("knowledge.ask", language, question=asked)
    entry = KnowledgeEntry.objects.get(role="customer", language=language, entry_id="C020")
    assert entry.live is not None and answer.kind == "knowledge.answer"
    assert answer.text.startswith(f"{entry.live.answer}\n") and entry.live.source in _bare(answer.text)
    assert answer.brief == entry.live.answer and answer.on_card == (entry.live.question, entry.live.source)
    assert not answer.is_lasting  # it may be withdrawn before the next message
    assert [fact.kind for fact in facts("knowledge.ask", language, question=unknown)] == ["knowledge.nothing"]


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
    for fact in facts("check_stock", **_stock("Advil")):
        assert not fact.companion or fact.companion.kind == "as_of"


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


def test_a_remembered_fact_keeps_what_has_to_stand_beside_it() -> None:
    note = Fact("prescription", "Warfarin", "Warfarin requires a prescription.")
    menu = Menu([], "en")
    menu.add([Fact("price", "Warfarin", "Warfarin costs 5.", companion=note)])
    remembered = json.loads(json.dumps(menu.to_remember()))
    for language in LANGUAGES:
        [price] = Menu(remembered, language).facts or [None]
        assert (price and price.companion) == (note if language == "en" else None)


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


NUROFEN = "get_medication_by_name", {"medication_name": "Nurofen"}
SEVERAL = "get_medication_by_name", {"medication_name": "ibu"}
MISSPELT = "get_medication_by_name", {"medication_name": "Zyrtex"}
FLORENTIN = "check_stock", _stock("Advil", "Florentin")
TEL_AVIV = "check_stock", _stock("Advil", "Tel Aviv", everywhere=False)
HAIFA = "check_stock", _stock("Advil", "Haifa")
SHELF = "check_inventory", {"medication_id": 5, "medication_name": None, "store_id": None}
LIST = "inventory_check", {"query": "pain relievers", "language": "en"}
SAME = "inventory_find_equivalent", {"med_id": "1", "language": "en"}
PAIR = "interaction_check", {"med_ids": ["1", "15"], "language": "en"}
OWN_LIST = "prescription_management", OWN_PRESCRIPTIONS
REFILL = "prescription_verify", {"patient_id": OWN, "med_id": "2", "intent": "refill", "language": "en"}
NAMED = {"label_en": "Zorba", "label_he": "זורבה"}
ELSEWHERE = {**NAMED, "kind": "branch", "phone": None, "quantity": 7, "km": 7.7}
THERE = {"there": {**NAMED, "packs": {"1": 2}}}
OPEN = {  # as on every day but holidays and Saturdays
    "open_now": True,
    "opens_at": "2030-01-06T08:00",
    "closes_at": "2030-01-06T20:00",
    "hours_today": [["08:00", "20:00"]],
}
GAP = {"unassessed": [{"en": "Kratom", "he": "קראטום", "medication": 1}]}
ONE, ASKED, FIRST = ("medication",), ("requested",), ("prescriptions", 0)

# A field, the call whose evidence has it, where, another value (None: another name in both languages), the kind of fact
# that says it, and what the evidence is given before.
HEARD: list[tuple[str, tuple[str, dict[str, Any]], tuple[Any, ...], Any, str, dict[str, Any]]] = [
    ("CandidateFacts.label", SEVERAL, ("candidates", 0), None, "which", {}),
    ("CandidateFacts.form", SEVERAL, ("candidates", 0), "syrup", "which", {}),
    ("CandidateFacts.release", SEVERAL, ("candidates", 0), "extended", "which", {}),
    ("CandidateFacts.strength", SEVERAL, ("candidates", 0), "7 mg", "which", {}),
    ("CandidateFacts.label", MISSPELT, ("near", 0), None, "not_found", {}),
    ("CandidateFacts.label", NUROFEN, ONE, None, "price", {}),
    ("CandidateFacts.form", NUROFEN, ONE, "syrup", "form", {}),
    ("CandidateFacts.release", NUROFEN, ONE, "extended", "form", {}),
    ("CandidateFacts.strength", NUROFEN, ONE, "7 mg", "strength", {}),
    ("CandidateFacts.label", LIST, ("medications", 0), None, "listed", {}),
    ("CandidateFacts.label", SAME, ("equivalents", 0), None, "equivalents", {}),
    ("ProductFacts.generic", NUROFEN, ONE, "Nurofen", "ingredients", {}),
    ("ProductFacts.pack_size", NUROFEN, ONE, 77, "pack", {}),
    ("ProductFacts.pack_unit", NUROFEN, ONE, "ml", "pack", {}),
    ("ProductFacts.price", NUROFEN, ONE, "77.00", "price", {}),
    ("ProductFacts.rx", NUROFEN, ONE, True, "prescription", {}),
    ("ProductFacts.category", NUROFEN, ONE, None, "category", {}),
    ("ProductFacts.controlled", FLORENTIN, ONE, True, "stock", {}),
    ("ProductFacts.schedule", REFILL, ONE, "II", "refill", {}),
    ("ProductFacts.substitution", SAME, ONE, "pharmacist_only", "equivalents", {}),
    ("LeafletSection.", NUROFEN, ("leaflet", "dosage"), None, "leaflet.dosage", {}),
    ("LeafletSection.source", NUROFEN, ("leaflet", "dosage"), None, "source", {}),
    ("LeafletSection.updated_on", NUROFEN, ("leaflet", "dosage"), "2020-02-02", "source", {}),
    ("StoreLabel.label", FLORENTIN, ASKED, None, "stock", {}),
    ("StoreLabel.kind", FLORENTIN, ASKED, "online", "stock", {}),
    ("StoreLabel.label", SHELF, ("store",), None, "stock", {"kind": "branch"}),
    ("StoreLabel.phone", FLORENTIN, ASKED, "03-555-7777", "phone", {}),
    ("OpeningFacts.open_now", FLORENTIN, ASKED, True, "hours_today", {**OPEN, "open_now": None}),
    (
        "OpeningFacts.opens_at",
        FLORENTIN,
        ASKED,
        "2030-01-06T07:07",
        "hours_today",
        {**OPEN, "open_now": False},
    ),
    ("OpeningFacts.closes_at", FLORENTIN, ASKED, "2030-01-06T21:07", "hours_today", OPEN),
    ("OpeningFacts.hours_today", FLORENTIN, ASKED, [["07:07", "21:07"]], "hours_today", OPEN),
    ("OpeningFacts.note", FLORENTIN, ASKED, None, "hours_today", {}),
    ("StockFacts.quantity", FLORENTIN, ASKED, 77, "stock", {}),
    ("StockFacts.quantity", TEL_AVIV, ("stores", 0), 77, "stock", {}),
    ("StockFacts.low", FLORENTIN, ASKED, True, "stock", {"quantity": 77, "low": None}),
    ("StockFacts.km", FLORENTIN, ASKED, 7.7, "stock", {}),
    ("StockFacts.km", HAIFA, ("nearest",), 7.7, "nearest", {}),
    ("StockFacts.km", HAIFA, ("nearest_stocked",), 7.7, "stock", {}),
    ("StockFacts.restock_on", FLORENTIN, ASKED, "2030-01-06", "restock", {}),
    ("PlaceStock.label", LIST, ("there",), "Jaffa", "list", THERE),
    ("PlaceStock.packs", LIST, ("there",), {"1": 7}, "list", THERE),
    ("PairFacts.level", PAIR, ("pairs", 0), "caution", "interaction", {}),
    ("PairFacts.kind", PAIR, ("pairs", 0), "same_ingredient", "interaction", {}),
    (
        "PairFacts.ingredients",
        PAIR,
        ("pairs", 0),
        [{"en": "Zorba", "he": "זורבה"}],
        "interaction",
        {"kind": "same_ingredient"},
    ),
    ("Labels.", PAIR, ("unassessed", 0), None, "interaction", GAP),
    ("PrescriptionFacts.status_known", OWN_LIST, FIRST, False, "refill", {}),
    ("PrescriptionFacts.expires_on", OWN_LIST, FIRST, "2020-02-02", "valid_until", {}),
    ("PrescriptionFacts.issued_on", OWN_LIST, FIRST, "2020-02-02", "issued", {}),
    ("PrescriptionFacts.last_filled_on", OWN_LIST, FIRST, "2020-02-02", "last_filled", {}),
    ("PrescriptionFacts.too_early_until", OWN_LIST, FIRST, "2030-02-02", "refill", {}),
    ("PrescriptionFacts.days_supply", OWN_LIST, FIRST, 77, "supply", {}),
    ("PrescriptionFacts.refill_pending", OWN_LIST, FIRST, True, "prescription_state", {}),
    ("PrescriptionFacts.schedule", OWN_LIST, FIRST, "II", "refill", {}),
    ("PrescriptionFacts.expires_on", REFILL, ("prescription",), "2020-02-02", "valid_until", {}),
    ("Evidence.more", SEVERAL, (), True, "which", {"more": False}),
    ("Evidence.totals", LIST, (), {}, "list", {}),
    ("Evidence.low", SHELF, (), True, "stock", {}),
    ("Evidence.city", TEL_AVIV, (), None, "stock", {"stores": []}),
    ("Evidence.elsewhere", TEL_AVIV, (), [ELSEWHERE], "stock", {"stores": []}),
    ("Evidence.near_place", HAIFA, (), NAMED, "near_place", {}),
]
NOT_HEARD = {
    # Numbers of ours, positions on a map, and what only decides which fact is made.
    "CandidateFacts.id", "StoreLabel.store_id", "StoreFacts.lat", "StoreFacts.lng", "PairFacts.a", "PairFacts.b",
    "UnassessedFacts.medication", "PrescriptionFacts.presc_id", "PrescriptionFacts.med_id", "Evidence.by",
    "Evidence.whole_word", "Evidence.matched_by", "Evidence.place", "Evidence.threshold", "Evidence.unknown",
    # Said by the contract's result, by another field, or by the time of the answer.
    "PrescriptionFacts.refills_left", "Evidence.restock_on", "Evidence.substitution", "Evidence.controlled",
    "Evidence.updated_at", "StockFacts.updated_at",
    # On the customer's card only, and for staff only.
    "PrescriptionFacts.strength", "PrescriptionFacts.directions", "ProductFacts.prior_authorization",
}  # fmt: skip


def test_each_field_of_evidence_is_heard_or_known_not_to_be() -> None:
    classes = [node for node in ast.parse(inspect.getsource(evidence)).body if isinstance(node, ast.ClassDef)]
    fields = {
        f"{one.name}.{re.sub('_?(en|he)$', '', node.target.id)}"
        for one in classes
        for node in one.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    heard = {field for field, *_ in HEARD} | {f"Evidence.{path[0]}" for _, _, path, *_ in HEARD if path}
    assert heard | NOT_HEARD == fields and not heard & NOT_HEARD


@pytest.mark.django_db
@pytest.mark.usefixtures("demo")
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("field", "call", "path", "value", "kind", "given"), HEARD, ids=[f"{row[0]}-{row[4]}" for row in HEARD]
)
def test_a_field_that_changes_changes_its_fact(
    language: Language,
    field: str,
    call: tuple[str, dict[str, Any]],
    path: tuple[Any, ...],
    value: Any,
    kind: str,
    given: dict[str, Any],
) -> None:
    result, given = _result(*call, language), deepcopy(given)
    result.evidence.update(given)  # type: ignore[typeddict-item]  # what belongs further inside is given there as well
    inner: Any = result.evidence
    for key in path:
        inner = inner[key]
    inner.update({key: one for key, one in given.items() if key in inner})
    before = {fact.text for fact in _facts_in(result, language) if fact.kind == kind}
    name = field.partition(".")[2]
    for end, zorba in (("en", "Zorba"), ("he", "זורבה")):
        key = f"{name}_{end}" if name else end
        inner[key if key in inner else name] = zorba if value is None else value
    assert {fact.text for fact in _facts_in(result, language) if fact.kind == kind} - before


@pytest.mark.django_db
@pytest.mark.usefixtures("demo")
def test_what_only_other_stores_have_is_no_yes_at_the_place_talked_about() -> None:
    result = _result(*LIST, "en")
    result.evidence["there"] = {"label_en": "Jaffa", "label_he": "יפו", "packs": {"9": 1}}
    found = {fact.subject: fact for fact in _facts_in(result, "en") if fact.kind == "listed"}
    assert found["Nurofen"].polarity is True and found["PainAway"].polarity is False
    assert found["Ibuprofen"].polarity is None and "Jaffa: none" in found["Ibuprofen"].text
    assert next(iter(found)) == "Nurofen"


@pytest.mark.django_db
@pytest.mark.usefixtures("demo")
@pytest.mark.parametrize("language", LANGUAGES)
def test_equivalents_say_that_they_need_a_prescription(language: Language) -> None:
    needed = {"en": "prescription", "he": "מרשם"}[language]
    result = _result("inventory_find_equivalent", {"med_id": "14", "language": language}, language)
    [one] = _facts_in(result, language)
    assert needed in one.text and one.brief and needed in one.brief
    row = result.evidence["equivalents"][0]
    result.evidence["equivalents"] = [row, {**row, "label_en": "Second", "label_he": "שני", "rx": False}]
    [both] = _facts_in(result, language)
    last = both.brief.rsplit(". ", 1)[-1] if both.brief else ""
    assert needed in last and "Second" not in last and "שני" not in last
    assert both.text.count(needed) == one.text.count(needed)
