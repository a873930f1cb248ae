"""Answer about refills: whether prescriptions can be refilled, and refills that a pharmacist places (S0 flow C, S1)."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace

from agent.answers.answer import Answer, Piece, joined, spaced
from agent.answers.cards import prescriptions_card
from agent.answers.facts.fact import Fact, chosen
from agent.answers.facts.results import facts_of
from agent.answers.facts.stores import no_level_fact, total_fact
from agent.answers.interactions import pairs_part
from agent.answers.prescriptions import (
    PrescriptionRow,
    prescribed,
    prescription_name,
    remembered_prescription,
)
from agent.answers.products import about
from agent.answers.renderer import Renderer
from agent.evidence import totals_of
from agent.inference.base import Step, StepResult
from agent.llm.offline.frames import Frame, asks_for_several
from agent.llm.offline.plans.plan import Plan
from agent.llm.offline.plans.refill_names import given_up, is_given_up, own_names, wanted_question
from agent.llm.offline.plans.refill_request import collect
from agent.llm.offline.plans.refill_status import (
    fitting_rows,
    lines_of,
    list_step,
    not_prescribed,
    status_of_one,
    waits,
)
from agent.llm.offline.plans.whose import ask_identifier, failed
from agent.state import ConversationState, PendingQuestion, RememberedMedication


def refill_status(renderer: Renderer, frame: Frame, identifier: str | None = None) -> Plan:
    """Say whether prescriptions can be refilled (S0 flow C, step 7)."""
    identifier = identifier or renderer.turn.identifier
    if identifier is None or frame.details.get("other_person"):
        return ask_identifier(renderer, frame)
    if is_given_up(frame):
        return (yield from given_up(renderer, frame, "max_attempts"))
    frame, question = yield from own_names(renderer, frame)
    if question:
        return question
    if asks_for_several(frame):
        return (yield from _several(renderer, frame, identifier))
    return (yield from status_of_one(renderer, frame, identifier))


def refill(renderer: Renderer, frame: Frame, identifier: str | None = None) -> Plan:
    """Check stock and prescription for a refill, and ask whether it shall be passed to a pharmacist (S1)."""
    identifier = identifier or renderer.turn.identifier
    if not is_given_up(frame) and (question := wanted_question(renderer, frame)):
        return question
    if identifier is None or frame.details.get("other_person"):
        return ask_identifier(renderer, frame)
    if is_given_up(frame):
        return (yield from given_up(renderer, frame, "max_attempts"))
    frame, question = yield from own_names(renderer, frame)
    if question:
        return question
    if asks_for_several(frame):
        return (yield from _several(renderer, frame, identifier))
    medicine = frame.medicines[0] if frame.medicines else None
    if medicine is None or "id" not in medicine:
        picked = frame.details.get("prescription")
        if picked:
            medicine = {"id": picked["med_id"], "en": picked["en"], "he": picked["he"]}
        else:
            return (yield from status_of_one(renderer, frame, identifier))
    found, *results = yield [list_step(identifier), *_refill_steps(renderer, medicine, identifier)]
    outcome = _outcome(renderer, medicine, results)
    if outcome.failure:
        return failed(renderer, frame, outcome.failure)
    said, state = [*outcome.pieces], ConversationState({"waiting": None, "focus": [medicine.copy()]})
    # What is refilled is checked against the rest of the list.
    state["prescriptions"] = [remembered_prescription(row) for row in found.result.get("prescriptions", ())]
    offered: Sequence[str] = ()
    if outcome.is_eligible:
        asked = yield from _collected(renderer, frame, [outcome])
        said += asked.pieces
        offered = asked.suggestions
        state.update(asked.state)
    name = renderer.name(medicine)
    chips = [*offered, renderer.say("chip_person"), renderer.say("chip_where", name=name)]
    return Answer(said, suggestions=chips, state=state)


@dataclass(frozen=True)
class _Outcome:
    """What became of one medicine of a refill: what is said of it, and the prescription that a pharmacist may refill."""

    name: str
    medicine: RememberedMedication
    pieces: Sequence[Piece] = ()
    is_eligible: bool = False
    prescription_id: int | None = None
    failure: str = ""


def _refill_steps(renderer: Renderer, medicine: RememberedMedication, identifier: str) -> list[Step]:
    """Return the calls that a refill always begins with: stock, and the prescription on file."""
    query = {"query": str(medicine.get("en") or medicine.get("said")), "language": renderer.language}
    verify = {
        "patient_id": renderer.turn.patient_id or identifier,
        "med_id": str(medicine["id"]),
        "intent": "refill",
        "language": renderer.language,
    }
    return [Step("inventory_check", query), Step("prescription_verify", verify)]


def _outcome(renderer: Renderer, medicine: RememberedMedication, results: Sequence[StepResult]) -> _Outcome:
    stocked, verified = results
    name = renderer.name(medicine)
    if not verified.ok:
        return _Outcome(name, medicine, failure=verified.code)
    [verdict] = chosen(facts_of(renderer, verified), "refill")
    on_file = verified.evidence["prescription"]
    return _Outcome(
        name,
        medicine,
        [verdict, _stock(renderer, stocked, verified)],
        is_eligible=bool(verdict.polarity),
        prescription_id=on_file["presc_id"] if on_file else None,
    )


def _stock(renderer: Renderer, stocked: StepResult, verified: StepResult) -> Fact:
    """Return how many packs of the product all stores have together, by S1's inventory check."""
    facts = verified.evidence["medication"]
    found = totals_of(stocked.evidence) if stocked.ok else {}
    if not facts["controlled"] and facts["id"] not in found:
        return no_level_fact(renderer, facts)
    return total_fact(renderer, facts, found.get(facts["id"], 0))


