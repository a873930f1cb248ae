"""Answer about refills: whether prescriptions can be refilled, and refills that a pharmacist places (S0 flow C, S1)."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace

from agent.answers.answer import Answer, Piece, joined, spaced
from agent.answers.cards import prescriptions_card
from agent.answers.facts.fact import Fact, chosen
from agent.answers.facts.results import facts_of
from agent.answers.facts.stores import no_level_fact, total_fact
from agent.answers.interactions import pairs_part
from agent.answers.layout import numbered
from agent.answers.prescriptions import (
    PrescriptionRow,
    prescribed,
    prescription_line,
    prescription_name,
    remembered_prescription,
)
from agent.answers.products import about
from agent.answers.render import listed
from agent.answers.renderer import Renderer
from agent.evidence import totals_of
from agent.inference.base import Step, StepResult
from agent.llm.offline.frames import Frame, asks_for_several
from agent.llm.offline.plans.plan import Plan
from agent.llm.offline.plans.whose import ask_identifier, failed
from agent.state import ConversationState, PendingQuestion, RememberedMedication


def list_step(identifier: str) -> Step:
    """Return the call that lists a customer's prescriptions."""
    arguments = {"user_identifier": identifier, "action": "LIST", "prescription_id": None}
    return Step("prescription_management", arguments)


def waits(frame: Frame, rows: Sequence[PrescriptionRow]) -> PendingQuestion:
    """Return the question which of these prescriptions is meant."""
    return {
        "kind": "which_prescription",
        "frame": frame.remembered(),
        "options": [remembered_prescription(row) for row in rows],
    }


def refill_status(renderer: Renderer, frame: Frame, identifier: str | None = None) -> Plan:
    """Say whether prescriptions can be refilled (S0 flow C, step 7)."""
    identifier = identifier or renderer.turn.identifier
    if identifier is None or frame.details.get("other_person"):
        return ask_identifier(renderer, frame)
    if asks_for_several(frame):
        return (yield from _several(renderer, frame, identifier))
    picked = frame.details.get("prescription")
    state: ConversationState = {"waiting": None}
    if not picked:
        [found] = yield [list_step(identifier)]
        if not found.ok:
            return failed(renderer, frame, found.code)
        rows: list[PrescriptionRow] = list(found.result["prescriptions"])
        state["prescriptions"] = [remembered_prescription(row) for row in rows]
        if not rows:
            return Answer(chosen(facts_of(renderer, found), "prescriptions"), state=state)
        fitting = _fitting(rows, frame.medicines[0]) if frame.medicines else rows
        if frame.medicines and not fitting:
            missing = _not_prescribed(renderer, frame.medicines[0])
            return Answer(
                [missing, _lines(renderer, rows)], suggestions=[renderer.say("chip_person")], state=state
            )
        if len(fitting) > 1:
            state["prescriptions"] = [remembered_prescription(row) for row in fitting]
            state["pending"] = waits(frame, fitting)
            chips = [
                renderer.say("chip_refill", name=prescription_name(renderer, row)) for row in fitting[:3]
            ]
            asks = renderer.say("which_prescription")
            return Answer([asks, _lines(renderer, fitting)], suggestions=chips, state=state)
        picked = remembered_prescription(fitting[0])
    arguments = {"user_identifier": identifier, "action": "REFILL_STATUS", "prescription_id": picked["id"]}
    [result] = yield [Step("prescription_management", arguments)]
    if not result.ok:
        return failed(renderer, frame, result.code)
    row: PrescriptionRow = result.result["prescription"]
    facts = {one["presc_id"]: one for one in result.evidence.get("prescriptions", ())}
    state["focus"] = [prescribed(row)]
    chips = [renderer.say("chip_stock", name=prescription_name(renderer, row)), renderer.say("chip_person")]
    said = chosen(facts_of(renderer, result), "refill")
    return Answer(said, cards=[prescriptions_card(renderer, [row], facts)], suggestions=chips, state=state)


def _not_prescribed(renderer: Renderer, medicine: RememberedMedication) -> Fact:
    """Return that the customer's file has no prescription for a medicine."""
    name = renderer.name(medicine)
    text = renderer.say("no_such_prescription", name=name)
    return Fact("prescription_state", name, text, polarity=False, is_lasting=False)


def _lines(renderer: Renderer, rows: Sequence[PrescriptionRow]) -> Fact:
    """Return these prescriptions, to choose from."""
    lines = numbered([prescription_line(renderer, row, {}) for row in rows])
    return Fact("prescriptions", "", lines, is_lasting=False)


