"""Plans for stock: at the default store, by place, and restock dates."""

from collections.abc import Mapping
from typing import Any

from agent.answers.branches import stores_of
from agent.answers.cards import stock_card
from agent.answers.layout import paragraphs
from agent.answers.parts import AnswerPart, joined
from agent.answers.products import about, medicine_of, said_otherwise
from agent.answers.renderer import Renderer
from agent.answers.stock import LOW, MOST_BRANCHES, as_of, none_there, restock_line, stock_at
from agent.inference.base import Step
from agent.llm.offline.frames import Frame
from agent.llm.offline.plans.branch_stock import branches_listed, reservation
from agent.llm.offline.plans.facts import check_pairs
from agent.llm.offline.plans.listing import by_form, equivalents_of
from agent.llm.offline.plans.names import asked_by_name, tool_query
from agent.llm.offline.plans.plan import Plan
from agent.state import RememberedMedication


def stock(renderer: Renderer, frame: Frame) -> Plan:
    """Whether a product is in stock (S0 flow B): the default store first, then the branches."""
    if len(frame.medicines) < 2 and (frame.details.get("strengths") or frame.details.get("forms")):
        return (yield from by_form(renderer, frame))
    parts, known = [], []
    alone = len(frame.medicines) == 1
    for medication in frame.medicines[:3]:
        one = Frame(
            frame.intent, frame.confidence, (medication,), details=frame.details, assumed=frame.assumed
        )
        # A turn has eight steps: with three medicines the branches are not read as well.
        part = yield from _stock_of(renderer, one, medication, spread=len(frame.medicines) <= 2, alone=alone)
        parts.append(part)
        known += part.state.get("focus", [])
    if alone:
        return parts[0]
    return joined(parts, known, (yield from check_pairs(renderer, known)))


def _stock_of(
    renderer: Renderer, frame: Frame, medication: RememberedMedication, *, spread: bool, alone: bool
) -> Plan:
    found = yield from asked_by_name(renderer, frame, medication, "get_medication_by_name")
    if isinstance(found, AnswerPart):
        return found
    facts = found.evidence["medication"]
    name = renderer.of(facts)
    mine = medicine_of(facts)
    [level] = yield [Step("check_inventory", {"medication_id": facts["id"]})]
    said = said_otherwise(renderer, medication, facts)
    note = renderer.say("rx_note", name=name) if facts["rx"] else renderer.say("otc_note")
    chips = [renderer.say("chip_where", name=name), renderer.say("chip_info", name=name)]
    if not level.ok and level.code != "NOT_FOUND":
        return AnswerPart(
            renderer.say("data_error"), suggestions=[renderer.say("chip_person")], state=about([mine])
        )
    if facts.get("controlled"):
        text = paragraphs(said, renderer.say("controlled_stock", name=name), note)
        return AnswerPart(
            text,
            suggestions=[renderer.say("chip_branches"), renderer.say("chip_person")],
            state=about([mine]),
        )
    inventory = level.result.get("inventory", {})
    if inventory.get("in_stock"):
        quantity = int(inventory["qty"])
        low = quantity <= LOW or level.evidence.get("low")
        text = renderer.count("in_stock_low" if low else "in_stock", quantity, name=name)
        return AnswerPart(
            paragraphs(said, text, note, reservation(renderer, frame), as_of(renderer)),
            cards=[stock_card(renderer, facts, [stock_at(level.evidence["store"], quantity, low=bool(low))])],
            suggestions=chips,
            state=about([mine]),
        )
    if frame.details.get("online") or not spread:
        text = none_there(renderer, name, level)
        return AnswerPart(
            paragraphs(said, text, restock_line(renderer, inventory.get("restock_eta")), note),
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
        head = none_there(renderer, name, level) if level.ok else ""
        eta = restock_line(renderer, inventory.get("restock_eta"))
        return AnswerPart(
            paragraphs(
                said,
                head,
                eta,
                branches_listed(renderer, frame, stores, around),
                note,
                reservation(renderer, frame),
                as_of(renderer),
            ),
            cards=[stock_card(renderer, facts, stores)],
            suggestions=chips,
            state=about([mine]) | {"last_stores": stores_of(stores[:MOST_BRANCHES])},
        )
    if not level.ok:
        return AnswerPart(
            paragraphs(said, renderer.say("no_inventory", name=name), note),
            suggestions=[renderer.say("chip_person")],
            state=about([mine]),
        )
    eta = inventory.get("restock_eta")
    dated = restock_line(renderer, eta) if eta else renderer.say("restock_none")
    same = (yield from equivalents_of(renderer, mine)) if alone else AnswerPart("")
    return AnswerPart(
        paragraphs(said, f"{renderer.say('out_of_stock', name=name)} {dated}", note, same.text),
        cards=same.cards,
        suggestions=[renderer.say("chip_info", name=name), renderer.say("chip_person")],
        state=about([mine]) | {"shown": same.state.get("shown", [])},
    )


def _exact(facts: Mapping[str, Any], medication: RememberedMedication) -> RememberedMedication:
    return medication if "name" in medication else {"said": medication.get("said") or facts["label_en"]}


def restock(renderer: Renderer, frame: Frame) -> Plan:
    """When a product is expected back."""
    medication = frame.medicines[0]
    found = yield from asked_by_name(renderer, frame, medication, "get_medication_by_name")
    if isinstance(found, AnswerPart):
        return found
    facts = found.evidence["medication"]
    name, mine = renderer.of(facts), medicine_of(facts)
    [level] = yield [Step("check_inventory", {"medication_id": facts["id"]})]
    chips = [renderer.say("chip_where", name=name), renderer.say("chip_equivalents", name=name)]
    if facts.get("controlled") or not level.ok:
        key = "controlled_stock" if facts.get("controlled") else "no_inventory"
        return AnswerPart(
            renderer.say(key, name=name), suggestions=[renderer.say("chip_person")], state=about([mine])
        )
    inventory = level.result["inventory"]
    if inventory["in_stock"]:
        quantity = int(inventory["qty"])
        text = renderer.count("in_stock_low" if quantity <= LOW else "in_stock", quantity, name=name)
        return AnswerPart(paragraphs(text, as_of(renderer)), suggestions=chips, state=about([mine]))
    eta = inventory.get("restock_eta")
    day = restock_line(renderer, eta) if eta else renderer.say("restock_none")
    head = none_there(renderer, name, level)
    return AnswerPart(f"{head} {day}", suggestions=chips, state=about([mine]))
