"""Answer about a customer's own prescriptions: proof of identity, list, refill status, refill (S0 flow C, S1)."""

from collections.abc import Sequence

from agent.answers.answer import Answer, Piece
from agent.answers.cards import elsewhere_card, identity_card, prescriptions_card
from agent.answers.facts.fact import Fact, chosen
from agent.answers.facts.lists import unreadable_fact
from agent.answers.facts.results import facts_of
from agent.answers.facts.stores import no_level_fact, total_fact
from agent.answers.layout import numbered
from agent.answers.prescriptions import (
    PrescriptionRow,
    prescribed,
    prescription_line,
    prescription_name,
    remembered_prescription,
)
from agent.answers.renderer import Renderer
from agent.evidence import totals_of
from agent.inference.base import Step, StepResult
from agent.llm.offline.frames import Frame
from agent.llm.offline.plans.plan import Plan
from agent.state import ConversationState, PendingQuestion


def ask_identifier(renderer: Renderer, frame: Frame) -> Answer:
    """Ask whose prescriptions are meant; the question waits in the conversation."""
    if renderer.turn.identity_elsewhere:
        return _elsewhere(renderer, frame)
    key = "ask_identifier_other" if frame.details.get("other_person") else "ask_identifier"
    if renderer.turn.identity_policy != "otp" and key == "ask_identifier":
        key = "ask_identifier_plain"
    if renderer.turn.challenge_open and key == "ask_identifier":
        key = "code_waiting"
    return Answer(
        [renderer.say(key)],
        suggestions=[renderer.say("chip_person")],
        state={
            "waiting": frame.remembered(),
            "pending": {"kind": "identifier", "frame": frame.remembered()},
            "identifier_asked": True,
        },
    )


def _elsewhere(renderer: Renderer, frame: Frame) -> Answer:
    """Lead from a site that is not ours to a window of our own, where the question is taken up again."""
    return Answer(
        [renderer.say("identity_elsewhere")],
        cards=[elsewhere_card(renderer)],
        suggestions=[renderer.say("chip_person")],
        state={"waiting": frame.remembered(), "pending": {"kind": "identifier", "frame": frame.remembered()}},
    )


def identify(renderer: Renderer, frame: Frame) -> Plan:
    """Prove the identifier that was given, and go on with the question that waits for it."""
    waiting = Frame.recalled(frame.details["waiting"])
    if renderer.turn.identity_elsewhere:
        return _elsewhere(renderer, waiting)
    identifier = str(frame.details["identifier"])
    [result] = yield [Step("identity.code", {"identifier": identifier})]
    if result.result.get("verified"):
        return (yield from PATIENT_PLANS[waiting.intent](renderer, waiting, identifier))
    if result.result.get("limited"):
        return Answer([renderer.say("code_limited")], suggestions=[renderer.say("chip_person")])
    if renderer.turn.identity_policy != "otp":
        return Answer(
            [renderer.say("no_account")],
            suggestions=[renderer.say("chip_person")],
            state={
                "pending": {"kind": "identifier", "frame": waiting.remembered()},
                "waiting": waiting.remembered(),
            },
        )
    return Answer(
        [Fact("identity", "", renderer.say("code_sent"), is_lasting=False)],
        cards=[identity_card(renderer)],
        state={"waiting": waiting.remembered(), "pending": None},
    )


