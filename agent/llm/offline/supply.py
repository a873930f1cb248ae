"""Plans for stock: at the default store, by place, by form or category, restock dates and identical equivalents."""

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from agent.llm.base import Step, StepResult
from agent.llm.offline.answer import (
    Part,
    Plan,
    View,
    medicine_of,
    numbered,
    open_words,
    option_of,
    paragraphs,
    product_line,
    rx_tag,
)
from agent.llm.offline.facts import check_pairs, joined, said_otherwise
from agent.llm.offline.frames import Frame, Medication
from agent.llm.offline.names import about, asked_by_name, choose, exact_name, tool_query, unresolved
from agent.llm.offline.pointing import same_strength
from agent.llm.offline.talk import FAR
from agent.wording import apart

LOW = 10  # S0: ten or fewer is said plainly
MOST_BRANCHES = 5
MOST_LISTED = 10
FEW = 3  # of products that nobody has, enough to show that they exist


def stock(view: View, frame: Frame) -> Plan:
    """Whether a product is in stock (S0 flow B): the default store first, then the branches."""
    if len(frame.medicines) < 2 and (frame.details.get("strengths") or frame.details.get("forms")):
        return (yield from by_form(view, frame))
    parts, known = [], []
    alone = len(frame.medicines) == 1
    for medication in frame.medicines[:3]:
        one = Frame(
            frame.intent, frame.confidence, (medication,), details=frame.details, assumed=frame.assumed
        )
        # A turn has eight steps: with three medicines the branches are not read as well.
        part = yield from _stock_of(view, one, medication, spread=len(frame.medicines) <= 2, alone=alone)
        parts.append(part)
        known += part.state.get("focus", [])
    if alone:
        return parts[0]
    return joined(parts, known, (yield from check_pairs(view, known)))


def _stock_of(view: View, frame: Frame, medication: Medication, *, spread: bool, alone: bool) -> Plan:
    found = yield from asked_by_name(view, frame, medication, "get_medication_by_name")
    if isinstance(found, Part):
        return found
    facts = found.evidence["medication"]
    name = view.of(facts)
    mine = medicine_of(facts)
    [level] = yield [Step("check_inventory", {"medication_id": facts["id"]})]
    said = said_otherwise(view, medication, facts)
    note = view.say("rx_note", name=name) if facts["rx"] else view.say("otc_note")
    chips = [view.say("chip_where", name=name), view.say("chip_info", name=name)]
    if not level.ok and level.code != "NOT_FOUND":
        return Part(view.say("data_error"), suggestions=[view.say("chip_person")], state=about([mine]))
    if facts.get("controlled"):
        text = paragraphs(said, view.say("controlled_stock", name=name), note)
        return Part(
            text, suggestions=[view.say("chip_branches"), view.say("chip_person")], state=about([mine])
        )
    inventory = level.result.get("inventory", {})
    if inventory.get("in_stock"):
        quantity = int(inventory["qty"])
        low = quantity <= LOW or level.evidence.get("low")
        text = view.count("in_stock_low" if low else "in_stock", quantity, name=name)
        return Part(
            paragraphs(said, text, note, reservation(view, frame), as_of(view)),
            suggestions=chips,
            state=about([mine]),
        )
    if frame.details.get("online") or not spread:
        text = none_there(view, name, level)
        return Part(
            paragraphs(said, text, restock_line(view, inventory.get("restock_eta")), note),
            suggestions=chips,
            state=about([mine]),
        )
    [around] = yield [
        Step(
            "check_stock",
            {"medication_query": tool_query(_exact(facts, medication)), "show_all_stores": False},
        )
    ]
    stores = list(around.evidence.get("stores") or ()) if around.ok else []
    if stores:
        head = none_there(view, name, level) if level.ok else ""
        eta = restock_line(view, inventory.get("restock_eta"))
        return Part(
            paragraphs(
                said,
                head,
                eta,
                _branches(view, frame, stores, around),
                note,
                reservation(view, frame),
                as_of(view),
            ),
            cards=[stock_card(view, facts, stores)],
            suggestions=chips,
            state=about([mine]) | {"last_stores": [row["store_id"] for row in stores[:MOST_BRANCHES]]},
        )
    if not level.ok:
        return Part(
            paragraphs(said, view.say("no_inventory", name=name), note),
            suggestions=[view.say("chip_person")],
            state=about([mine]),
        )
    eta = inventory.get("restock_eta")
    dated = restock_line(view, eta) if eta else view.say("restock_none")
    same = (yield from equivalents_of(view, mine)) if alone else Part("")
    return Part(
        paragraphs(said, f"{view.say('out_of_stock', name=name)} {dated}", note, same.text),
        cards=same.cards,
        suggestions=[view.say("chip_info", name=name), view.say("chip_person")],
        state=about([mine]) | {"shown": same.state.get("shown", [])},
    )


