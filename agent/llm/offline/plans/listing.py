"""Answer with lists of products: by form or strength, by category, at a place, identical equivalents."""

from collections.abc import Generator, Sequence

from agent.answers.answer import Answer
from agent.answers.cards import products_card
from agent.answers.equivalents import equivalents_part
from agent.answers.facts.fact import Fact, chosen
from agent.answers.facts.lists import MOST_LISTED, list_fact, sorted_there, unreadable_fact
from agent.answers.facts.medicines import name_facts, prescription_note
from agent.answers.facts.results import facts_of
from agent.answers.facts.stores import as_of_fact, total_fact
from agent.answers.layout import numbered
from agent.answers.products import about, exact_name, medicine_of, option_of, product_line
from agent.answers.renderer import Renderer
from agent.answers.stock import units
from agent.evidence import Evidence, ProductFacts, products_listed, totals_of
from agent.inference.base import Step, StepResult
from agent.llm.offline.frames import Frame
from agent.llm.offline.plans.names import asked_by_name, choices, choose, tool_query, unresolved
from agent.llm.offline.plans.plan import Plan
from agent.llm.offline.reading.references import same_strength
from agent.state import RememberedMedication

MOST_AT_A_PLACE = 7  # of the eight steps that a turn has


def by_form(renderer: Renderer, frame: Frame) -> Plan:
    """Search all products for the form or strength that was named (S1 `inventory_check`)."""
    medication = frame.medicines[0] if frame.medicines else {}
    # By the product's own name: an alias ("Acamol") finds only its product, not the ingredient's other forms.
    name = str(medication["en"]) if "id" in medication else tool_query(medication)
    wanted = [name, *frame.details.get("strengths", ()), frame.details.get("form_text", "")]
    query = " ".join(part for part in wanted if part)
    forms = [renderer.word("form", form) for form in frame.details.get("forms", ())]
    called = " ".join(
        part
        for part in (
            renderer.name(medication) or tool_query(medication),
            *frame.details.get("strengths", ()),
            *forms,
        )
        if part
    )
    return (yield from _search(renderer, frame, query, called=called))


def category(renderer: Renderer, frame: Frame) -> Plan:
    """List the products of a category, in no order of preference."""
    query = str(frame.details.get("category") or "")
    return (yield from _search(renderer, frame, query, is_category=True))


def category_at(renderer: Renderer, frame: Frame) -> Plan:
    """List which of the products just listed a place has. No two of them are checked together: it is a list."""
    place = frame.place or {}
    medicines = frame.medicines[:MOST_AT_A_PLACE]
    results = yield [
        Step(
            "check_stock",
            {
                "medication_query": tool_query(one),
                "store_query": place.get("query"),
                "show_all_stores": False,
            },
        )
        for one in medicines
    ]
    if any(result.code == "CITY_NOT_SERVED" for result in results):
        said = chosen(facts_of(renderer, results[0]), "place")
        return Answer(said, suggestions=[renderer.say("chip_branches")])
    lines = [_line_at(renderer, result) for result in results if result.ok]
    if not lines:
        return Answer([unreadable_fact(renderer)], suggestions=[renderer.say("chip_person")])
    head = renderer.say("listed_at", store=renderer.name(place))
    listed = Fact("list", renderer.name(place), f"{head}\n{numbered(lines)}", is_lasting=False)
    return Answer(
        [listed, renderer.say("category_note"), as_of_fact(renderer)],
        suggestions=[renderer.name(one) for one in medicines[:3]],
        state={"shown": [one.copy() for one in frame.medicines], "focus": []},
    )


def _line_at(renderer: Renderer, result: StepResult) -> str:
    """Return a product with its packs at the place that its stock was read for."""
    evidence, facts = result.evidence, result.evidence["medication"]
    rows = [evidence["requested"]] if evidence.get("requested") else evidence.get("stores", [])
    quantity = sum(int(row["quantity"]) for row in rows)
    return f"{product_line(renderer, facts)} – {units(renderer, facts, quantity)}"


