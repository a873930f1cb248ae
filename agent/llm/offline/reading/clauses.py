"""Read one clause: service questions first, then the customer's own prescriptions, the talk itself, products and branches."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent.llm.offline.frames import Frame
from agent.llm.offline.reading.message import Clause
from agent.llm.offline.reading.patient_intents import patient_frame
from agent.llm.offline.reading.product_intents import product_frame
from agent.llm.offline.reading.talk_intents import site_frame, talk_frame


def clause_frame(
    clause: Clause,
    state: Mapping[str, Any],
    focus: list[Any],
    before: Sequence[Frame],
) -> Frame | None:
    """Return what a clause wants, given what the conversation is about (`focus`) and the frames `before` it."""
    return (
        site_frame(clause)
        or patient_frame(clause, state)
        or talk_frame(clause, state)
        or product_frame(clause, state, focus, before)
    )