def _exact(facts: Mapping[str, Any], medication: Medication) -> Medication:
    return medication if "name" in medication else {"said": medication.get("said") or facts["label_en"]}


def none_there(view: View, name: str, level: StepResult) -> str:
    """Out of stock at the store that was read."""
    store = level.evidence.get("store") if level.ok else None
    if not store:
        return view.say("no_inventory", name=name)
    if store.get("kind") == "online":
        return view.say("out_of_stock_online", name=name)
    return view.say("out_of_stock_at", name=name, store=view.of(store))


def stocked_at(view: View, name: str, store: Mapping[str, Any], quantity: int, *, low: bool) -> str:
    """In stock at a branch or in the online store."""
    key = "in_stock_online" if store.get("kind") == "online" else "in_stock_at"
    return view.count(f"{key}_low" if low else key, quantity, name=name, store=view.of(store))


def restock_line(view: View, day: str | None) -> str:
    """The restock date in words, when there is one."""
    return view.say("restock", date=view.date(day)) if day else ""


def as_of(view: View) -> str:
    """When the stock was read; it is no reservation."""
    return view.say("stock_note", time=f"{view.turn.now:%H:%M}")


def reservation(view: View, frame: Frame) -> str:
    """Said when somebody wants to order: nothing here reserves."""
    return view.say("no_reservation", phone="") if frame.details.get("reserve") else ""


def stock_place(view: View, frame: Frame) -> Plan:
    """Stock in branches (S2): at the place asked about, else the nearest that have it, with identical equivalents."""
    if len(frame.medicines) > 1:
        parts, known = [], []
        for medication in frame.medicines[:3]:
            one = Frame("stock_place", frame.confidence, (medication,), frame.place, details=frame.details)
            part = yield from _place_of(view, one, medication, further=False)
            parts.append(part)
            known += part.state.get("focus", [])
        return joined(parts, known, (yield from check_pairs(view, known)))
    return (yield from _place_of(view, frame, frame.medicines[0], further=True))


