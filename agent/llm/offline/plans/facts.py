"""Answer with facts about products: what they are, leaflets, prescription, price, sameness, interactions."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace

from agent.answers.answer import Answer, joined
from agent.answers.cards import medication_card
from agent.answers.facts.fact import chosen
from agent.answers.facts.interactions import unassessable_fact
from agent.answers.facts.leaflets import overview_facts, source_facts
from agent.answers.facts.medicines import name_facts, same_fact
from agent.answers.facts.results import facts_of
from agent.answers.interactions import pairs_part
from agent.answers.products import about, is_called_by_ingredient, medicine_of
from agent.answers.refusals import not_understood
from agent.answers.renderer import Renderer
from agent.inference.base import Step, StepResult
from agent.llm.offline.frames import Frame
from agent.llm.offline.plans.names import asked_by_name, choose, tool_query, unresolved
from agent.llm.offline.plans.plan import Plan
from agent.state import PendingQuestion, RememberedMedication


def info(renderer: Renderer, frame: Frame) -> Plan:
    """Say what a product is: ingredients, use, dosage, warnings, prescription (S0 flow A)."""
    if len(frame.medicines) > 1:
        return (yield from _several(renderer, frame))
    found = yield from _looked_up(renderer, frame)
    if isinstance(found, Answer):
        return found
    return _product(renderer, frame.medicines[0], found)


def _product(
    renderer: Renderer, medication: RememberedMedication, found: StepResult, *, short: bool = False
) -> Answer:
    """Return what a product is; `short` leaves the leaflet out."""
    facts, leaflet = found.evidence["medication"], found.evidence.get("leaflet") or {}
    known, name = facts_of(renderer, found), renderer.of(facts)
    contents = "strength" if is_called_by_ingredient(facts) else "ingredients"
    return Answer(
        [
            *name_facts(renderer, medication, facts),
            *chosen(known, contents),
            *([] if short else overview_facts(renderer, name, leaflet)),
            *chosen(known, "prescription"),
            *([] if short else chosen(known, "source")),
        ],
        cards=[medication_card(renderer, facts, found.result["medication"], leaflet)],
        suggestions=[
            renderer.say("chip_stock", name=name),
            renderer.say("chip_side_effects", name=name),
            renderer.say("chip_where", name=name),
        ],
        state=about([medicine_of(facts)]),
    )


def _looked_up(
    renderer: Renderer, frame: Frame
) -> Generator[Sequence[Step], Sequence[StepResult], StepResult | Answer]:
    """Look up the product of a frame, or ask the customer back."""
    tool = "get_medication_info" if frame.assumed else "get_medication_by_name"
    return (yield from asked_by_name(renderer, frame, frame.medicines[0], tool))


def lost(renderer: Renderer, answer: Answer) -> Answer:
    """Count words that are no name and ask nothing as not understood: the third time, a person is offered."""
    if "shown" in answer.state or "pending" not in answer.state:  # a near name is offered, or it was a name
        return answer
    misses = int(renderer.turn.state.get("misses") or 0) + 1
    if misses > 1:
        return not_understood(renderer, misses)
    answer.state["misses"] = misses
    return answer


def _several(renderer: Renderer, frame: Frame) -> Plan:
    """Say what several products are, with the interaction check that two or more always get."""
    answers: list[Answer] = []
    known: list[RememberedMedication] = []
    for medication in frame.medicines[:3]:
        one = Frame(frame.intent, frame.confidence, (medication,))
        found = yield from asked_by_name(renderer, one, medication, "get_medication_by_name")
        if isinstance(found, Answer):
            answers.append(found)
        else:
            answers.append(_product(renderer, medication, found, short=True))
            known.append(medicine_of(found.evidence["medication"]))
    return (yield from with_pairs(renderer, answers, known))


def section(renderer: Renderer, frame: Frame) -> Plan:
    """Quote what the leaflet says on the subjects asked about."""
    if frame.assumed and len(frame.medicines) > 1 and not frame.details.get("each"):
        return choose(renderer, frame, frame.medicines, head=renderer.say("which_of_these"))
    if len(frame.medicines) > 1:
        parts = [Frame("section", 0.9, (one,), sections=frame.sections) for one in frame.medicines[:2]]
        return (yield from _one_by_one(renderer, section, parts))
    found = yield from _looked_up(renderer, frame)
    if isinstance(found, Answer):
        return found
    facts, leaflet = found.evidence["medication"], found.evidence.get("leaflet") or {}
    name, known = renderer.of(facts), facts_of(renderer, found)
    said = chosen(known, *(f"leaflet.{kind}" for kind in frame.sections[:3])) or chosen(known, "leaflet")
    is_quoted = any(fact.quotes for fact in said)
    return Answer(
        [
            *name_facts(renderer, frame.medicines[0], facts),
            *said,
            *(source_facts(renderer, name, leaflet, frame.sections[0]) if is_quoted else ()),
        ],
        cards=[medication_card(renderer, facts, found.result["medication"], leaflet)] if is_quoted else [],
        suggestions=[
            renderer.say("chip_stock", name=name),
            renderer.say("chip_info", name=name),
            renderer.say("chip_person"),
        ],
        state=about([medicine_of(facts)]),
    )


def detail(renderer: Renderer, frame: Frame) -> Plan:
    """Give one fact of a product: its ingredients, maker, pack, or strength and form."""
    asked = next((key for key in ("ingredient", "maker", "pack") if frame.details.get(key)), "")
    kinds = {"ingredient": ["ingredients"], "maker": ["maker"], "pack": ["pack"]}.get(asked)
    return (
        yield from _chosen_facts(renderer, frame, kinds or ["strength", "form"], "chip_info", "chip_stock")
    )


def price(renderer: Renderer, frame: Frame) -> Plan:
    """Give the price on file, or send the customer to a branch."""
    if len(frame.medicines) > 1:
        parts = [Frame("price", 0.9, (one,)) for one in frame.medicines[:3]]
        return (yield from _one_by_one(renderer, price, parts))
    return (yield from _chosen_facts(renderer, frame, ["price"], "chip_stock", "chip_branches"))


def _chosen_facts(renderer: Renderer, frame: Frame, kinds: Sequence[str], *chips: str) -> Plan:
    """Answer with these facts of the frame's product."""
    found = yield from _looked_up(renderer, frame)
    if isinstance(found, Answer):
        return found
    facts, known = found.evidence["medication"], facts_of(renderer, found)
    if "ingredients" in kinds and is_called_by_ingredient(facts):
        kinds = [*kinds, "strength"]
    return Answer(
        [*name_facts(renderer, frame.medicines[0], facts), *chosen(known, *kinds)],
        suggestions=[renderer.say(chip, name=renderer.of(facts)) for chip in chips],
        state=about([medicine_of(facts)]),
    )


