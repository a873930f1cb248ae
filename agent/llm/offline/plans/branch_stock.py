"""Plans for stock by place: at a branch, in a city, near the customer."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agent.answers.branches import hours_today, open_words, stores_of
from agent.answers.cards import stock_card
from agent.answers.layout import numbered, paragraphs
from agent.answers.parts import AnswerPart, joined
from agent.answers.products import about, medicine_of, said_otherwise
from agent.answers.render import apart
from agent.answers.renderer import Renderer
from agent.answers.stock import LOW, MOST_BRANCHES, as_of, restock_line, stocked_at
from agent.evidence import StockFacts
from agent.inference.base import Step, StepResult
from agent.llm.offline.frames import Frame
from agent.llm.offline.plans.facts import check_pairs
from agent.llm.offline.plans.listing import equivalents_of
from agent.llm.offline.plans.names import is_from_context, not_known, tool_query, unresolved
from agent.llm.offline.plans.plan import Plan
from agent.llm.offline.plans.talk import FAR
from agent.state import ConversationState, RememberedMedication, RememberedPlace


def stock_place(renderer: Renderer, frame: Frame) -> Plan:
    """Stock in branches (S2): at the place asked about, else the nearest that have it, with identical equivalents."""
    if len(frame.medicines) > 1:
        parts, known = [], []
        for medication in frame.medicines[:3]:
            one = Frame("stock_place", frame.confidence, (medication,), frame.place, details=frame.details)
            part = yield from _place_of(renderer, one, medication, further=False)
            parts.append(part)
            known += part.state.get("focus", [])
        return joined(parts, known, (yield from check_pairs(renderer, known)))
    places = frame.details.get("places", ())
    if frame.place and places and places[0] == frame.place:
        return (yield from _at_each(renderer, frame, places[:3]))
    return (yield from _place_of(renderer, frame, frame.medicines[0], further=True))


def _at_each(renderer: Renderer, frame: Frame, places: Sequence[RememberedPlace]) -> Plan:
    """One product at several places ("in Haifa or in Jaffa?"); where else it is, only when none of them has it."""
    parts: list[AnswerPart] = []
    for count, place in enumerate(places, start=1):
        stocked = any(part.in_stock for part in parts)
        one = replace(frame, place=place, details={k: v for k, v in frame.details.items() if k != "places"})
        further = count == len(places) and not stocked
        parts.append(
            (yield from _place_of(renderer, one, frame.medicines[0], further=further, brief=not further))
        )
    paragraphs_said = dict.fromkeys(text for part in parts for text in part.text.split("\n\n"))
    closing = [text for text in paragraphs_said if text == as_of(renderer)]
    stores = [store for part in parts for store in part.state.get("last_stores", ())]
    state: ConversationState = {}
    for part in parts:
        state.update(part.state)
    if stores:
        state["last_stores"] = stores
    return AnswerPart(
        paragraphs(*(text for text in paragraphs_said if text not in closing), *closing),
        cards=[card for part in parts for card in part.cards][:4],
        suggestions=parts[-1].suggestions,
        state=state,
    )


def _place_of(  # noqa: C901  # to be replaced with the offline reading
    renderer: Renderer, frame: Frame, medication: RememberedMedication, *, further: bool, brief: bool = False
) -> Plan:
    """One product at one place; `brief` leaves out where else it is, which the next place's answer says."""
    place = frame.place
    arguments: dict[str, Any] = {"medication_query": tool_query(medication)}
    if place:
        arguments["store_query"] = place["query"]
    arguments["show_all_stores"] = bool(frame.details.get("all_stores"))
    [result] = yield [Step("check_stock", arguments)]
    if is_from_context(medication, result):
        missing = yield from not_known(renderer, frame, medication)
        return missing if isinstance(missing, AnswerPart) else AnswerPart(renderer.say("data_error"))
    if not result.ok:
        if result.code == "CITY_NOT_SERVED":
            return _not_served(renderer, frame, medication, result, brief=brief)
        return unresolved(renderer, frame, medication, result)
    facts, evidence = result.evidence["medication"], result.evidence
    name, mine = renderer.of(facts), medicine_of(facts)
    said = said_otherwise(renderer, medication, facts)
    note = renderer.say("rx_note", name=name) if facts["rx"] else renderer.say("otc_note")
    stores = list(evidence.get("stores") or ())
    requested = evidence.get("requested")
    state = about([mine]) | {
        "last_stores": stores_of(
            [requested] if requested and requested["quantity"] else stores[:MOST_BRANCHES]
        )
    }
    chips = [renderer.say("chip_info", name=name), renderer.say("chip_equivalents", name=name)]
    if evidence.get("controlled"):
        text = paragraphs(said, renderer.say("controlled_stock", name=name), note)
        return AnswerPart(
            text, suggestions=[renderer.say("chip_branches"), renderer.say("chip_person")], state=state
        )
    open_line = ""
    if requested and frame.details.get("open") and place:
        [shop] = yield [Step("store.info", {"query": place["query"]})]
        lines = [
            f"{renderer.of(store)}: {hours_today(renderer, store)}."
            for store in shop.result.get("stores", ())[:1]
        ]
        open_line = lines[0] if lines else f"{renderer.of(requested)}: {open_words(renderer, requested)}"
    if requested and requested["quantity"]:
        quantity = int(requested["quantity"])
        low = quantity <= LOW or requested.get("low")
        text = stocked_at(renderer, name, requested, quantity, low=bool(low))
        others = (
            branches_listed(renderer, frame, stores, result)
            if frame.details.get("all_stores") and stores
            else ""
        )
        return AnswerPart(
            paragraphs(said, text, open_line, others, note, reservation(renderer, frame), as_of(renderer)),
            cards=[stock_card(renderer, facts, [requested])],
            suggestions=[renderer.say("chip_where", name=name), *chips],
            state=state,
            in_stock=True,
        )
    heads = []
    if requested:
        online_store = requested.get("kind") == "online"
        heads.append(
            renderer.say(
                "out_of_stock_online" if online_store else "out_of_stock_at",
                name=name,
                store=renderer.of(requested),
            )
        )
        heads.append(restock_line(renderer, requested.get("restock_on")))
    elif evidence.get("place") == "city" and stores:
        heads.append(renderer.say("branches_city", name=name, city=renderer.of(evidence, "city")))
    elif evidence.get("place") == "city":
        heads.append(renderer.say("out_of_stock_city", name=name, city=renderer.of(evidence, "city")))
        stores = list(evidence.get("elsewhere") or ())
    stocked = [row for row in stores if row["quantity"]]
    if brief and requested:
        head = " ".join(head for head in heads if head)
        return AnswerPart(paragraphs(said, head, open_line, note), suggestions=chips, state=about([mine]))
    in_stock = bool(stocked) and not evidence.get("elsewhere")
    if evidence.get("place") == "city" and in_stock:
        body = _lines(renderer, frame, stores)
    elif stores:
        body = branches_listed(renderer, frame, stores, result)
    else:
        body = renderer.say("branches_none") if requested else ""
    online, eta = "", None
    if not stocked and further:
        # No branch has it: the default store, which is no branch, may.
        [level] = yield [Step("check_inventory", {"medication_id": facts["id"]})]
        inventory = level.result.get("inventory", {}) if level.ok else {}
        store, eta = level.evidence.get("store"), inventory.get("restock_eta")
        if inventory.get("in_stock") and store:
            quantity = int(inventory["qty"])
            online = stocked_at(renderer, name, store, quantity, low=quantity <= LOW)
    if not stocked and not requested and evidence.get("place") != "city":
        heads.append(renderer.say("branches_none" if online else "out_of_stock", name=name))
        heads.append("" if online else restock_line(renderer, eta))
    body = paragraphs(body, online)
    same = AnswerPart("")
    if further and (requested or not (stocked or online)):
        same = yield from equivalents_of(renderer, mine)
    if same.state.get("shown"):
        state["shown"] = same.state["shown"]
    return AnswerPart(
        paragraphs(
            said,
            " ".join(head for head in heads if head),
            open_line,
            body,
            note,
            same.text,
            reservation(renderer, frame),
            as_of(renderer) if stocked else "",
        ),
        cards=[*([stock_card(renderer, facts, stores)] if stores else []), *same.cards],
        suggestions=chips,
        state=state,
        in_stock=in_stock,
    )


