"""Answer where a product is in stock: at a branch, in a city, near the customer."""

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

from agent.answers.answer import Answer, Piece, joined, spaced
from agent.answers.branches import stores_of
from agent.answers.cards import stock_card
from agent.answers.facts.fact import Fact, chosen
from agent.answers.facts.lists import unreadable_fact
from agent.answers.facts.medicines import name_facts, prescription_note
from agent.answers.facts.results import facts_of
from agent.answers.facts.stores import as_of_fact, branches_fact, no_branch_fact, total_fact
from agent.answers.products import about, medicine_of
from agent.answers.renderer import Renderer
from agent.answers.stock import MOST_BRANCHES
from agent.evidence import ProductFacts, StockFacts
from agent.inference.base import Step, StepResult
from agent.llm.offline.frames import Frame
from agent.llm.offline.plans.facts import with_pairs
from agent.llm.offline.plans.listing import equivalents_of
from agent.llm.offline.plans.names import is_from_context, not_known, tool_query, unresolved
from agent.llm.offline.plans.plan import Plan
from agent.state import RememberedMedication, RememberedPlace


def stock_place(renderer: Renderer, frame: Frame) -> Plan:
    """Say which branches have a product (S2): at the place asked about, else the nearest, with identical equivalents."""
    if len(frame.medicines) > 1:
        answers, known = [], []
        for medication in frame.medicines[:3]:
            one = Frame("stock_place", frame.confidence, (medication,), frame.place, details=frame.details)
            answer = yield from _place_of(renderer, one, medication, further=False)
            answers.append(answer)
            known += answer.state.get("focus", [])
        return (yield from with_pairs(renderer, answers, known))
    places = frame.details.get("places", ())
    if frame.place and places and places[0] == frame.place:
        return (yield from _at_each(renderer, frame, places[:3]))
    return (yield from _place_of(renderer, frame, frame.medicines[0], further=True))


def _at_each(renderer: Renderer, frame: Frame, places: Sequence[RememberedPlace]) -> Plan:
    """Look up one product at several places ("in Haifa or in Jaffa?"); elsewhere only when none of them has it."""
    answers: list[Answer] = []
    for count, place in enumerate(places, start=1):
        is_stocked = any(_has_some(answer.pieces) for answer in answers)
        one = replace(frame, place=place, details={k: v for k, v in frame.details.items() if k != "places"})
        further = count == len(places) and not is_stocked
        answers.append(
            (yield from _place_of(renderer, one, frame.medicines[0], further=further, brief=not further))
        )
    whole = joined(answers)
    said = {piece if isinstance(piece, str) else piece.text: piece for piece in whole.pieces}
    whole.pieces = sorted(said.values(), key=lambda piece: isinstance(piece, Fact) and piece.kind == "as_of")
    whole.suggestions = answers[-1].suggestions
    if stores := [store for answer in answers for store in answer.state.get("last_stores", ())]:
        whole.state["last_stores"] = stores
    return whole


def _place_of(
    renderer: Renderer, frame: Frame, medication: RememberedMedication, *, further: bool, brief: bool = False
) -> Plan:
    """Look up one product at one place; `brief` leaves out where else it is, which the next place's answer says."""
    arguments: dict[str, Any] = {"medication_query": tool_query(medication)}
    if frame.place:
        arguments["store_query"] = frame.place["query"]
    arguments["show_all_stores"] = bool(frame.details.get("all_stores"))
    [result] = yield [Step("check_stock", arguments)]
    if is_from_context(medication, result):
        missing = yield from not_known(renderer, frame, medication)
        return missing if isinstance(missing, Answer) else Answer([unreadable_fact(renderer)])
    if not result.ok:
        if result.code == "CITY_NOT_SERVED":
            return _not_served(renderer, result, brief=brief)
        return unresolved(renderer, frame, result)
    facts = result.evidence["medication"]
    name = renderer.of(facts)
    correction, note = name_facts(renderer, medication, facts), prescription_note(renderer, facts)
    known, requested = facts_of(renderer, result), result.evidence.get("requested")
    stores = list(result.evidence.get("stores") or ())
    is_here = bool(requested and requested["quantity"])
    rows = [requested] if requested and is_here else stores[:MOST_BRANCHES]
    state = about([medicine_of(facts)]) | {"last_stores": stores_of(rows)}
    chips = [renderer.say("chip_info", name=name), renderer.say("chip_equivalents", name=name)]
    if facts["controlled"]:
        chips = [renderer.say("chip_branches"), renderer.say("chip_person")]
        return Answer([*correction, *known, note], suggestions=chips, state=state)
    here: list[Piece] = []
    if requested:
        place = renderer.of(requested)
        here = spaced(chosen(known, "stock", "restock", about=place))
        here += chosen(known, "hours_today", about=place) if frame.details.get("open") else []
    if requested and is_here:
        others = (
            branches_listed(renderer, frame, facts, stores)
            if frame.details.get("all_stores") and stores
            else []
        )
        closing = [*reservation(renderer, frame), as_of_fact(renderer)]
        return Answer(
            [*correction, *here, *others, note, *closing],
            cards=[stock_card(renderer, facts, [requested])],
            suggestions=[renderer.say("chip_where", name=name), *chips],
            state=state,
        )
    if brief and requested:
        return Answer([*correction, *here, note], suggestions=chips, state=about([medicine_of(facts)]))
    found, listed = yield from _around(renderer, frame, result, further=further)
    is_stocked = any(row["quantity"] for row in listed)
    same = Answer()
    if further and (requested or not (is_stocked or _has_some(found))):
        same = yield from equivalents_of(renderer, medicine_of(facts))
    if same.state.get("shown"):
        state["shown"] = same.state["shown"]
    closing = [*reservation(renderer, frame), *([as_of_fact(renderer)] if is_stocked else [])]
    return Answer(
        [*correction, *here, *found, note, *same.pieces, *closing],
        cards=[*([stock_card(renderer, facts, listed)] if listed else []), *same.cards],
        suggestions=chips,
        state=state,
    )


