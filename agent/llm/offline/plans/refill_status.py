"""Say whether one prescription can be refilled, or list them to choose from (S0 flow C, step 7)."""

from collections.abc import Sequence

from agent.answers.answer import Answer
from agent.answers.cards import prescriptions_card
from agent.answers.facts.fact import Fact, chosen
from agent.answers.facts.results import facts_of
from agent.answers.layout import numbered
from agent.answers.prescriptions import (
    PrescriptionRow,
    prescribed,
    prescription_line,
    prescription_name,
    remembered_prescription,
)
from agent.answers.renderer import Renderer
from agent.inference.base import Step
from agent.llm.offline.frames import Frame
from agent.llm.offline.plans.plan import Plan
from agent.llm.offline.plans.whose import failed
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


def status_of_one(renderer: Renderer, frame: Frame, identifier: str) -> Plan:
    """Say whether the prescription that is meant can be refilled, or ask which one is meant."""
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
        fitting = fitting_rows(rows, frame.medicines[0]) if frame.medicines else rows
        if frame.medicines and not fitting:
            missing = not_prescribed(renderer, frame.medicines[0])
            return Answer(
                [missing, lines_of(renderer, rows)], suggestions=[renderer.say("chip_person")], state=state
            )
        if len(fitting) > 1:
            state["prescriptions"] = [remembered_prescription(row) for row in fitting]
            state["pending"] = waits(frame, fitting)
            chips = [
                renderer.say("chip_refill", name=prescription_name(renderer, row)) for row in fitting[:3]
            ]
            asks = renderer.say("which_prescription")
            return Answer([asks, lines_of(renderer, fitting)], suggestions=chips, state=state)
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
    if any(fact.polarity for fact in said):
        chips = [renderer.say("chip_request", name=prescription_name(renderer, row)), *chips]
    return Answer(said, cards=[prescriptions_card(renderer, [row], facts)], suggestions=chips, state=state)


def not_prescribed(renderer: Renderer, medicine: RememberedMedication) -> Fact:
    """Return that the customer's file has no prescription for a medicine."""
    name = renderer.name(medicine)
    text = renderer.say("no_such_prescription", name=name)
    return Fact("prescription_state", name, text, polarity=False, is_lasting=False)


def lines_of(renderer: Renderer, rows: Sequence[PrescriptionRow]) -> Fact:
    """Return these prescriptions, to choose from."""
    lines = numbered([prescription_line(renderer, row, {}) for row in rows])
    return Fact("prescriptions", "", lines, is_lasting=False)


def fitting_rows(rows: Sequence[PrescriptionRow], medicine: RememberedMedication) -> list[PrescriptionRow]:
    """Return the prescriptions that the customer may mean; of several for one product, those that can be refilled."""
    ids = (
        {medicine["id"]} if "id" in medicine else {option["id"] for option in medicine.get("candidates", ())}
    )
    fitting = [row for row in rows if row["med_id"] in ids]
    usable = [row for row in fitting if row["can_refill"]]
    return usable or fitting
