"""Plans for stock: at the default store, by place, and restock dates."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.answers.render import apart
from agent.inference.base import Step, StepResult
from agent.llm.offline.answer import (
    Part,
    Plan,
    View,
    as_of,
    medicine_of,
    numbered,
    open_words,
    paragraphs,
    stores_of,
)
from agent.llm.offline.cards import LOW, MOST_BRANCHES, stock_card
from agent.llm.offline.facts import check_pairs, joined, said_otherwise
from agent.llm.offline.frames import Frame, Medication
from agent.llm.offline.listing import by_form, equivalents_of
from agent.llm.offline.names import about, asked_by_name, from_talk, not_known, tool_query, unresolved
from agent.llm.offline.talk import FAR, hours_today


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
            cards=[stock_card(view, facts, [{**level.evidence["store"], "quantity": quantity, "low": low}])],
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
            state=about([mine]) | {"last_stores": stores_of(stores[:MOST_BRANCHES])},
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
    places = frame.details.get("places", ())
    if frame.place and places and places[0] == frame.place:
        return (yield from _at_each(view, frame, places[:3]))
    return (yield from _place_of(view, frame, frame.medicines[0], further=True))


def _at_each(view: View, frame: Frame, places: Sequence[Mapping[str, Any]]) -> Plan:
    """One product at several places ("in Haifa or in Jaffa?"); where else it is, only when none of them has it."""
    parts: list[Part] = []
    for count, place in enumerate(places, start=1):
        stocked = any(part.state.get("has_it") for part in parts)
        one = replace(frame, place=place, details={k: v for k, v in frame.details.items() if k != "places"})
        further = count == len(places) and not stocked
        parts.append(
            (yield from _place_of(view, one, frame.medicines[0], further=further, brief=not further))
        )
    paragraphs_said = dict.fromkeys(text for part in parts for text in part.text.split("\n\n"))
    closing = [text for text in paragraphs_said if text == as_of(view)]
    stores = [store for part in parts for store in part.state.get("last_stores", ())]
    state = {key: value for part in parts for key, value in part.state.items() if key != "has_it"}
    return Part(
        paragraphs(*(text for text in paragraphs_said if text not in closing), *closing),
        cards=[card for part in parts for card in part.cards][:4],
        suggestions=parts[-1].suggestions,
        state=state | ({"last_stores": stores} if stores else {}),
    )


def _place_of(
    view: View, frame: Frame, medication: Medication, *, further: bool, brief: bool = False
) -> Plan:
    """One product at one place; `brief` leaves out where else it is, which the next place's answer says."""
    place = frame.place
    arguments: dict[str, Any] = {"medication_query": tool_query(medication)}
    if place:
        arguments["store_query"] = place["query"]
    arguments["show_all_stores"] = bool(frame.details.get("all_stores"))
    [result] = yield [Step("check_stock", arguments)]
    if from_talk(medication, result):
        missing = yield from not_known(view, frame, medication)
        return missing if isinstance(missing, Part) else Part(view.say("data_error"))
    if not result.ok:
        if result.code == "CITY_NOT_SERVED":
            return _not_served(view, frame, medication, result, brief=brief)
        return unresolved(view, frame, medication, result)
    facts, evidence = result.evidence["medication"], result.evidence
    name, mine = view.of(facts), medicine_of(facts)
    said = said_otherwise(view, medication, facts)
    note = view.say("rx_note", name=name) if facts["rx"] else view.say("otc_note")
    stores = list(evidence.get("stores") or ())
    requested = evidence.get("requested")
    state = about([mine]) | {
        "last_stores": stores_of(
            [requested] if requested and requested["quantity"] else stores[:MOST_BRANCHES]
        )
    }
    chips = [view.say("chip_info", name=name), view.say("chip_equivalents", name=name)]
    if evidence.get("controlled"):
        text = paragraphs(said, view.say("controlled_stock", name=name), note)
        return Part(text, suggestions=[view.say("chip_branches"), view.say("chip_person")], state=state)
    open_line = ""
    if requested and frame.details.get("open") and place:
        [shop] = yield [Step("store.info", {"query": place["query"]})]
        lines = [
            f"{view.of(store)}: {hours_today(view, store)}." for store in shop.result.get("stores", ())[:1]
        ]
        open_line = lines[0] if lines else f"{view.of(requested)}: {open_words(view, requested)}"
    if requested and requested["quantity"]:
        quantity = int(requested["quantity"])
        low = quantity <= LOW or requested.get("low")
        text = stocked_at(view, name, requested, quantity, low=bool(low))
        others = _branches(view, frame, stores, result) if frame.details.get("all_stores") and stores else ""
        return Part(
            paragraphs(said, text, open_line, others, note, reservation(view, frame), as_of(view)),
            cards=[stock_card(view, facts, [requested])],
            suggestions=[view.say("chip_where", name=name), *chips],
            state=state | ({"has_it": True} if brief else {}),
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
    if brief and requested:
        head = " ".join(head for head in heads if head)
        return Part(paragraphs(said, head, open_line, note), suggestions=chips, state=about([mine]))
    if brief and stocked and not evidence.get("elsewhere"):
        state["has_it"] = True
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
            open_line,
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


def _not_served(
    view: View, frame: Frame, medication: Medication, result: StepResult, *, brief: bool = False
) -> Part:
    """No store in the place: say so, with the nearest branch when the place is known."""
    evidence = result.evidence
    city = (
        frame.place["en" if view.language == "en" else "he"]
        if frame.place
        else str(result.result.get("city", ""))
    )
    lines = [view.say("city_not_served", city=city)]
    facts = evidence.get("medication") or {}
    if brief:
        return Part(lines[0], state=about([medicine_of(facts)]) if facts else {})
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
