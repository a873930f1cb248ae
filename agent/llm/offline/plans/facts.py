"""Answer with facts about products: what they are, leaflets, prescription, price, sameness, interactions."""

import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Final

from agent.answers.cards import medication_card
from agent.answers.interactions import pairs_part
from agent.answers.layout import bullets, paragraphs
from agent.answers.leaflets import product_part, source_line, speaks_of_children
from agent.answers.parts import AnswerPart, joined
from agent.answers.products import about, medicine_of, name_correction, product_line
from agent.answers.refusals import not_understood
from agent.answers.render import listed
from agent.answers.renderer import Renderer
from agent.inference.base import Step, StepResult
from agent.llm.offline.frames import Frame
from agent.llm.offline.plans.names import asked_by_name, choose, tool_query, unresolved
from agent.llm.offline.plans.plan import Plan
from agent.state import RememberedMedication

_STRENGTH: Final = re.compile(r"\s+\d.*$")


def info(renderer: Renderer, frame: Frame) -> Plan:
    """Say what a product is: ingredients, use, dosage, warnings, prescription (S0 flow A)."""
    if len(frame.medicines) > 1:
        return (yield from _several(renderer, frame))
    medication = frame.medicines[0]
    tool = "get_medication_info" if frame.assumed else "get_medication_by_name"
    found = yield from asked_by_name(renderer, frame, medication, tool)
    if isinstance(found, AnswerPart):
        return found
    return product_part(renderer, medication, found)


def lost(renderer: Renderer, part: AnswerPart) -> AnswerPart:
    """Count words that are no name and ask nothing as not understood: the third time, a person is offered."""
    if "shown" in part.state or "pending" not in part.state:  # a near name is being offered, or it was a name
        return part
    misses = int(renderer.turn.state.get("misses") or 0) + 1
    if misses > 1:
        return not_understood(renderer, misses)
    part.state["misses"] = misses
    return part


def _several(renderer: Renderer, frame: Frame) -> Plan:
    """Say what several products are, with the interaction check that two or more always get."""
    parts: list[AnswerPart] = []
    known: list[RememberedMedication] = []
    for medication in frame.medicines[:3]:
        one = Frame(frame.intent, frame.confidence, (medication,))
        found = yield from asked_by_name(renderer, one, medication, "get_medication_by_name")
        if isinstance(found, AnswerPart):
            parts.append(found)
        else:
            parts.append(product_part(renderer, medication, found, short=True))
            known.append(medicine_of(found.evidence["medication"]))
    return joined(parts, known, (yield from check_pairs(renderer, known)))


def section(renderer: Renderer, frame: Frame) -> Plan:
    """Quote what the leaflet says on the subjects asked about."""
    medication = frame.medicines[0]
    if frame.assumed and len(frame.medicines) > 1 and not frame.details.get("each"):
        return choose(renderer, frame, frame.medicines, head=renderer.say("which_of_these"))
    if len(frame.medicines) > 1:
        parts, known = [], []
        for one in frame.medicines[:2]:
            part = yield from section(renderer, Frame("section", 0.9, (one,), sections=frame.sections))
            parts.append(part)
            known += part.state.get("focus", [])
        return joined(parts, known, (yield from check_pairs(renderer, known)))
    tool = "get_medication_info" if frame.assumed else "get_medication_by_name"
    found = yield from asked_by_name(renderer, frame, medication, tool)
    if isinstance(found, AnswerPart):
        return found
    facts = found.evidence["medication"]
    leaflet = found.evidence.get("leaflet") or {}
    name = renderer.of(facts)
    lines, quoted = [], []
    for kind in frame.sections[:3]:
        if kind in leaflet:
            text = renderer.of({f"label_{lang}": leaflet[kind].get(lang) for lang in ("en", "he")})
            quoted.append(text)
            key = "leaflet_says_any" if kind == "minimum_age" or speaks_of_children(text) else "leaflet_says"
            lines.append(renderer.say(key, name=name, section=renderer.word("section", kind), text=text))
        else:
            lines.append(renderer.say("leaflet_silent", name=name, section=renderer.word("section", kind)))
    return AnswerPart(
        paragraphs(
            name_correction(renderer, medication, facts),
            *lines,
            source_line(renderer, leaflet, frame.sections[0]) if quoted else "",
        ),
        cards=[medication_card(renderer, facts, found.result["medication"], leaflet)] if quoted else [],
        suggestions=[
            renderer.say("chip_stock", name=name),
            renderer.say("chip_info", name=name),
            renderer.say("chip_person"),
        ],
        quoted=quoted,
        state=about([medicine_of(facts)]),
    )