def _not_served(
    renderer: Renderer,
    frame: Frame,
    medication: RememberedMedication,
    result: StepResult,
    *,
    brief: bool = False,
) -> AnswerPart:
    """No store in the place: say so, with the nearest branch when the place is known."""
    evidence = result.evidence
    city = (
        frame.place["en" if renderer.language == "en" else "he"]
        if frame.place
        else str(result.result.get("city", ""))
    )
    lines = [renderer.say("city_not_served", city=city)]
    facts = evidence["medication"]
    known = about([medicine_of(facts)])
    if brief:
        return AnswerPart(lines[0], state=known)
    nearest: dict[str, Any] = dict(evidence.get("nearest") or {})
    stocked: dict[str, Any] = dict(evidence.get("nearest_stocked") or {})
    if near := evidence.get("near_place"):
        lines.append(renderer.say("near_place", name=renderer.of(near)))
    for row in (nearest, stocked):
        if row and (row.get("km") or 0) > FAR:
            row["km"] = None
    if not facts.get("controlled") and stocked.get("store_id") == nearest.get("store_id"):
        nearest = {}  # one sentence says both
    if nearest and nearest.get("km") is not None:
        lines.append(renderer.say("nearest_branch", store=renderer.of(nearest), km=nearest["km"]))
    if stocked and stocked.get("km") is not None and not facts.get("controlled"):
        lines.append(
            renderer.say(
                "nearest_stocked", name=renderer.of(facts), store=renderer.of(stocked), km=stocked["km"]
            )
        )
    chips = [renderer.say("chip_where", name=renderer.of(facts)), renderer.say("chip_branches")]
    return AnswerPart(paragraphs(*lines), suggestions=chips, state=known)