def _collected(
    renderer: Renderer, frame: Frame, outcomes: Sequence[_Outcome]
) -> Generator[Sequence[Step], Sequence[StepResult], Answer]:
    """Take up a request for these medicines."""
    found = [(one.prescription_id, one.medicine) for one in outcomes if one.prescription_id is not None]
    ids, medicines = [pk for pk, _one in found], [one for _pk, one in found]
    return (yield from collect(renderer, frame, ids, medicines))


def confirm_on_card(renderer: Renderer, frame: Frame) -> Plan:
    """Point to the card that asks for the yes: a typed one confirms nothing."""
    yield from ()
    waiting: PendingQuestion = renderer.turn.state.get("pending") or {"kind": "confirm"}
    # The card about a cancellation leaves no question with a refill behind it.
    is_cancellation = frame.details.get("cancels") or (
        waiting["kind"] == "confirm" and "frame" not in waiting and not renderer.turn.state.get("refills")
    )
    yes = renderer.say("confirm_cancel_yes" if is_cancellation else "confirm_yes")
    says = renderer.say("refill_on_card", yes=yes)
    return Answer([says], suggestions=[renderer.say("chip_person")], state={"pending": waiting})


# -- Several medicines in one request ----------------------------------------------------------------------------
@dataclass
class _Asked:
    """The medicines of one request, by what the customer's file has of each."""

    products: list[RememberedMedication] = field(default_factory=list)
    rows: list[PrescriptionRow] = field(default_factory=list)
    unclear: list[PrescriptionRow] = field(default_factory=list)
    """Prescriptions among which the customer has to choose."""
    unclear_medicine: RememberedMedication | None = None
    missing: list[RememberedMedication] = field(default_factory=list)
    """Of which nothing is on file."""


