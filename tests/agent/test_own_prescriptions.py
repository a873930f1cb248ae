"""What a customer has on prescription is their own list; what the shop has, or a medicine needs, is not."""

import pytest
from django.utils import timezone

from agent.inference.base import Turn
from agent.llm.offline.understand import understand


def intents(text: str) -> list[str]:
    return [frame.intent for frame in understand(Turn(text, "en", {}, timezone.localtime())).frames]


@pytest.mark.parametrize(
    "text",
    [
        "what do i have on prescription?",
        "wht do i have on presciption",
        "hello what have i got on prescription",
        "what do we get by prescription",
        "מה יש לי במרשם?",
        "מה יש לנו במרשמים",
    ],
)
def test_a_request_for_ones_own_prescriptions_is_recognised(demo_committed: None, text: str) -> None:
    assert intents(text) == ["prescriptions"]


@pytest.mark.parametrize(
    "text",
    [
        "can i have antibiotics on prescription?",
        "do you have nurofen on prescription?",
        "is metformin only on prescription?",
        "can i get advil without prescription",
        "יש אצלכם נורופן במרשם?",
    ],
)
def test_a_question_whether_a_medicine_needs_a_prescription_is_no_request_for_ones_own(
    demo_committed: None, text: str
) -> None:
    assert "prescriptions" not in intents(text)