def _place_of(view: View, frame: Frame, medication: Medication, *, further: bool) -> Plan:
    place = frame.place
    arguments: dict[str, Any] = {"medication_query": tool_query(medication)}
    if place:
        arguments["store_query"] = place["query"]
    arguments["show_all_stores"] = bool(frame.details.get("all_stores"))
    [result] = yield [Step("check_stock", arguments)]
    if not result.ok:
        if result.code == "CITY_NOT_SERVED":
            return _not_served(view, frame, medication, result)
        return unresolved(view, frame, medication, result)
    facts, evidence = result.evidence["medication"], result.evidence
    name, mine = view.of(facts), medicine_of(facts)
    said = said_otherwise(view, medication, facts)
    note = view.say("rx_note", name=name) if facts["rx"] else view.say("otc_note")
    stores = list(evidence.get("stores") or ())
    requested = evidence.get("requested")
    state = about([mine]) | {
        "last_stores": [
            row["store_id"] for row in [*([requested] if requested else []), *stores][:MOST_BRANCHES]
        ]
    }
    chips = [view.say("chip_info", name=name), view.say("chip_equivalents", name=name)]
    if evidence.get("controlled"):
        text = paragraphs(said, view.say("controlled_stock", name=name), note)
        return Part(text, suggestions=[view.say("chip_branches"), view.say("chip_person")], state=state)
    if requested and requested["quantity"]:
        quantity = int(requested["quantity"])
        low = quantity <= LOW or requested.get("low")
        text = stocked_at(view, name, requested, quantity, low=bool(low))
        open_line = (
            f"{view.of(requested)}: {open_words(view, requested)}" if frame.details.get("open") else ""
        )
        others = _branches(view, frame, stores, result) if frame.details.get("all_stores") and stores else ""
        return Part(
            paragraphs(said, text, open_line, others, note, reservation(view, frame), as_of(view)),
            cards=[stock_card(view, facts, [requested])],
            suggestions=[view.say("chip_where", name=name), *chips],
            state=state,
        )
    heads = []
    if requested:
        online_store = requested.get("kind") == "online"
        heads.append(
            view.say(
                "out_of_stock_online" if online_store else "out_of_stock_at",
                name=name,
                store=view.of(requested),
            )
        )
        heads.append(restock_line(view, requested.get("restock_on")))
    elif evidence.get("place") == "city" and stores:
        heads.append(view.say("branches_city", name=name, city=view.of(evidence, "city")))
    elif evidence.get("place") == "city":
        heads.append(view.say("out_of_stock_city", name=name, city=view.of(evidence, "city")))
        stores = list(evidence.get("elsewhere") or ())
    stocked = [row for row in stores if row["quantity"]]
    if evidence.get("place") == "city" and stocked and not evidence.get("elsewhere"):
        body = _lines(view, frame, stores)
    elif stores:
        body = _branches(view, frame, stores, result)
    else:
        body = view.say("branches_none") if requested else ""
    online, eta = "", None
    if not stocked and further:
        # No branch has it: the default store, which is no branch, may.
        [level] = yield [Step("check_inventory", {"medication_id": facts["id"]})]
        inventory = level.result.get("inventory", {}) if level.ok else {}
        store, eta = level.evidence.get("store") or {}, inventory.get("restock_eta")
        if inventory.get("in_stock") and store:
            quantity = int(inventory["qty"])
            online = stocked_at(view, name, store, quantity, low=quantity <= LOW)
    if not stocked and not requested and evidence.get("place") != "city":
        heads.append(view.say("branches_none" if online else "out_of_stock", name=name))
        heads.append("" if online else restock_line(view, eta))
    body = paragraphs(body, online)
    same = Part("")
    if further and (requested or not (stocked or online)):
        same = yield from equivalents_of(view, mine)
    return Part(
        paragraphs(
            said,
            " ".join(head for head in heads if head),
            body,
            note,
            same.text,
            reservation(view, frame),
            as_of(view) if stocked else "",
        ),
        cards=[*([stock_card(view, facts, stores)] if stores else []), *same.cards],
        suggestions=chips,
        state=state | ({"shown": same.state["shown"]} if same.state.get("shown") else {}),
    )


def _not_served(view: View, frame: Frame, medication: Medication, result: StepResult) -> Part:
    """No store in the place: say so, with the nearest branch when the place is known."""
    evidence = result.evidence
    city = (
        frame.place["en" if view.language == "en" else "he"]
        if frame.place
        else str(result.result.get("city", ""))
    )
    lines = [view.say("city_not_served", city=city)]
    facts = evidence.get("medication") or {}
    nearest, stocked = (dict(evidence.get(key) or {}) for key in ("nearest", "nearest_stocked"))
    if near := evidence.get("near_place"):
        lines.append(view.say("near_place", name=view.of(near)))
    for row in (nearest, stocked):
        if row and (row.get("km") or 0) > FAR:
            row["km"] = None
    if facts and not facts.get("controlled") and stocked.get("store_id") == nearest.get("store_id"):
        nearest = {}  # one sentence says both
    if nearest and nearest.get("km") is not None:
        lines.append(view.say("nearest_branch", store=view.of(nearest), km=nearest["km"]))
    if stocked and stocked.get("km") is not None and facts and not facts.get("controlled"):
        lines.append(
            view.say("nearest_stocked", name=view.of(facts), store=view.of(stocked), km=stocked["km"])
        )
    known = about([medicine_of(facts)]) if facts else {}
    chips = [view.say("chip_branches")]
    if facts:
        chips.insert(0, view.say("chip_where", name=view.of(facts)))
    return Part(paragraphs(*lines), suggestions=chips, state=known)


def _branches(view: View, frame: Frame, stores: Sequence[Mapping[str, Any]], result: StepResult) -> str:
    measured = any(row.get("km") is not None for row in stores)
    key = (
        "branches_all"
        if frame.details.get("all_stores")
        else "branches_nearest"
        if measured
        else "branches_with"
    )
    tail = "" if measured or not frame.details.get("here") else view.say("share_location")
    return paragraphs(f"{view.say(key)}\n{_lines(view, frame, stores)}", tail)


