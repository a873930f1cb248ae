"""Plans for lists of products: by form or strength, a category, which of them a place has, identical equivalents."""

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from agent.inference.base import Step, StepResult
from agent.llm.offline.answer import (
    Part,
    Plan,
    View,
    as_of,
    medicine_of,
    numbered,
    option_of,
    paragraphs,
    product_line,
    rx_tag,
)
from agent.llm.offline.cards import LOW, products_card
from agent.llm.offline.facts import said_otherwise
from agent.llm.offline.frames import Frame
from agent.llm.offline.names import about, asked_by_name, choose, exact_name, tool_query, unresolved
from agent.llm.offline.pointing import same_strength

MOST_LISTED = 10
MOST_AT_A_PLACE = 7  # of the eight steps that a turn has
FEW = 3  # of products that nobody has, enough to show that they exist


def by_form(view: View, frame: Frame) -> Plan:
    """A form or strength was said: search all products for it (S1 `inventory_check`)."""
    medication = frame.medicines[0] if frame.medicines else {}
    # By the product's own name: an alias ("Acamol") finds only its product, not the ingredient's other forms.
    name = str(medication["en"]) if "id" in medication else tool_query(medication)
    wanted = [name, *frame.details.get("strengths", ()), frame.details.get("form_text", "")]
    query = " ".join(part for part in wanted if part)
    forms = [view.word("form", form) for form in frame.details.get("forms", ())]
    called = " ".join(
        part
        for part in (
            view.name(medication) or tool_query(medication),
            *frame.details.get("strengths", ()),
            *forms,
        )
        if part
    )
    return (yield from _search(view, frame, query, called=called))


def category(view: View, frame: Frame) -> Plan:
    """The products of a category, in no order of preference."""
    query = str(frame.details.get("category") or "")
    return (yield from _search(view, frame, query, is_category=True))


def category_at(view: View, frame: Frame) -> Plan:
    """Which of the products just listed a place has; a list of products, so no two of them are looked at together."""
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
        lines = [view.say("city_not_served", city=view.name(place))]
        return Part(paragraphs(*lines), suggestions=[view.say("chip_branches")])
    lines = []
    for result in results:
        if not result.ok:
            continue
        facts, evidence = result.evidence["medication"], result.evidence
        rows = [evidence["requested"]] if evidence.get("requested") else list(evidence.get("stores") or ())
        quantity = sum(int(row["quantity"]) for row in rows)
        lines.append(f"{product_line(view, facts)} – {_total(view, facts, {int(facts['id']): quantity})}")
    if not lines:
        return Part(view.say("data_error"), suggestions=[view.say("chip_person")])
    head = view.say("listed_at", store=view.name(place))
    return Part(
        paragraphs(f"{head}\n{numbered(lines)}", view.say("category_note"), as_of(view)),
        suggestions=[view.name(one) for one in medicines[:3]],
        state={"shown": [dict(one) for one in frame.medicines], "focus": []},
    )


def _search(view: View, frame: Frame, query: str, *, called: str = "", is_category: bool = False) -> Plan:
    [result] = yield [Step("inventory_check", {"query": query[:200], "language": view.language})]
    if is_category and result.code == "MED_NOT_FOUND":
        return Part(view.say("category_none"), suggestions=[view.say("chip_person")])
    if not result.ok:
        return unresolved(view, frame, {"query": query}, result)
    facts = list(result.evidence["medications"])
    totals = {int(pk): int(total) for pk, total in dict(result.evidence["totals"]).items()}
    if is_category:
        facts.sort(key=lambda row: view.of(row))
        facts = [row for row in facts if _as_asked(row, frame)] or facts  # "pain relievers as a syrup"
    head = "" if is_category or any(_as_asked(row, frame) for row in facts) else view.say("other_form")
    meant = (
        next((row for row in facts if row["id"] == frame.medicines[0].get("id")), None)
        if frame.medicines
        else None
    )
    if meant and not is_category:
        # Other products only when they hold the same: Acamol 500 mg is not codeine with paracetamol.
        facts = [row for row in facts if row.get("generic_en") == meant.get("generic_en")]
    if len(facts) == 1 and not is_category:
        part = yield from _single(view, frame, facts[0], totals)
        part.text = paragraphs(head, part.text)
        return part
    shown = facts[:MOST_LISTED]
    lines = [f"{product_line(view, row)} – {rx_tag(view, row)}, {_total(view, row, totals)}" for row in shown]
    # The category's own name: not all that is listed under it need be what the customer called it ("NSAIDs").
    called = (view.of(facts[0], "category") or query) if is_category else called
    name = (
        view.say("category_head", category=called)
        if is_category
        else head or view.say("matches_head", query=called or query)
    )
    more = view.say("more_exist") if len(facts) > len(shown) or result.evidence.get("more") else ""
    foot = view.say("category_note") if is_category else view.say("matches_ask")
    options = [option_of(row, exact_name(row)) for row in shown]
    part = choose(view, Frame("info" if is_category else "stock", 0.9), options, head="")
    part.text = paragraphs(name, numbered(lines), more, foot, as_of(view))
    part.cards = [products_card(view, "stock", name.rstrip(":"), shown, totals, as_of(view))]
    if is_category:
        part.state = {"shown": part.state["shown"], "pending": None, "focus": []}
    return part