def detail(renderer: Renderer, frame: Frame) -> Plan:
    """Give one fact of a product: its ingredients, strength, form or pack."""
    medication = frame.medicines[0]
    tool = "get_medication_info" if frame.assumed else "get_medication_by_name"
    found = yield from asked_by_name(renderer, frame, medication, tool)
    if isinstance(found, AnswerPart):
        return found
    facts = found.evidence["medication"]
    result = found.result["medication"]
    name = renderer.of(facts)
    if frame.details.get("ingredient"):
        ingredients = renderer.ingredients(facts, result)
        key = "contains_one" if len(ingredients) == 1 else "contains_many"
        text = renderer.say(key, name=name, ingredients=listed(ingredients, renderer.language))
    elif frame.details.get("maker"):
        text = renderer.say("maker_unknown", name=name)
    elif frame.details.get("pack"):
        unit = renderer.word("unit", str(facts.get("pack_unit") or ""))
        size = facts.get("pack_size")
        text = renderer.say("product_pack", size=size, unit=unit) if size else renderer.say("pack_unknown")
        text = f"{product_line(renderer, facts)}. {text}"
    else:
        text = paragraphs(
            renderer.say("strength_of", name=name, strength=renderer.measure(facts) or "–"),
            renderer.say("form_of", name=name, form=renderer.word("form", str(facts.get("form") or "–"))),
        )
    return AnswerPart(
        paragraphs(name_correction(renderer, medication, facts), text),
        suggestions=[renderer.say("chip_info", name=name), renderer.say("chip_stock", name=name)],
        state=about([medicine_of(facts)]),
    )


def rx(renderer: Renderer, frame: Frame) -> Plan:
    """Say whether a prescription is needed; with two candidates ask which, unless both are asked about."""
    if frame.assumed and len(frame.medicines) > 1 and not frame.details.get("each"):
        return choose(renderer, frame, frame.medicines, head=renderer.say("which_of_these"))
    parts, known = [], []
    for medication in frame.medicines[:3]:
        one = Frame(frame.intent, frame.confidence, (medication,))
        found = yield from asked_by_name(renderer, one, medication, "check_prescription_requirement")
        if isinstance(found, AnswerPart):
            parts.append(found)
            continue
        facts = found.evidence["medication"]
        name = renderer.of(facts)
        required = found.result["prescriptionRequired"]
        text = renderer.say("rx_yes" if required else "rx_no", name=name)
        chips = [renderer.say("chip_stock", name=name), renderer.say("chip_info", name=name)]
        parts.append(
            AnswerPart(paragraphs(name_correction(renderer, medication, facts), text), suggestions=chips)
        )
        known.append(medicine_of(facts))
    return joined(parts, known, (yield from check_pairs(renderer, known)))


def each(plan: Callable[[Renderer, Frame], Plan]) -> Callable[[Renderer, Frame], Plan]:
    """Return a plan that answers by this one for each product, with the interaction check that several always get."""

    def several(renderer: Renderer, frame: Frame) -> Plan:
        if len(frame.medicines) < 2 or frame.assumed:
            return (yield from plan(renderer, frame))
        parts, known = [], []
        for medication in frame.medicines[:3]:
            part = yield from plan(renderer, replace(frame, medicines=(medication,)))
            parts.append(part)
            known += part.state.get("focus", [])
        return joined(parts, known, (yield from check_pairs(renderer, known)))

    return several


def price(renderer: Renderer, frame: Frame) -> Plan:
    """Give the price on file, or send the customer to a branch."""
    if len(frame.medicines) > 1:
        parts, known = [], []
        for one in frame.medicines[:3]:
            part = yield from price(renderer, Frame("price", 0.9, (one,)))
            parts.append(part)
            known += part.state.get("focus", [])
        return joined(parts, known, (yield from check_pairs(renderer, known)))
    medication = frame.medicines[0]
    tool = "get_medication_info" if frame.assumed else "get_medication_by_name"
    found = yield from asked_by_name(renderer, frame, medication, tool)
    if isinstance(found, AnswerPart):
        return found
    facts = found.evidence["medication"]
    name = renderer.of(facts)
    amount = facts.get("price")
    text = renderer.say("price", name=name, price=amount) if amount else renderer.say("price_none", name=name)
    return AnswerPart(
        paragraphs(name_correction(renderer, medication, facts), text),
        suggestions=[renderer.say("chip_stock", name=name), renderer.say("chip_branches")],
        state=about([medicine_of(facts)]),
    )


