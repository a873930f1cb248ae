"""Answer with lists of products: by form or strength, by category, at a place, identical equivalents."""

from collections.abc import Generator, Mapping, Sequence

from agent.answers.cards import products_card
from agent.answers.equivalents import MOST_LISTED, equivalents_part
from agent.answers.layout import numbered, paragraphs
from agent.answers.parts import AnswerPart
from agent.answers.products import (
    about,
    exact_name,
    medicine_of,
    name_correction,
    option_of,
    product_line,
    rx_tag,
)
from agent.answers.renderer import Renderer
from agent.answers.stock import LOW, as_of, units
from agent.evidence import ProductFacts, products_listed, totals_of
from agent.inference.base import Step, StepResult
from agent.llm.offline.frames import Frame
from agent.llm.offline.plans.names import asked_by_name, choose, tool_query, unresolved
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
        lines = [renderer.say("city_not_served", city=renderer.name(place))]
        return AnswerPart(paragraphs(*lines), suggestions=[renderer.say("chip_branches")])
    lines = []
    for result in results:
        if not result.ok:
            continue
        facts, evidence = result.evidence["medication"], result.evidence
        rows = [evidence["requested"]] if evidence.get("requested") else list(evidence.get("stores") or ())
        quantity = sum(int(row["quantity"]) for row in rows)
        lines.append(
            f"{product_line(renderer, facts)} – {units(renderer, facts, {int(facts['id']): quantity})}"
        )
    if not lines:
        return AnswerPart(renderer.say("data_error"), suggestions=[renderer.say("chip_person")])
    head = renderer.say("listed_at", store=renderer.name(place))
    return AnswerPart(
        paragraphs(f"{head}\n{numbered(lines)}", renderer.say("category_note"), as_of(renderer)),
        suggestions=[renderer.name(one) for one in medicines[:3]],
        state={"shown": [one.copy() for one in frame.medicines], "focus": []},
    )


def _search(
    renderer: Renderer, frame: Frame, query: str, *, called: str = "", is_category: bool = False
) -> Plan:
    [result] = yield [Step("inventory_check", {"query": query[:200], "language": renderer.language})]
    if is_category and result.code == "MED_NOT_FOUND":
        return AnswerPart(renderer.say("category_none"), suggestions=[renderer.say("chip_person")])
    if not result.ok:
        return unresolved(renderer, frame, {"query": query}, result)
    facts = products_listed(result.evidence)
    totals = totals_of(result.evidence)
    if is_category:
        facts = sorted(facts, key=renderer.of)
        facts = [row for row in facts if _as_asked(row, frame)] or facts  # "pain relievers as a syrup"
    head = "" if is_category or any(_as_asked(row, frame) for row in facts) else renderer.say("other_form")
    meant = (
        next((row for row in facts if row["id"] == frame.medicines[0].get("id")), None)
        if frame.medicines
        else None
    )
    if meant and not is_category:
        # Other products only when they hold the same: Acamol 500 mg is not codeine with paracetamol.
        facts = [row for row in facts if row.get("generic_en") == meant.get("generic_en")]
    if len(facts) == 1 and not is_category:
        part = yield from _single(renderer, frame, facts[0], totals)
        part.text = paragraphs(head, part.text)
        return part
    shown = facts[:MOST_LISTED]
    lines = [
        f"{product_line(renderer, row)} – {rx_tag(renderer, row)}, {units(renderer, row, totals)}"
        for row in shown
    ]
    # The category's own name: not all that is listed under it need be what the customer called it ("NSAIDs").
    called = (renderer.of(facts[0], "category") or query) if is_category else called
    name = (
        renderer.say("category_head", category=called)
        if is_category
        else head or renderer.say("matches_head", query=called or query)
    )
    more = renderer.say("more_exist") if len(facts) > len(shown) or result.evidence.get("more") else ""
    foot = renderer.say("category_note") if is_category else renderer.say("matches_ask")
    options = [option_of(row, exact_name(row)) for row in shown]
    part = choose(renderer, Frame("info" if is_category else "stock", 0.9), options, head="")
    part.text = paragraphs(name, numbered(lines), more, foot, as_of(renderer))
    part.cards = [products_card(renderer, "stock", name.rstrip(":"), shown, totals, as_of(renderer))]
    if is_category:
        part.state = {"shown": part.state["shown"], "pending": None, "focus": []}
    return part


def _as_asked(facts: ProductFacts, frame: Frame) -> bool:
    """Return whether a product has the strength and form that the customer asked for; no other product may be offered as that one."""
    strength = str(facts.get("strength") or "")
    forms = frame.details.get("forms", ())
    return all(same_strength(strength, asked) for asked in frame.details.get("strengths", ())) and (
        not forms or facts.get("form") in forms
    )


def _single(renderer: Renderer, frame: Frame, facts: ProductFacts, totals: Mapping[int, int]) -> Plan:
    name, mine = product_line(renderer, facts), medicine_of(facts)
    note = renderer.say("rx_note", name=renderer.of(facts)) if facts["rx"] else renderer.say("otc_note")
    chips = [
        renderer.say("chip_where", name=renderer.of(facts)),
        renderer.say("chip_info", name=renderer.of(facts)),
    ]
    if facts.get("controlled"):
        return AnswerPart(
            paragraphs(renderer.say("controlled_stock", name=name), note),
            suggestions=chips,
            state=about([mine]),
        )
    total = totals.get(int(facts["id"]), 0)
    if total:
        text = renderer.count("in_stock_low" if total <= LOW else "in_stock", total, name=name)
        return AnswerPart(paragraphs(text, note, as_of(renderer)), suggestions=chips, state=about([mine]))
    same = yield from equivalents_of(renderer, mine)
    return AnswerPart(
        paragraphs(renderer.say("out_of_stock", name=name), note, same.text),
        cards=same.cards,
        suggestions=chips,
        state=about([mine]) | {"shown": same.state.get("shown", [])},
    )


def equivalents_of(
    renderer: Renderer, medication: RememberedMedication
) -> Generator[Sequence[Step], Sequence[StepResult], AnswerPart]:
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
        if isinstance(found, AnswerPart):
            return found
        medication = medicine_of(found.evidence["medication"])
    part = yield from equivalents_of(renderer, medication)
    listed_as = {"label_en": medication.get("en"), "label_he": medication.get("he")}
    part.text = paragraphs(name_correction(renderer, frame.medicines[0], listed_as), part.text)
    return part