def _several(renderer: Renderer, frame: Frame, identifier: str) -> Plan:
    """Say of each medicine whether it can be refilled, check them together, and ask for one yes to all that can be."""
    [found] = yield [list_step(identifier)]
    if not found.ok:
        return failed(renderer, frame, found.code)
    rows: list[PrescriptionRow] = list(found.result["prescriptions"])
    state: ConversationState = {
        "waiting": None,
        "prescriptions": [remembered_prescription(row) for row in rows],
    }
    known = facts_of(renderer, found)
    if not rows:
        return Answer(chosen(known, "prescriptions"), state=state)
    asked = _sorted_out(rows, frame)
    chips = [renderer.say("chip_person")]
    if frame.intent == "refill":
        outcomes: list[_Outcome] = []
        for medicine in asked.products:
            results = yield _refill_steps(renderer, medicine, identifier)
            outcomes.append(_outcome(renderer, medicine, results))
        said = [_told(renderer, one) for one in outcomes]
    else:
        outcomes, said = [], [Answer(_status(renderer, known, asked))]
        facts = {one["presc_id"]: one for one in found.evidence.get("prescriptions", ())}
        said[0].cards = [prescriptions_card(renderer, asked.rows, facts)] if asked.rows else []
    said += [Answer([not_prescribed(renderer, one)]) for one in asked.missing]
    said.append((yield from _checked_together(renderer, asked.products)))
    if eligible := [one for one in outcomes if one.is_eligible]:
        said.append((yield from _collected(renderer, frame, eligible)))
    if asked.unclear:
        said.append(_which(renderer, frame, asked))
    whole = joined(said)
    whole.suggestions = [*whole.suggestions, *chips]
    whole.state = {**whole.state, **state, **about(asked.products)}
    return whole


def _sorted_out(rows: Sequence[PrescriptionRow], frame: Frame) -> _Asked:
    """Look up each medicine of a request among a customer's prescriptions."""
    asked = _Asked()
    if not frame.medicines:  # "all of them"
        asked.rows = list(rows)
        products = {row["med_id"]: prescribed(row) for row in rows}
        return replace(asked, products=list(products.values()))
    for medicine in frame.medicines:
        fitting = fitting_rows(rows, medicine)
        if len(fitting) > 1 or (fitting and medicine.get("likely")):
            asked.unclear += fitting
            asked.unclear_medicine = asked.unclear_medicine or medicine
        elif fitting:
            asked.rows.append(fitting[0])
            said = medicine.get("said") or medicine.get("query") or ""
            asked.products.append({**prescribed(fitting[0]), "said": said})
        elif "id" in medicine and frame.intent == "refill":
            asked.products.append(medicine)
        else:
            asked.missing.append(medicine)
            asked.products += [medicine] if "id" in medicine else []
    asked.products = list({one["id"]: one for one in asked.products}.values())
    return asked


def _told(renderer: Renderer, outcome: _Outcome) -> Answer:
    """Return what became of one medicine, as a paragraph."""
    if outcome.failure:
        text = renderer.say("refill_unreadable", name=outcome.name)
        return Answer([Fact("unreadable", outcome.name, text, is_lasting=False)])
    return Answer(spaced(outcome.pieces))


def _status(renderer: Renderer, known: Sequence[Fact], asked: _Asked) -> list[Fact]:
    """Return whether each of these prescriptions can be refilled, in the order of the request."""
    names = [prescription_name(renderer, row) for row in asked.rows]
    return [fact for name in dict.fromkeys(names) for fact in chosen(known, "refill", about=name)]


def _checked_together(renderer: Renderer, products: Sequence[RememberedMedication]) -> Plan:
    """Return the interaction check that two or more medicines in one request always get."""
    if len(products) < 2:
        return Answer()
    ids = [str(one["id"]) for one in products]
    [result] = yield [Step("interaction_check", {"med_ids": ids, "language": renderer.language})]
    return pairs_part(renderer, products, result)


def _which(renderer: Renderer, frame: Frame, asked: _Asked) -> Answer:
    """Ask which prescription is meant by a name that fits several."""
    medicines = (asked.unclear_medicine,) if asked.unclear_medicine else ()
    pending = waits(replace(frame, medicines=medicines), asked.unclear)
    return Answer(
        [renderer.say("which_prescription"), lines_of(renderer, asked.unclear)], state={"pending": pending}
    )
