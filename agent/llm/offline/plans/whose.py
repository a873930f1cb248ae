"""Ask whose prescriptions are meant, and say that a patient's tool did not succeed; shared by the plans of patients."""

from agent.answers.answer import Answer
from agent.answers.cards import elsewhere_card
from agent.answers.facts.lists import unreadable_fact
from agent.answers.renderer import Renderer
from agent.llm.offline.frames import Frame


def ask_identifier(renderer: Renderer, frame: Frame) -> Answer:
    """Ask whose prescriptions are meant; the question waits in the conversation."""
    if renderer.turn.identity_elsewhere:
        return elsewhere(renderer, frame)
    by_birth = renderer.turn.identity_policy == "dob"
    if frame.details.get("other_person"):
        if by_birth:
            # A date of birth proves nothing of somebody who acts for another: no code goes to that person's contact.
            return Answer([renderer.say("birth_other")], suggestions=[renderer.say("chip_person")])
        key = "ask_identifier_other"
    elif renderer.turn.challenge_open:
        key = "birth_waiting" if by_birth else "code_waiting"
    elif by_birth:
        key = "ask_identifier_birth"
    else:
        key = "ask_identifier" if renderer.turn.identity_policy == "otp" else "ask_identifier_plain"
    return Answer(
        [renderer.say(key)],
        suggestions=[renderer.say("chip_person")],
        state={
            "waiting": frame.remembered(),
            "pending": {"kind": "identifier", "frame": frame.remembered()},
            "identifier_asked": True,
        },
    )


def elsewhere(renderer: Renderer, frame: Frame) -> Answer:
    """Lead from a site that is not ours to a window of our own, where the question is taken up again."""
    return Answer(
        [renderer.say("identity_elsewhere")],
        cards=[elsewhere_card(renderer)],
        suggestions=[renderer.say("chip_person")],
        state={"waiting": frame.remembered(), "pending": {"kind": "identifier", "frame": frame.remembered()}},
    )


def failed(renderer: Renderer, frame: Frame, code: str) -> Answer:
    """Say that a patient's tool did not succeed."""
    if code in ("UNAUTHORIZED", "PATIENT_NOT_FOUND"):
        return ask_identifier(renderer, frame)
    if code == "NOT_FOUND":
        return Answer(
            [renderer.say("no_prescription_found")],
            suggestions=[renderer.say("chip_prescriptions"), renderer.say("chip_person")],
        )
    return Answer([unreadable_fact(renderer)], suggestions=[renderer.say("chip_person")])
