"""Answer about a customer's own prescriptions: proof of identity, list, renewal; refills are in `refills` (S0 flow C, S1)."""

from agent.answers.answer import Answer
from agent.answers.cards import identity_card, prescriptions_card
from agent.answers.facts.fact import Fact, chosen
from agent.answers.facts.results import facts_of
from agent.answers.prescriptions import (
    PrescriptionRow,
    prescribed,
    prescription_name,
    remembered_prescription,
)
from agent.answers.renderer import Renderer
from agent.inference.base import Step
from agent.llm.offline.frames import Frame
from agent.llm.offline.plans.plan import Plan
from agent.llm.offline.plans.refill_request import cancel, progress, resume
from agent.llm.offline.plans.refill_status import list_step, waits
from agent.llm.offline.plans.refills import refill, refill_status
from agent.llm.offline.plans.whose import ask_identifier, elsewhere, failed
from agent.state import ConversationState


def identify(renderer: Renderer, frame: Frame) -> Plan:
    """Prove the identifier that was given, and go on with the question that waits for it."""
    waiting = Frame.recalled(frame.details["waiting"])
    if renderer.turn.identity_elsewhere:
        return elsewhere(renderer, waiting)
    identifier = str(frame.details["identifier"])
    [result] = yield [Step("identity.code", {"identifier": identifier})]
    if result.result.get("verified"):
        return (yield from PATIENT_PLANS[waiting.intent](renderer, waiting, identifier))
    if result.result.get("limited"):
        limited = "birth_limited" if renderer.turn.identity_policy == "dob" else "code_limited"
        when = renderer.count(*result.result["wait"])
        return Answer([renderer.say(limited, when=when)], suggestions=[renderer.say("chip_person")])
    if renderer.turn.identity_policy == "identifier":
        return Answer(
            [renderer.say("no_account")],
            suggestions=[renderer.say("chip_person")],
            state={
                "pending": {"kind": "identifier", "frame": waiting.remembered()},
                "waiting": waiting.remembered(),
            },
        )
    asked = "birth_asked" if renderer.turn.identity_policy == "dob" else "code_sent"
    return Answer(
        [Fact("identity", "", renderer.say(asked), is_lasting=False)],
        cards=[identity_card(renderer)],
        state={"waiting": waiting.remembered(), "pending": None},
    )


def prescriptions(renderer: Renderer, frame: Frame, identifier: str | None = None) -> Plan:
    """List the customer's prescriptions, once they are identified."""
    identifier = identifier or renderer.turn.identifier
    if identifier is None or frame.details.get("other_person"):
        return ask_identifier(renderer, frame)
    [result] = yield [list_step(identifier)]
    if not result.ok:
        return failed(renderer, frame, result.code)
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
        "pending": waits(Frame("refill_status", 0.9), rows),
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
    """Ask for the contact again, to open another challenge: it is not stored."""
    yield from ()
    if renderer.turn.identity_elsewhere:
        return elsewhere(renderer, Frame("prescriptions", 0.9))
    waits_for = "birth_waiting" if renderer.turn.identity_policy == "dob" else "code_waiting"
    return Answer([renderer.say(waits_for)], suggestions=[renderer.say("chip_person")])


def logout(renderer: Renderer, frame: Frame) -> Plan:
    """End the identification."""
    yield [Step("identity.forget")]
    done = Fact("identity", "", renderer.say("logged_out"), is_lasting=False)
    return Answer([done], state={"waiting": None, "prescriptions": [], "pending": None})


PATIENT_PLANS = {
    "prescriptions": prescriptions,
    "refill_status": refill_status,
    "refill": refill,
    "refill_progress": progress,
    "refill_resume": resume,
    "refill_cancel": cancel,
}
