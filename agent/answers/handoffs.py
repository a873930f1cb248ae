"""Word that a person was brought in, with its card."""

from collections.abc import Mapping
from typing import Any

from agent.answers.cards import handoff_card
from agent.answers.parts import AnswerPart
from agent.answers.renderer import Renderer
from agent.state import PendingQuestion


def person_offered(reason: str = "customer_asked") -> PendingQuestion:
    """Return the question whether a person shall be brought in, for this reason."""
    return {"kind": "offer_person", "reason": reason}


def handed_off(renderer: Renderer, handoff: Mapping[str, Any]) -> AnswerPart:
    """Tell the customer the number of a hand-off, as the action that opened it returns it."""
    number, reason = handoff["number"], str(handoff.get("reason") or "")
    key = "handoff_again" if handoff.get("again") else "handoff_done"
    card = handoff_card(renderer, number, reason)
    return AnswerPart(renderer.say(key, number=number), cards=[card], state={"pending": None, "misses": 0})
