"""Each product whose interactions cannot be assessed is named once in a conversation, not one for all."""

from typing import Any

import pytest
from django.utils import timezone

from agent.answers.interactions import clash_part
from agent.answers.renderer import Renderer
from agent.evidence import UnassessedFacts
from agent.inference.base import Step, StepResult, Turn

TAKEN = {15}


def _gap(pk: int, name: str) -> UnassessedFacts:
    return {"medication": pk, "en": name, "he": name}


def _part(gaps: list[UnassessedFacts], warned: Any, *, ok: bool) -> Any:
    names = {str(gap["medication"]): {"en": gap["en"], "he": gap["he"]} for gap in gaps}
    evidence: Any = {"pairs": [], "unassessed": gaps, "medications": names}
    code = "" if ok else "UNKNOWN_MED_ID"
    result = StepResult(Step("interaction_check"), ok=ok, code=code, evidence=evidence)
    turn = Turn("", "en", {}, timezone.localtime())
    return clash_part(Renderer(turn, "en"), result, TAKEN, warned)


@pytest.mark.parametrize("ok", [True, False])
def test_a_second_product_that_cannot_be_assessed_is_named_too(ok: bool) -> None:
    first = _part([_gap(1, "Alpha")], (), ok=ok)
    [fact] = first.facts
    assert "Alpha" in fact.text and fact.is_required
    assert not _part([_gap(1, "Alpha")], first.state["warned"], ok=ok).pieces
    second = _part([_gap(1, "Alpha"), _gap(2, "Beta")], first.state["warned"], ok=ok)
    [fact] = second.facts
    assert "Beta" in fact.text and "Alpha" not in fact.text
    assert not _part([_gap(2, "Beta")], second.state["warned"], ok=ok).pieces
    part = _part([_gap(1, "Gamma")], second.state["warned"], ok=ok)
    assert "Gamma" in part.facts[0].text