def branches_listed(
    renderer: Renderer, frame: Frame, stores: Sequence[StockFacts], result: StepResult
) -> str:
    measured = any(row.get("km") is not None for row in stores)
    key = (
        "branches_all"
        if frame.details.get("all_stores")
        else "branches_nearest"
        if measured
        else "branches_with"
    )
    tail = "" if measured or not frame.details.get("here") else renderer.say("share_location")
    return paragraphs(f"{renderer.say(key)}\n{_lines(renderer, frame, stores)}", tail)


def _lines(renderer: Renderer, frame: Frame, stores: Sequence[StockFacts]) -> str:
    rows = []
    open_only = bool(frame.details.get("open")) and not frame.details.get("day")
    chosen = [row for row in stores if row.get("open_now")] if open_only else list(stores)
    for row in (chosen or list(stores))[:MOST_BRANCHES]:
        parts = [
            renderer.count("units", int(row["quantity"])) if row["quantity"] else renderer.say("none_left")
        ]
        if row.get("km") is not None:
            parts.append(renderer.say("km", km=row["km"]))
        if frame.details.get("open"):
            parts.append(open_words(renderer, row))
        rows.append(f"{apart(renderer.of(row), renderer.language)} – {', '.join(parts)}")
    return numbered(rows)


def reservation(renderer: Renderer, frame: Frame) -> str:
    """Said when somebody wants to order: nothing here reserves."""
    return renderer.say("no_reservation", phone="") if frame.details.get("reserve") else ""
