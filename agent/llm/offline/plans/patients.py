"""Plans for a customer's own prescriptions: proving who asks, listing, refill status, a refill (S0 flow C, S1)."""

from collections.abc import Sequence

from agent.answers.cards import elsewhere_card, identity_card, prescriptions_card
from agent.answers.layout import numbered, paragraphs
from agent.answers.parts import AnswerPart
from agent.answers.prescriptions import (
    PrescriptionRow,
    prescribed,
    prescription_kept,
    prescription_line,
    prescription_name,
    refill_text,
)
from agent.answers.renderer import Facts, Renderer
from agent.answers.stock import product_stock
from agent.inference.base import Step
from agent.llm.offline.frames import Frame
from agent.llm.offline.plans.plan import Plan
from agent.state import ConversationState, PendingQuestion


def ask_identifier(renderer: Renderer, frame: Frame) -> AnswerPart:
    """Asks whose prescriptions; the question waits in the conversation."""
    if renderer.turn.identity_elsewhere:
        return _elsewhere(renderer, frame)
    key = "ask_identifier_other" if frame.details.get("other_person") else "ask_identifier"
    if renderer.turn.identity_policy != "otp" and key == "ask_identifier":
        key = "ask_identifier_plain"
    if renderer.turn.challenge_open and key == "ask_identifier":
        key = "code_waiting"
    return AnswerPart(
        renderer.say(key),
        suggestions=[renderer.say("chip_person")],
        state={
            "waiting": frame.kept(),
            "pending": {"kind": "identifier", "frame": frame.kept()},
            "identifier_asked": True,
        },
    )


def _elsewhere(renderer: Renderer, frame: Frame) -> AnswerPart:
    """On a site that is not ours: the way to a window of our own, where the question is taken up again."""
    return AnswerPart(
        renderer.say("identity_elsewhere"),
        cards=[elsewhere_card(renderer)],
        suggestions=[renderer.say("chip_person")],
        state={"waiting": frame.kept(), "pending": {"kind": "identifier", "frame": frame.kept()}},
    )


def identify(renderer: Renderer, frame: Frame) -> Plan:
    """An identifier was given: prove it, and go on with what was asked once it is proven."""
    waiting = Frame.again(frame.details["waiting"])
    if renderer.turn.identity_elsewhere:
        return _elsewhere(renderer, waiting)
    identifier = str(frame.details["identifier"])
    [result] = yield [Step("identity.code", {"identifier": identifier})]
    if result.result.get("verified"):
        return (yield from PATIENT_PLANS[waiting.intent](renderer, waiting, identifier))
    if result.result.get("limited"):
        return AnswerPart(renderer.say("code_limited"), suggestions=[renderer.say("chip_person")])
    if renderer.turn.identity_policy != "otp":
        return AnswerPart(
            renderer.say("no_account"),
            suggestions=[renderer.say("chip_person")],
            state={
                "pending": {"kind": "identifier", "frame": waiting.kept()},
                "waiting": waiting.kept(),
            },
        )
    return AnswerPart(
        renderer.say("code_sent"),
        cards=[identity_card(renderer)],
        state={"waiting": waiting.kept(), "pending": None},
    )


def prescriptions(renderer: Renderer, frame: Frame, identifier: str | None = None) -> Plan:
    """The customer's prescriptions, once they are known."""
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
    if not rows:
        return AnswerPart(renderer.say("prescriptions_none"), state={"waiting": None, "prescriptions": []})
    facts = {row["presc_id"]: row for row in result.evidence.get("prescriptions", ())}
    active = all(row["status"] == "active" for row in rows)
    head = renderer.count(
        "prescriptions_head_active" if active else "prescriptions_head",
        len(rows),
        name=result.result["user_name"],
    )
    lines = [prescription_line(renderer, row, facts.get(row["presc_id"], {})) for row in rows]
    chips = [
        renderer.say("chip_refill", name=prescription_name(renderer, row))
        for row in rows
        if row["can_refill"]
    ][:2]
    state: ConversationState = {
        "waiting": None,
        "prescriptions": [prescription_kept(row) for row in rows],
        "shown": [],
        "pending": _waits(Frame("refill_status", 0.9), rows),
    }
    if len(rows) == 1:
        state["focus"] = [prescribed(rows[0])]
    return AnswerPart(
        paragraphs(
            f"{head}\n{numbered(lines)}",
            renderer.say("prescriptions_ask" if len(rows) > 1 else "prescriptions_ask_one"),
        ),
        cards=[prescriptions_card(renderer, rows, facts)],
        suggestions=[*chips, renderer.say("chip_person")],
        state=state,
    )