def _fitting(rows: Sequence[PrescriptionRow], medicine: RememberedMedication) -> list[PrescriptionRow]:
    """Return the prescriptions that the customer may mean; of several for one product, those that can be refilled."""
    ids = (
        {medicine["id"]} if "id" in medicine else {option["id"] for option in medicine.get("candidates", ())}
    )
    fitting = [row for row in rows if row["med_id"] in ids]
    usable = [row for row in fitting if row["can_refill"]]
    return usable or fitting


def refill(renderer: Renderer, frame: Frame, identifier: str | None = None) -> Plan:
    """Check stock and prescription for a refill, and ask whether it shall be passed to a pharmacist (S1)."""
    identifier = identifier or renderer.turn.identifier
    if identifier is None or frame.details.get("other_person"):
        return ask_identifier(renderer, frame)
    if asks_for_several(frame):
        return (yield from _several(renderer, frame, identifier))
    medicine = frame.medicines[0] if frame.medicines else None
    if medicine is None or "id" not in medicine:
        picked = frame.details.get("prescription")
        if picked:
            medicine = {"id": picked["med_id"], "en": picked["en"], "he": picked["he"]}
        else:
            return (yield from refill_status(renderer, frame, identifier))
    found, *results = yield [list_step(identifier), *_refill_steps(renderer, medicine, identifier)]
    outcome = _outcome(renderer, medicine, results)
    if outcome.failure:
        return failed(renderer, frame, outcome.failure)
    said, state = [*outcome.pieces], ConversationState({"waiting": None, "focus": [medicine.copy()]})
    # What is refilled is checked against the rest of the list.
    state["prescriptions"] = [remembered_prescription(row) for row in found.result.get("prescriptions", ())]
    if outcome.is_eligible:
        asked = yield from _asked_to_confirm(renderer, [outcome])
        said += asked.pieces
        state.update(asked.state)
    name = renderer.name(medicine)
    chips = [renderer.say("chip_person"), renderer.say("chip_where", name=name)]
    return Answer(said, suggestions=chips, state=state)


@dataclass(frozen=True)
class _Outcome:
    """What became of one medicine of a refill: what is said of it, and the prescription that a pharmacist may refill."""

    name: str
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
        return _Outcome(name, failure=verified.code)
    [verdict] = chosen(facts_of(renderer, verified), "refill")
    on_file = verified.evidence["prescription"]
    return _Outcome(
        name,
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


def _asked_to_confirm(
    renderer: Renderer, outcomes: Sequence[_Outcome], *, names_them: bool = False
) -> Generator[Sequence[Step], Sequence[StepResult], Answer]:
    """Ask on a card whether these refills shall be passed to a pharmacist; without a card, whether a person shall come."""
    ids = [one.prescription_id for one in outcomes]
    asking: dict[str, object] = {"prescription_id": ids[0]} if len(ids) == 1 else {"prescription_ids": ids}
    [asked_back] = yield [Step("refill.ask", asking)]
    if not asked_back.result:
        return Answer(
            [renderer.say("refill_offer")], state={"pending": {"kind": "offer_person", "reason": "refill"}}
        )
    names = listed([one.name for one in outcomes], renderer.language)
    says = renderer.say("refill_confirm_named", names=names) if names_them else renderer.say("refill_confirm")
    return Answer([says], state={"pending": {"kind": "confirm"}})


def confirm_on_card(renderer: Renderer, frame: Frame) -> Plan:
    """Point to the card that asks for the yes: a typed one confirms nothing."""
    yield from ()
    says = renderer.say("refill_on_card", yes=renderer.say("confirm_yes"))
    return Answer([says], suggestions=[renderer.say("chip_person")], state={"pending": {"kind": "confirm"}})


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
    said += [Answer([_not_prescribed(renderer, one)]) for one in asked.missing]
    said.append((yield from _checked_together(renderer, asked.products)))
    if eligible := [one for one in outcomes if one.is_eligible]:
        said.append((yield from _asked_to_confirm(renderer, eligible, names_them=True)))
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
        fitting = _fitting(rows, medicine)
        if len(fitting) > 1:
            asked.unclear += fitting
            asked.unclear_medicine = asked.unclear_medicine or medicine
        elif fitting:
            asked.rows.append(fitting[0])
            asked.products.append(prescribed(fitting[0]))
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
        [renderer.say("which_prescription"), _lines(renderer, asked.unclear)], state={"pending": pending}
    )