def _around(
    renderer: Renderer, frame: Frame, result: StepResult, *, further: bool
) -> Generator[Sequence[Step], Sequence[StepResult], tuple[list[Piece], list[StockFacts]]]:
    """Return where a product is that the store asked about, if one was, has not; with these stores."""
    evidence, facts = result.evidence, result.evidence["medication"]
    requested, is_city = evidence.get("requested"), evidence["place"] == "city"
    listed = evidence.get("stores", [])
    found: list[Piece] = []
    if is_city and not any(row["quantity"] for row in listed):
        found += chosen(facts_of(renderer, result), "stock", about=renderer.of(evidence, "city"))
        listed, is_city = evidence.get("elsewhere", []), False
    if is_city:
        city = renderer.of(evidence, "city")
        head = renderer.say("branches_city", name=renderer.of(facts), city=city)
        found.append(_listed(renderer, frame, facts, listed, head, city=city, polarity=True))
    elif listed:
        found += branches_listed(renderer, frame, facts, listed)
    elif requested:
        found.append(no_branch_fact(renderer, facts))
    if any(row["quantity"] for row in listed):
        return found, listed
    dated: list[Fact] = []
    if further:
        # No branch has it: the default store, which is no branch, may.
        [level] = yield [Step("check_inventory", {"medication_id": facts["id"]})]
        known = facts_of(renderer, level) if level.ok else []
        if _has_some(known):
            return [*(found or [no_branch_fact(renderer, facts)]), *chosen(known, "stock")], listed
        dated = chosen(known, "restock") if level.ok and level.evidence["restock_on"] else []
    if not requested and evidence["place"] != "city":
        found = [*spaced([total_fact(renderer, facts, 0), *dated]), *found]
    return found, listed


def _has_some(pieces: Sequence[Piece]) -> bool:
    """Return whether facts among these say that there is some at the place asked about."""
    facts = [piece for piece in pieces if isinstance(piece, Fact)]
    return any(fact.polarity for fact in facts if fact.kind in ("stock", "branches"))


def _not_served(renderer: Renderer, result: StepResult, *, brief: bool) -> Answer:
    """Say that no store is in the place, and name the nearest branch when the place is known."""
    facts, known = result.evidence["medication"], facts_of(renderer, result)
    chips = [renderer.say("chip_where", name=renderer.of(facts)), renderer.say("chip_branches")]
    if brief:
        return Answer(chosen(known, "place"), state=about([medicine_of(facts)]))
    stocked = chosen(known, "stock")
    # One sentence says both when the nearest branch has it.
    nearest = [
        one for one in chosen(known, "nearest") if one.subject not in {fact.subject for fact in stocked}
    ]
    said = [*chosen(known, "place", "near_place"), *nearest, *stocked]
    return Answer(said, suggestions=chips, state=about([medicine_of(facts)]))


def branches_listed(
    renderer: Renderer, frame: Frame, facts: ProductFacts, stores: Sequence[StockFacts]
) -> list[Piece]:
    """Return the branches with their stock: all, the nearest, or those that have some."""
    is_measured = any(row.get("km") is not None for row in stores)
    key = "branches_nearest" if is_measured else "branches_with"
    head = renderer.say("branches_all" if frame.details.get("all_stores") else key)
    asks = frame.details.get("here") and not is_measured
    return [
        _listed(renderer, frame, facts, stores, head),
        *([renderer.say("share_location")] if asks else []),
    ]


def _listed(
    renderer: Renderer,
    frame: Frame,
    facts: ProductFacts,
    stores: Sequence[StockFacts],
    head: str,
    *,
    city: str = "",
    polarity: bool | None = None,
) -> Fact:
    is_open_asked = bool(frame.details.get("open"))
    now_open = [row for row in stores if row.get("open_now")] if is_open_asked else []
    chosen_rows = stores if frame.details.get("day") else now_open or stores
    return branches_fact(
        renderer, facts, head, chosen_rows, city=city, is_open_asked=is_open_asked, polarity=polarity
    )


def reservation(renderer: Renderer, frame: Frame) -> list[Piece]:
    """Say that nothing is reserved, to somebody who wants to order."""
    return [renderer.say("no_reservation")] if frame.details.get("reserve") else []