def _waits(frame: Frame, rows: Sequence[PrescriptionRow]) -> PendingQuestion:
    """The question which of these prescriptions is meant."""
    return {
        "kind": "which_prescription",
        "frame": frame.kept(),
        "options": [prescription_kept(row) for row in rows],
    }


def _failed(renderer: Renderer, frame: Frame, code: str) -> AnswerPart:
    """A patient tool that did not succeed never reads as a success."""
    if code in ("UNAUTHORIZED", "PATIENT_NOT_FOUND"):
        return ask_identifier(renderer, frame)
    if code == "NOT_FOUND":
        return AnswerPart(
            renderer.say("no_prescription_found"),
            suggestions=[renderer.say("chip_prescriptions"), renderer.say("chip_person")],
        )
    return AnswerPart(renderer.say("data_error"), suggestions=[renderer.say("chip_person")])


def refill_status(renderer: Renderer, frame: Frame, identifier: str | None = None) -> Plan:
    """Whether a prescription can be refilled (S0 flow C, step 7)."""
    identifier = identifier or renderer.turn.identifier
    if identifier is None or frame.details.get("other_person"):
        return ask_identifier(renderer, frame)
    chosen = frame.details.get("prescription")
    state: ConversationState = {"waiting": None}
    if not chosen:
        [listed] = yield [
            Step(
                "prescription_management",
                {"user_identifier": identifier, "action": "LIST", "prescription_id": None},
            )
        ]
        if not listed.ok:
            return _failed(renderer, frame, listed.code)
        rows: list[PrescriptionRow] = list(listed.result["prescriptions"])
        state["prescriptions"] = [prescription_kept(row) for row in rows]
        if not rows:
            return AnswerPart(renderer.say("prescriptions_none"), state=state)
        fitting = _fitting(rows, frame)
        if frame.medicines and not fitting:
            name = renderer.name(frame.medicines[0])
            lines = numbered([prescription_line(renderer, row, {}) for row in rows])
            text = paragraphs(renderer.say("no_such_prescription", name=name), lines)
            return AnswerPart(text, suggestions=[renderer.say("chip_person")], state=state)
        if len(fitting) > 1:
            lines = numbered([prescription_line(renderer, row, {}) for row in fitting])
            state["prescriptions"] = [prescription_kept(row) for row in fitting]
            state["pending"] = _waits(frame, fitting)
            chips = [
                renderer.say("chip_refill", name=prescription_name(renderer, row)) for row in fitting[:3]
            ]
            return AnswerPart(
                paragraphs(renderer.say("which_prescription"), lines), suggestions=chips, state=state
            )
        chosen = prescription_kept(fitting[0])
    asked = {"user_identifier": identifier, "action": "REFILL_STATUS", "prescription_id": chosen["id"]}
    [result] = yield [Step("prescription_management", asked)]
    if not result.ok:
        return _failed(renderer, frame, result.code)
    row: PrescriptionRow = result.result["prescription"]
    facts: Facts = next(iter(result.evidence.get("prescriptions", ())), {})
    text = refill_text(renderer, row, facts)
    state["focus"] = [prescribed(row)]
    chips = [renderer.say("chip_stock", name=prescription_name(renderer, row)), renderer.say("chip_person")]
    card = prescriptions_card(renderer, [row], {row["presc_id"]: facts})
    return AnswerPart(text, cards=[card], suggestions=chips, state=state)