def prescriptions(renderer: Renderer, frame: Frame, identifier: str | None = None) -> Plan:
    """List the customer's prescriptions, once they are identified."""
    identifier = identifier or renderer.turn.identifier
    if identifier is None or frame.details.get("other_person"):
        return ask_identifier(renderer, frame)
    [result] = yield [
        Step(
            "prescription_management",
            {"user_identifier": identifier, "action": "LIST", "prescription_id": None},
        )
    ]
    if not result.ok:
        return _failed(renderer, frame, result.code)
    rows: list[PrescriptionRow] = list(result.result["prescriptions"])
    known = facts_of(renderer, result)
    if not rows:
        return Answer(chosen(known, "prescriptions"), state={"waiting": None, "prescriptions": []})
    facts = {row["presc_id"]: row for row in result.evidence.get("prescriptions", ())}
    chips = [
        renderer.say("chip_refill", name=prescription_name(renderer, row))
        for row in rows
        if row["can_refill"]
    ][:2]
    state: ConversationState = {
        "waiting": None,
        "prescriptions": [remembered_prescription(row) for row in rows],
        "shown": [],
        "pending": _waits(Frame("refill_status", 0.9), rows),
    }
    if len(rows) == 1:
        state["focus"] = [prescribed(rows[0])]
    asks = renderer.say("prescriptions_ask" if len(rows) > 1 else "prescriptions_ask_one")
    return Answer(
        [*chosen(known, "prescriptions"), asks],
        cards=[prescriptions_card(renderer, rows, facts)],
        suggestions=[*chips, renderer.say("chip_person")],
        state=state,
    )


def _waits(frame: Frame, rows: Sequence[PrescriptionRow]) -> PendingQuestion:
    """Return the question which of these prescriptions is meant."""
    return {
        "kind": "which_prescription",
        "frame": frame.remembered(),
        "options": [remembered_prescription(row) for row in rows],
    }


def _failed(renderer: Renderer, frame: Frame, code: str) -> Answer:
    """Say that a patient's tool did not succeed."""
    if code in ("UNAUTHORIZED", "PATIENT_NOT_FOUND"):
        return ask_identifier(renderer, frame)
    if code == "NOT_FOUND":
        return Answer(
            [renderer.say("no_prescription_found")],
            suggestions=[renderer.say("chip_prescriptions"), renderer.say("chip_person")],
        )
    return Answer([unreadable_fact(renderer)], suggestions=[renderer.say("chip_person")])


def refill_status(renderer: Renderer, frame: Frame, identifier: str | None = None) -> Plan:
    """Say whether a prescription can be refilled (S0 flow C, step 7)."""
    identifier = identifier or renderer.turn.identifier
    if identifier is None or frame.details.get("other_person"):
        return ask_identifier(renderer, frame)
    picked = frame.details.get("prescription")
    state: ConversationState = {"waiting": None}
    if not picked:
        [listed] = yield [
            Step(
                "prescription_management",
                {"user_identifier": identifier, "action": "LIST", "prescription_id": None},
            )
        ]
        if not listed.ok:
            return _failed(renderer, frame, listed.code)
        rows: list[PrescriptionRow] = list(listed.result["prescriptions"])
        state["prescriptions"] = [remembered_prescription(row) for row in rows]
        if not rows:
            return Answer(chosen(facts_of(renderer, listed), "prescriptions"), state=state)
        fitting = _fitting(rows, frame)
        if frame.medicines and not fitting:
            name = renderer.name(frame.medicines[0])
            missing = Fact("prescription_state", name, renderer.say("no_such_prescription", name=name))
            return Answer(
                [missing, _lines(renderer, rows)], suggestions=[renderer.say("chip_person")], state=state
            )
        if len(fitting) > 1:
            state["prescriptions"] = [remembered_prescription(row) for row in fitting]
            state["pending"] = _waits(frame, fitting)
            chips = [
                renderer.say("chip_refill", name=prescription_name(renderer, row)) for row in fitting[:3]
            ]
            asks = renderer.say("which_prescription")
            return Answer([asks, _lines(renderer, fitting)], suggestions=chips, state=state)
        picked = remembered_prescription(fitting[0])
    arguments = {"user_identifier": identifier, "action": "REFILL_STATUS", "prescription_id": picked["id"]}
    [result] = yield [Step("prescription_management", arguments)]
    if not result.ok:
        return _failed(renderer, frame, result.code)
    row: PrescriptionRow = result.result["prescription"]
    facts = {one["presc_id"]: one for one in result.evidence.get("prescriptions", ())}
    state["focus"] = [prescribed(row)]
    chips = [renderer.say("chip_stock", name=prescription_name(renderer, row)), renderer.say("chip_person")]
    said = chosen(facts_of(renderer, result), "refill")
    return Answer(said, cards=[prescriptions_card(renderer, [row], facts)], suggestions=chips, state=state)