def _search(
    renderer: Renderer, frame: Frame, query: str, *, called: str = "", is_category: bool = False
) -> Plan:
    [result] = yield [Step("inventory_check", {"query": query[:200], "language": renderer.language})]
    if is_category and result.code == "MED_NOT_FOUND":
        return Answer([renderer.say("category_none")], suggestions=[renderer.say("chip_person")])
    if not result.ok:
        return unresolved(renderer, frame, result)
    products = products_listed(result.evidence)
    if is_category:
        products = sorted(products, key=renderer.of)
        products = [row for row in products if _as_asked(row, frame)] or products  # "... as a syrup"
        products = sorted_there(products, result.evidence)
        # The category's own name: not all that is listed under it need be what the customer called it ("NSAIDs").
        name = renderer.of(products[0], "category") or query
        head = renderer.say("category_head", category=name)
        return _products(renderer, Frame("info", 0.9), products, result.evidence, head)
    head = "" if any(_as_asked(row, frame) for row in products) else renderer.say("other_form")
    meant = next(
        (row for row in products if row["id"] in [one.get("id") for one in frame.medicines[:1]]), None
    )
    if meant:
        # Other products only when they hold the same: Acamol 500 mg is not codeine with paracetamol.
        products = [row for row in products if row["generic_en"] == meant["generic_en"]]
    if len(products) == 1:
        answer = yield from _single(renderer, products[0], result.evidence)
        answer.pieces = [*([head] if head else []), *answer.pieces]
        return answer
    head = head or renderer.say("matches_head", query=called or query)
    return _products(renderer, Frame("stock", 0.9), products, result.evidence, head)


def _products(
    renderer: Renderer, waiting: Frame, products: Sequence[ProductFacts], evidence: Evidence, head: str
) -> Answer:
    """List products under this head: those of a category, or those among which the customer shall choose."""
    is_choice = waiting.intent == "stock"
    options = [option_of(row, exact_name(row)) for row in products[:MOST_LISTED]]
    listed = list_fact(renderer, products, evidence, head=head, is_choice=is_choice)
    asks = [renderer.say("matches_ask")] if is_choice else []
    as_of = as_of_fact(renderer)
    answer = choices(renderer, waiting, options, [listed, *asks, as_of])
    title = head.rstrip(":")
    shown = products[:MOST_LISTED]
    answer.cards = [products_card(renderer, "stock", title, shown, evidence, as_of.text)]
    if not is_choice:
        answer.state = {"shown": answer.state["shown"], "pending": None, "focus": []}
    return answer


def _as_asked(facts: ProductFacts, frame: Frame) -> bool:
    """Return whether a product has the strength and form that the customer asked for; no other product may be offered as that one."""
    strength = str(facts.get("strength") or "")
    forms = frame.details.get("forms", ())
    return all(same_strength(strength, asked) for asked in frame.details.get("strengths", ())) and (
        not forms or facts.get("form") in forms
    )


def _single(renderer: Renderer, facts: ProductFacts, evidence: Evidence) -> Plan:
    mine, total = medicine_of(facts), totals_of(evidence).get(facts["id"], 0)
    stocked = total_fact(renderer, facts, total, called=product_line(renderer, facts))
    note = prescription_note(renderer, facts)
    chips = [renderer.say(chip, name=renderer.of(facts)) for chip in ("chip_where", "chip_info")]
    if facts["controlled"] or total:
        closing = [as_of_fact(renderer)] if stocked.polarity else []
        return Answer([stocked, note, *closing], suggestions=chips, state=about([mine]))
    same = yield from equivalents_of(renderer, mine)
    state = about([mine]) | {"shown": same.state.get("shown", [])}
    return Answer([stocked, note, *same.pieces], cards=same.cards, suggestions=chips, state=state)


def equivalents_of(
    renderer: Renderer, medication: RememberedMedication
) -> Generator[Sequence[Step], Sequence[StepResult], Answer]:
    """List identical equivalents with the full disclosure, neutrally (S1)."""
    arguments = {
        "med_id": str(medication["id"]),
        "language": renderer.language,
        "require_same_strength": True,
        "require_same_form": True,
    }
    [result] = yield [Step("inventory_find_equivalent", arguments)]
    return equivalents_part(renderer, medication, result)


def equivalents(renderer: Renderer, frame: Frame) -> Plan:
    """List the identical equivalents that the customer asks for."""
    medication = frame.medicines[0]
    if frame.assumed and len(frame.medicines) > 1:
        return choose(renderer, frame, frame.medicines, head=renderer.say("which_of_these"))
    if "id" not in medication:
        found = yield from asked_by_name(renderer, frame, medication, "get_medication_by_name")
        if isinstance(found, Answer):
            return found
        medication = medicine_of(found.evidence["medication"])
    answer = yield from equivalents_of(renderer, medication)
    listed_as = {"label_en": medication.get("en"), "label_he": medication.get("he")}
    answer.pieces = [*name_facts(renderer, frame.medicines[0], listed_as), *answer.pieces]
    return answer