def _fitting(rows: Sequence[PrescriptionRow], frame: Frame) -> list[PrescriptionRow]:
    """The prescriptions that the customer may mean; of several for one product, those that can be refilled."""
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
    """A refill is wanted: stock and prescription are both checked before anything else (S1)."""
    identifier = identifier or renderer.turn.identifier
    if identifier is None or frame.details.get("other_person"):
        return ask_identifier(renderer, frame)
    medicine = frame.medicines[0] if frame.medicines else None
    if medicine is None or "id" not in medicine:
        chosen = frame.details.get("prescription")
        if chosen:
            medicine = {"id": chosen["med_id"], "en": chosen["en"], "he": chosen["he"]}
        else:
            return (yield from refill_status(renderer, frame, identifier))
    asked = {"query": str(medicine.get("en") or medicine.get("said")), "language": renderer.language}
    patient = renderer.turn.patient_id or identifier
    verify = {
        "patient_id": patient,
        "med_id": str(medicine["id"]),
        "intent": "refill",
        "language": renderer.language,
    }
    [stocked, verified] = yield [Step("inventory_check", asked), Step("prescription_verify", verify)]
    name = renderer.name(medicine)
    if not verified.ok:
        return _failed(renderer, frame, verified.code)
    state: ConversationState = {"waiting": None, "focus": [medicine.copy()]}
    result = verified.result
    facts: Facts = verified.evidence.get("prescription") or {}
    medication: Facts = verified.evidence.get("medication", {})
    lines = []
    if not result["rx_required"]:
        lines.append(renderer.say("verify_otc", name=name))
    elif medication.get("schedule") == "II":
        lines.append(renderer.say("refill_controlled", name=name))
    elif facts.get("status_known") is False:
        lines.append(renderer.say("refill_staff", name=name))
    elif result["rx_status"] == "refill_pending":
        lines.append(renderer.say("refill_pending", name=name))
    elif result["next_step"] == "allow_refill_request":
        lines.append(
            f"{renderer.say('verify_ok', name=name)} {renderer.count('refills_left', int(result['refills_remaining'] or 0))}"
        )
        state["pending"] = {"kind": "offer_person", "reason": "refill"}
    elif result["next_step"] == "request_rx_details":
        lines.append(renderer.say("verify_none", name=name))
    elif result["rx_status"] == "expired" and not result["refills_remaining"]:
        lines.append(renderer.say("verify_no", name=name))
    else:
        lines.append(
            renderer.say("refill_expired" if result["rx_status"] == "expired" else "verify_no", name=name)
        )
    lines.append(product_stock(renderer, medicine, stocked.result, medication, ok=stocked.ok))
    if state.get("pending"):
        [asked_back] = yield [Step("refill.ask", {"prescription_id": facts.get("presc_id")})]
        lines.append(renderer.say("refill_confirm" if asked_back.result else "refill_offer"))
    chips = [renderer.say("chip_person"), renderer.say("chip_where", name=name)]
    return AnswerPart(paragraphs(*lines), suggestions=chips, state=state)


def renew(renderer: Renderer, frame: Frame) -> Plan:
    """A renewal may be a refill or a doctor's new prescription: the customer says which."""
    yield from ()
    return AnswerPart(
        renderer.say("renew_which"),
        suggestions=[renderer.say("renew_refill"), renderer.say("renew_new")],
        state={"pending": {"kind": "which_refill", "frame": frame.kept()}},
    )


def renew_doctor(renderer: Renderer, frame: Frame) -> Plan:
    """A doctor's new prescription is not the pharmacy's to give."""
    yield from ()
    return AnswerPart(
        renderer.say("renew_doctor"),
        suggestions=[renderer.say("chip_prescriptions"), renderer.say("chip_person")],
    )


def resend(renderer: Renderer, frame: Frame) -> Plan:
    """Another code: the contact is asked for again, since it is kept nowhere."""
    yield from ()
    if renderer.turn.identity_elsewhere:
        return _elsewhere(renderer, Frame("prescriptions", 0.9))
    return AnswerPart(renderer.say("code_waiting"), suggestions=[renderer.say("chip_person")])


def logout(renderer: Renderer, frame: Frame) -> Plan:
    """Forget who asks."""
    yield [Step("identity.forget")]
    return AnswerPart(
        renderer.say("logged_out"), state={"waiting": None, "prescriptions": [], "pending": None}
    )


PATIENT_PLANS = {"prescriptions": prescriptions, "refill_status": refill_status, "refill": refill}