def _lines(renderer: Renderer, rows: Sequence[PrescriptionRow]) -> Fact:
    """Return these prescriptions, to choose from."""
    lines = numbered([prescription_line(renderer, row, {}) for row in rows])
    return Fact("prescriptions", "", lines, is_lasting=False)


def _fitting(rows: Sequence[PrescriptionRow], frame: Frame) -> list[PrescriptionRow]:
    """Return the prescriptions that the customer may mean; of several for one product, those that can be refilled."""
    if not frame.medicines:
        return list(rows)
    medicine = frame.medicines[0]
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
    medicine = frame.medicines[0] if frame.medicines else None
    if medicine is None or "id" not in medicine:
        picked = frame.details.get("prescription")
        if picked:
            medicine = {"id": picked["med_id"], "en": picked["en"], "he": picked["he"]}
        else:
            return (yield from refill_status(renderer, frame, identifier))
    arguments = {"query": str(medicine.get("en") or medicine.get("said")), "language": renderer.language}
    patient = renderer.turn.patient_id or identifier
    verify = {
        "patient_id": patient,
        "med_id": str(medicine["id"]),
        "intent": "refill",
        "language": renderer.language,
    }
    [stocked, verified] = yield [Step("inventory_check", arguments), Step("prescription_verify", verify)]
    name = renderer.name(medicine)
    if not verified.ok:
        return _failed(renderer, frame, verified.code)
    state: ConversationState = {"waiting": None, "focus": [medicine.copy()]}
    [verdict] = chosen(facts_of(renderer, verified), "refill")
    said: list[Piece] = [verdict, _stock(renderer, stocked, verified)]
    if verdict.polarity:
        state["pending"] = {"kind": "offer_person", "reason": "refill"}
        on_file = verified.evidence["prescription"]
        presc_id = on_file["presc_id"] if on_file else None
        [asked_back] = yield [Step("refill.ask", {"prescription_id": presc_id})]
        said.append(renderer.say("refill_confirm" if asked_back.result else "refill_offer"))
    chips = [renderer.say("chip_person"), renderer.say("chip_where", name=name)]
    return Answer(said, suggestions=chips, state=state)


def _stock(renderer: Renderer, stocked: StepResult, verified: StepResult) -> Fact:
    """Return how many packs of the product all stores have together, by S1's inventory check."""
    facts = verified.evidence["medication"]
    found = totals_of(stocked.evidence) if stocked.ok else {}
    if not facts["controlled"] and facts["id"] not in found:
        return no_level_fact(renderer, facts)
    return total_fact(renderer, facts, found.get(facts["id"], 0))


def renew(renderer: Renderer, frame: Frame) -> Plan:
    """Ask whether a renewal is a refill or a doctor's new prescription."""
    yield from ()
    return Answer(
        [renderer.say("renew_which")],
        suggestions=[renderer.say("renew_refill"), renderer.say("renew_new")],
        state={"pending": {"kind": "which_refill", "frame": frame.remembered()}},
    )


def renew_doctor(renderer: Renderer, frame: Frame) -> Plan:
    """Say that only a doctor gives a new prescription."""
    yield from ()
    return Answer(
        [renderer.say("renew_doctor")],
        suggestions=[renderer.say("chip_prescriptions"), renderer.say("chip_person")],
    )


def resend(renderer: Renderer, frame: Frame) -> Plan:
    """Ask for the contact again, to send another code: it is not stored."""
    yield from ()
    if renderer.turn.identity_elsewhere:
        return _elsewhere(renderer, Frame("prescriptions", 0.9))
    return Answer([renderer.say("code_waiting")], suggestions=[renderer.say("chip_person")])


def logout(renderer: Renderer, frame: Frame) -> Plan:
    """End the identification."""
    yield [Step("identity.forget")]
    done = Fact("identity", "", renderer.say("logged_out"), is_lasting=False)
    return Answer([done], state={"waiting": None, "prescriptions": [], "pending": None})


PATIENT_PLANS = {"prescriptions": prescriptions, "refill_status": refill_status, "refill": refill}