def rx(renderer: Renderer, frame: Frame) -> Plan:
    """Say whether a prescription is needed; with two candidates ask which, unless both are asked about."""
    if frame.assumed and len(frame.medicines) > 1 and not frame.details.get("each"):
        return choose(renderer, frame, frame.medicines, head=renderer.say("which_of_these"))
    answers, known = [], []
    for medication in frame.medicines[:3]:
        one = Frame(frame.intent, frame.confidence, (medication,))
        found = yield from asked_by_name(renderer, one, medication, "check_prescription_requirement")
        if isinstance(found, Answer):
            answers.append(found)
            continue
        facts = found.evidence["medication"]
        chips = [renderer.say(chip, name=renderer.of(facts)) for chip in ("chip_stock", "chip_info")]
        said = [*name_facts(renderer, medication, facts), *facts_of(renderer, found)]
        answers.append(Answer(said, suggestions=chips))
        known.append(medicine_of(facts))
    return (yield from with_pairs(renderer, answers, known))


def each(plan: Callable[[Renderer, Frame], Plan]) -> Callable[[Renderer, Frame], Plan]:
    """Return a plan that answers by this one for each product, with the interaction check that several always get."""

    def several(renderer: Renderer, frame: Frame) -> Plan:
        if len(frame.medicines) < 2 or frame.assumed:
            return (yield from plan(renderer, frame))
        frames = [replace(frame, medicines=(medication,)) for medication in frame.medicines[:3]]
        return (yield from _one_by_one(renderer, plan, frames))

    return several


def _one_by_one(renderer: Renderer, plan: Callable[[Renderer, Frame], Plan], frames: Sequence[Frame]) -> Plan:
    answers: list[Answer] = []
    for frame in frames:
        answers.append((yield from plan(renderer, frame)))
    known = [medication for answer in answers for medication in answer.state.get("focus", [])]
    return (yield from with_pairs(renderer, answers, known))


def same(renderer: Renderer, frame: Frame) -> Plan:
    """Say whether two products have the same ingredients, without ranking them."""
    if len(frame.medicines) < 2:
        return _which_other(renderer, frame, ())
    found: list[StepResult] = []
    for medication in frame.medicines[:2]:
        one = yield from asked_by_name(renderer, frame, medication, "get_medication_by_name")
        if isinstance(one, Answer):
            return one
        found.append(one)
    said = tool_query(frame.medicines[0]), tool_query(frame.medicines[1])
    answer = Answer([same_fact(renderer, (found[0], found[1]), said)])
    known = {one.evidence["medication"]["id"]: medicine_of(one.evidence["medication"]) for one in found}
    return (yield from with_pairs(renderer, [answer], list(known.values())))


def _which_other(renderer: Renderer, frame: Frame, known: Sequence[RememberedMedication]) -> Answer:
    """Ask for the second medicine of a question about two."""
    pending: PendingQuestion = {"kind": "medication", "frame": frame.remembered()}
    return Answer([renderer.say("which_other_medicine")], state={**about(known), "pending": pending})


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
        return _which_other(renderer, frame, medicines)
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
            return unresolved(renderer, waiting, result)
        missing.append(tool_query(medication))
    answers = []
    if missing:
        chips = [renderer.say("chip_person")]
        answers.append(Answer([unassessable_fact(renderer, missing)], suggestions=chips))
    elif len({int(one["id"]) for one in known}) < 2:
        answers.append(Answer([renderer.say("which_other_medicine")]))
    return (yield from with_pairs(renderer, answers, known))


def with_pairs(renderer: Renderer, answers: Sequence[Answer], known: Sequence[RememberedMedication]) -> Plan:
    """Join answers about these medicines, with the interaction check that two or more in one request always get."""
    ids = list(dict.fromkeys(int(medication["id"]) for medication in known))
    state = Answer(state=about(known))
    if len(ids) < 2:
        return joined([*answers, state])
    arguments = {"med_ids": [str(pk) for pk in ids], "language": renderer.language}
    [result] = yield [Step("interaction_check", arguments)]
    return joined([*answers, pairs_part(renderer, known, result), state])
