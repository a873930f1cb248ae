"""One clause, one frame: a customer's own matters first, then the talk itself, then products and branches."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent.llm.offline.frames import Frame
from agent.llm.offline.matters import patient_frame, talk_frame
from agent.llm.offline.products import product_frame
from agent.llm.offline.recognise import Clause


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