def same(renderer: Renderer, frame: Frame) -> Plan:
    """Say whether two products have the same ingredients, without ranking them."""
    if len(frame.medicines) < 2:
        return AnswerPart(
            renderer.say("which_other_medicine"),
            state={"pending": {"kind": "medication", "frame": frame.remembered()}},
        )
    found: list[StepResult] = []
    for medication in frame.medicines[:2]:
        one = yield from asked_by_name(renderer, frame, medication, "get_medication_by_name")
        if isinstance(one, AnswerPart):
            return one
        found.append(one)
    first, second = (one.evidence["medication"] for one in found)
    contents = [str(one.result["medication"]["active_ingredients"]) for one in found]
    said = [tool_query(medication) for medication in frame.medicines[:2]]
    if first["id"] == second["id"]:
        text = renderer.say("same_one", a=said[0], b=said[1], name=product_line(renderer, first))
        return AnswerPart(text, state=about([medicine_of(first)]))
    bare = [sorted(_STRENGTH.sub("", part).strip() for part in text.split(", ")) for text in contents]
    if bare[0] == bare[1]:
        shared = str(first.get("generic_he") or "").split(" + ") if renderer.language == "he" else bare[0]
        key = "same_yes_one" if len(bare[0]) == 1 else "same_yes"
        text = renderer.say(
            key,
            a=renderer.of(first),
            b=renderer.of(second),
            ingredients=listed(shared if any(shared) else bare[0], renderer.language),
        )
        text = paragraphs(text, bullets([product_line(renderer, first), product_line(renderer, second)]))
    else:
        inside = [
            listed(
                renderer.ingredients(one.evidence["medication"], one.result["medication"]), renderer.language
            )
            for one in found
        ]
        text = renderer.say(
            "same_no", a=renderer.of(first), b=renderer.of(second), first=inside[0], second=inside[1]
        )
    known = [medicine_of(first), medicine_of(second)]
    return joined([AnswerPart(text)], known, (yield from check_pairs(renderer, known)))


def interaction(renderer: Renderer, frame: Frame) -> Plan:
    """Say what is on file about taking medicines together (S1: never advice about what to do)."""
    medicines = list(frame.medicines)
    if len(medicines) < 2:
        others = [
            m
            for m in frame.details.get("others", ())
            if all(m.get("id") != own.get("id") for own in medicines)
        ]
        medicines = [*medicines, *others]
    if len(medicines) < 2:
        return AnswerPart(
            renderer.say("which_other_medicine"),
            state={**about(medicines), "pending": {"kind": "medication", "frame": frame.remembered()}},
        )
    known: list[RememberedMedication] = []
    missing: list[str] = []
    for place, medication in enumerate(medicines[:5]):
        if "id" in medication:
            known.append(medication.copy())
            continue
        kinds = {option.get("generic") for option in medication.get("candidates", ())}
        if len(kinds) == 1 and "" not in kinds and None not in kinds:
            # Strengths and makers of one medicine: interactions go by ingredient, so any of them will do.
            said = medication["query"]
            first: RememberedMedication = medication["candidates"][0]
            known.append({**first, "en": said, "he": said})
            continue
        [result] = yield [Step("get_medication_by_name", {"medication_name": tool_query(medication)})]
        if result.ok and result.evidence.get("whole_word", True):
            known.append(medicine_of(result.evidence["medication"]))
            continue
        if result.ok or result.evidence.get("candidates") or result.evidence.get("near"):
            rest = [m for n, m in enumerate(medicines) if n != place]
            waiting = Frame("interaction", 0.9, (medication, *rest))
            if result.ok:
                return choose(
                    renderer,
                    waiting,
                    [medicine_of(result.evidence["medication"])],
                    head=renderer.say("sure_name", name=renderer.of(result.evidence["medication"])),
                )
            return unresolved(renderer, waiting, medication, result)
        missing.append(tool_query(medication))
    if missing:
        text = renderer.say("interaction_unknown", names=listed(missing, renderer.language))
        if len(known) < 2:
            return AnswerPart(text, suggestions=[renderer.say("chip_person")], state=about(known))
        part = yield from check_pairs(renderer, known)
        return joined(
            [AnswerPart(text, suggestions=[renderer.say("chip_person")]), part or AnswerPart("")], known, None
        )
    part = yield from check_pairs(renderer, known)
    return part or AnswerPart(renderer.say("which_other_medicine"), state=about(known))


def check_pairs(
    renderer: Renderer, known: Sequence[RememberedMedication]
) -> Generator[Sequence[Step], Sequence[StepResult], AnswerPart | None]:
    """Run the interaction check that two or more medicines in one request always get."""
    ids = list(dict.fromkeys(int(medication["id"]) for medication in known))
    if len(ids) < 2:
        return None
    [result] = yield [
        Step("interaction_check", {"med_ids": [str(pk) for pk in ids], "language": renderer.language})
    ]
    return pairs_part(renderer, known, result)
