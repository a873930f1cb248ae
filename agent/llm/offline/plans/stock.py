"""Answer whether a product is in stock, and when it is expected back."""

from collections.abc import Mapping
from typing import Any

from agent.answers.answer import Answer, spaced
from agent.answers.branches import stores_of
from agent.answers.cards import stock_card
from agent.answers.facts.fact import chosen
from agent.answers.facts.lists import unreadable_fact
from agent.answers.facts.medicines import name_facts, prescription_note
from agent.answers.facts.results import facts_of
from agent.answers.facts.stores import as_of_fact, no_level_fact, total_fact
from agent.answers.products import about, medicine_of
from agent.answers.renderer import Renderer
from agent.answers.stock import MOST_BRANCHES, stock_at
from agent.inference.base import Step
from agent.llm.offline.frames import Frame
from agent.llm.offline.plans.branch_stock import branches_listed, reservation
from agent.llm.offline.plans.facts import with_pairs
from agent.llm.offline.plans.listing import by_form, equivalents_of
from agent.llm.offline.plans.names import asked_by_name, tool_query
from agent.llm.offline.plans.plan import Plan
from agent.state import RememberedMedication


def stock(renderer: Renderer, frame: Frame) -> Plan:
    """Say whether a product is in stock (S0 flow B): at the default store first, then at the branches."""
    if len(frame.medicines) < 2 and (frame.details.get("strengths") or frame.details.get("forms")):
        return (yield from by_form(renderer, frame))
    answers, known = [], []
    alone = len(frame.medicines) == 1
    for medication in frame.medicines[:3]:
        one = Frame(
            frame.intent, frame.confidence, (medication,), details=frame.details, assumed=frame.assumed
        )
        # A turn has eight steps: with three medicines the branches are not read as well.
        answer = yield from _stock_of(
            renderer, one, medication, spread=len(frame.medicines) <= 2, alone=alone
        )
        answers.append(answer)
        known += answer.state.get("focus", [])
    return answers[0] if alone else (yield from with_pairs(renderer, answers, known))


def _stock_of(
    renderer: Renderer, frame: Frame, medication: RememberedMedication, *, spread: bool, alone: bool
) -> Plan:
    found = yield from asked_by_name(renderer, frame, medication, "get_medication_by_name")
    if isinstance(found, Answer):
        return found
    facts = found.evidence["medication"]
    name, state = renderer.of(facts), about([medicine_of(facts)])
    [level] = yield [Step("check_inventory", {"medication_id": facts["id"]})]
    person = renderer.say("chip_person")
    if not level.ok and level.code != "NOT_FOUND":
        return Answer([unreadable_fact(renderer)], suggestions=[person], state=state)
    correction, note = name_facts(renderer, medication, facts), prescription_note(renderer, facts)
    if facts["controlled"]:
        chips = [renderer.say("chip_branches"), person]
        return Answer([*correction, total_fact(renderer, facts, 0), note], suggestions=chips, state=state)
    known = facts_of(renderer, level) if level.ok else [no_level_fact(renderer, facts)]
    here, closing = chosen(known, "stock"), [*reservation(renderer, frame), as_of_fact(renderer)]
    chips = [renderer.say("chip_where", name=name), renderer.say("chip_info", name=name)]
    inventory = level.result.get("inventory", {})
    if inventory.get("in_stock"):
        store = stock_at(level.evidence["store"], int(inventory["qty"]), low=bool(level.evidence.get("low")))
        return Answer(
            [*correction, *here, note, *closing],
            cards=[stock_card(renderer, facts, [store])],
            suggestions=chips,
            state=state,
        )
    restock = chosen(known, "restock")
    dated = restock if inventory.get("restock_eta") else []
    if frame.details.get("online") or not spread:
        return Answer([*correction, *here, *dated, note], suggestions=chips, state=state)
    arguments = {"medication_query": tool_query(_exact(facts, medication)), "show_all_stores": False}
    [around] = yield [Step("check_stock", arguments)]
    stores = list(around.evidence.get("stores") or ()) if around.ok else []
    if stores:
        head = [*here, *dated] if level.ok else []
        return Answer(
            [*correction, *head, *branches_listed(renderer, frame, facts, stores), note, *closing],
            cards=[stock_card(renderer, facts, stores)],
            suggestions=chips,
            state=state | {"last_stores": stores_of(stores[:MOST_BRANCHES])},
        )
    if not level.ok:
        return Answer([*correction, *here, note], suggestions=[person], state=state)
    same = (yield from equivalents_of(renderer, medicine_of(facts))) if alone else Answer()
    return Answer(
        [*correction, *spaced([total_fact(renderer, facts, 0), *restock]), note, *same.pieces],
        cards=same.cards,
        suggestions=[renderer.say("chip_info", name=name), person],
        state=state | {"shown": same.state.get("shown", [])},
    )


def _exact(facts: Mapping[str, Any], medication: RememberedMedication) -> RememberedMedication:
    return medication if "name" in medication else {"said": medication.get("said") or facts["label_en"]}


def restock(renderer: Renderer, frame: Frame) -> Plan:
    """Say when a product is expected back."""
    medication = frame.medicines[0]
    found = yield from asked_by_name(renderer, frame, medication, "get_medication_by_name")
    if isinstance(found, Answer):
        return found
    facts = found.evidence["medication"]
    name, state = renderer.of(facts), about([medicine_of(facts)])
    [level] = yield [Step("check_inventory", {"medication_id": facts["id"]})]
    if not level.ok and level.code != "NOT_FOUND":
        return Answer([unreadable_fact(renderer)], suggestions=[renderer.say("chip_person")], state=state)
    known = facts_of(renderer, level) if level.ok else [no_level_fact(renderer, facts)]
    if facts["controlled"] or not level.ok:
        return Answer(known, suggestions=[renderer.say("chip_person")], state=state)
    return Answer(
        [*spaced(chosen(known, "stock", "restock")), *chosen(known, "as_of")],
        suggestions=[renderer.say("chip_where", name=name), renderer.say("chip_equivalents", name=name)],
        state=state,
    )