def _as_asked(facts: Mapping[str, Any], frame: Frame) -> bool:
    """Whether a product has the strength and form that were asked for; another one is never passed off as it."""
    strength = str(facts.get("strength") or "")
    forms = frame.details.get("forms", ())
    return all(same_strength(strength, asked) for asked in frame.details.get("strengths", ())) and (
        not forms or facts.get("form") in forms
    )


def _total(view: View, facts: Mapping[str, Any], totals: Mapping[int, int]) -> str:
    if facts.get("controlled"):
        return view.say("ask_branch")
    total = totals.get(int(facts["id"]), 0)
    return view.count("units", total) if total else view.say("none_left")


def _single(view: View, frame: Frame, facts: Mapping[str, Any], totals: Mapping[int, int]) -> Plan:
    name, mine = product_line(view, facts), medicine_of(facts)
    note = view.say("rx_note", name=view.of(facts)) if facts["rx"] else view.say("otc_note")
    chips = [view.say("chip_where", name=view.of(facts)), view.say("chip_info", name=view.of(facts))]
    if facts.get("controlled"):
        return Part(
            paragraphs(view.say("controlled_stock", name=name), note), suggestions=chips, state=about([mine])
        )
    total = totals.get(int(facts["id"]), 0)
    if total:
        text = view.count("in_stock_low" if total <= LOW else "in_stock", total, name=name)
        return Part(paragraphs(text, note, as_of(view)), suggestions=chips, state=about([mine]))
    same = yield from equivalents_of(view, mine)
    return Part(
        paragraphs(view.say("out_of_stock", name=name), note, same.text),
        cards=same.cards,
        suggestions=chips,
        state=about([mine]) | {"shown": same.state.get("shown", [])},
    )


def equivalents_of(
    view: View, medication: Mapping[str, Any]
) -> Generator[Sequence[Step], Sequence[StepResult], Part]:
    """Identical equivalents with the full disclosure, neutrally (S1)."""
    asked = {
        "med_id": str(medication["id"]),
        "language": view.language,
        "require_same_strength": True,
        "require_same_form": True,
    }
    [result] = yield [Step("inventory_find_equivalent", asked)]
    return equivalents_part(view, medication, result)


def equivalents_part(view: View, medication: Mapping[str, Any], result: StepResult) -> Part:
    """What may stand in a product's place by its ingredients, with the whole disclosure."""
    name = view.name(medication)
    evidence = result.evidence
    own: Mapping[str, Any] = evidence.get("medication") or {}
    decides = own.get("substitution") == "pharmacist_only"
    warns = view.say("pharmacist_only", name=name) if decides else ""
    if not result.ok:
        key = "no_equivalents" if result.code == "NO_EQUIVALENTS_FOUND" else "data_error"
        text = view.say(key, name=name) if key == "no_equivalents" else view.say(key)
        return Part(paragraphs(text, warns), state=about([medication]))
    # What only a pharmacist may put in a product's place is never listed in its place.
    facts = [row for row in evidence["equivalents"] if row.get("substitution") != "pharmacist_only"]
    if decides or not facts:
        text = view.say("pharmacist_only", name=name)
        return Part(text, suggestions=[view.say("chip_person")], state=about([medication]))
    totals = {int(pk): int(total) for pk, total in dict(evidence["totals"]).items()}
    stocked = [row for row in facts if totals.get(int(row["id"]))]
    facts = (stocked or facts)[: MOST_LISTED if stocked else FEW]
    head = view.say("equivalents_head", name=name)
    lines = [f"{product_line(view, row)} – {_total(view, row, totals)}" for row in facts]
    title = view.say("card_equivalents", name=name)
    return Part(
        paragraphs(f"{head}\n{numbered(lines)}", view.say("disclosure")),
        cards=[products_card(view, "equivalents", title, facts, totals, view.say("disclosure"))],
        suggestions=[view.say("chip_person")],
        state=about([medication]) | {"shown": [option_of(row, exact_name(row)) for row in facts]},
    )


def equivalents(view: View, frame: Frame) -> Plan:
    """Identical products, asked for outright."""
    medication = frame.medicines[0]
    if frame.assumed and len(frame.medicines) > 1:
        return choose(view, frame, frame.medicines, head=view.say("which_of_these"))
    if "id" not in medication:
        found = yield from asked_by_name(view, frame, medication, "get_medication_by_name")
        if isinstance(found, Part):
            return found
        medication = medicine_of(found.evidence["medication"])
    part = yield from equivalents_of(view, medication)
    listed_as = {"label_en": medication.get("en"), "label_he": medication.get("he")}
    part.text = paragraphs(said_otherwise(view, frame.medicines[0], listed_as), part.text)
    return part
