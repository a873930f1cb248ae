"""One clause, one frame: a customer's own matters first, then the talk itself, then products and branches."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent.llm.offline.frames import Frame
from agent.llm.offline.reading.message import Clause
from agent.llm.offline.reading.patient_intents import patient_frame
from agent.llm.offline.reading.product_intents import product_frame
from agent.llm.offline.reading.talk_intents import talk_frame


def clause_frame(
    clause: Clause,
    state: Mapping[str, Any],
    focus: list[Any],
    before: Sequence[Frame],
) -> Frame | None:
    patient = patient_frame(clause, state)
    if patient:
        return patient
    talk = talk_frame(clause, state)
    if talk:
        return talk
    return product_frame(clause, state, focus, before)