def _lines(view: View, frame: Frame, stores: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    open_only = bool(frame.details.get("open")) and not frame.details.get("day")
    chosen = [row for row in stores if row.get("open_now")] if open_only else list(stores)
    for row in (chosen or list(stores))[:MOST_BRANCHES]:
        parts = [view.count("units", int(row["quantity"])) if row["quantity"] else view.say("none_left")]
        if row.get("km") is not None:
            parts.append(view.say("km", km=row["km"]))
        if frame.details.get("open"):
            parts.append(open_words(view, row))
        rows.append(f"{apart(view.of(row), view.language)} – {', '.join(parts)}")
    return numbered(rows)


def stock_card(view: View, facts: Mapping[str, Any], stores: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Stock by branch as a table."""
    measured = any(row.get("km") is not None for row in stores)
    columns = [view.word("column", "branch"), view.word("column", "packs")]
    columns += [view.word("column", "distance")] if measured else []
    columns.append(view.word("column", "hours"))
    rows = []
    for row in stores[:MOST_BRANCHES]:
        cells = [view.of(row), str(row["quantity"])]
        if measured:
            cells.append(view.say("km", km=row["km"]) if row.get("km") is not None else "")
        cells.append(open_words(view, row))
        rows.append(cells)
    return {
        "kind": "stock",
        "data": {
            "title": view.say("card_stock", name=view.of(facts)),
            "tag": rx_tag(view, facts),
            "columns": columns,
            "rows": rows,
            "note": as_of(view),
        },
    }


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
    columns = [view.word("column", key) for key in ("product", "stock")]
    rows = [[product_line(view, row), _total(view, row, totals)] for row in shown]
    part.cards = [{"kind": "stock", "data": {"title": name, "columns": columns, "rows": rows}}]
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
    name = view.name(medication)
    if not result.ok:
        key = "no_equivalents" if result.code == "NO_EQUIVALENTS_FOUND" else "data_error"
        facts_of = result.evidence.get("medication") or {}
        reserved = (
            view.say("pharmacist_only", name=name)
            if facts_of.get("substitution") == "pharmacist_only"
            else ""
        )
        text = view.say(key, name=name) if key == "no_equivalents" else view.say(key)
        return Part(paragraphs(text, reserved), state=about([medication]))
    totals = {int(pk): int(total) for pk, total in dict(result.evidence["totals"]).items()}
    facts = list(result.evidence["equivalents"])
    stocked = [row for row in facts if totals.get(int(row["id"]))]
    facts = (stocked or facts)[: MOST_LISTED if stocked else FEW]
    head = view.say("equivalents_head", name=name)
    lines = [f"{product_line(view, row)} – {_total(view, row, totals)}" for row in facts]
    decides = result.evidence.get("substitution") == "pharmacist_only" or any(
        row.get("substitution") == "pharmacist_only" for row in facts
    )
    warns = view.say("pharmacist_only", name=name) if decides else ""
    rows = [[product_line(view, row), _total(view, row, totals)] for row in facts]
    card = {
        "kind": "equivalents",
        "data": {
            "title": view.say("card_equivalents", name=name),
            "columns": [view.word("column", "product"), view.word("column", "stock")],
            "rows": rows,
            "note": view.say("disclosure"),
        },
    }
    return Part(
        paragraphs(f"{head}\n{numbered(lines)}", view.say("disclosure"), warns),
        cards=[card],
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


def restock(view: View, frame: Frame) -> Plan:
    """When a product is expected back."""
    medication = frame.medicines[0]
    found = yield from asked_by_name(view, frame, medication, "get_medication_by_name")
    if isinstance(found, Part):
        return found
    facts = found.evidence["medication"]
    name, mine = view.of(facts), medicine_of(facts)
    [level] = yield [Step("check_inventory", {"medication_id": facts["id"]})]
    chips = [view.say("chip_where", name=name), view.say("chip_equivalents", name=name)]
    if facts.get("controlled") or not level.ok:
        key = "controlled_stock" if facts.get("controlled") else "no_inventory"
        return Part(view.say(key, name=name), suggestions=[view.say("chip_person")], state=about([mine]))
    inventory = level.result["inventory"]
    if inventory["in_stock"]:
        quantity = int(inventory["qty"])
        text = view.count("in_stock_low" if quantity <= LOW else "in_stock", quantity, name=name)
        return Part(paragraphs(text, as_of(view)), suggestions=chips, state=about([mine]))
    eta = inventory.get("restock_eta")
    day = restock_line(view, eta) if eta else view.say("restock_none")
    head = none_there(view, name, level)
    return Part(f"{head} {day}", suggestions=chips, state=about([mine]))
