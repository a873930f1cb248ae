"""Answer what is not answered: requests for advice, and messages that were not understood."""

from collections.abc import Sequence
from typing import Final

from agent.answers.answer import Answer
from agent.answers.facts.fact import Fact
from agent.answers.handoffs import person_offered
from agent.answers.renderer import Renderer
from agent.state import ConversationState, RememberedMedication

_MOST_MISSES: Final = 3
_REFUSALS: Final = {
    "COMPARISON": "refuse_comparison",
    "DOSE_FOR_PERSON": "refuse_dose",
    "DIAGNOSIS": "refuse_diagnosis",
    "PUSH": "refuse_push",
}


def refusal(
    renderer: Renderer,
    verdict: str,
    before: ConversationState,
    medicines: Sequence[RememberedMedication],
) -> Answer:
    """Return one kind sentence and one next step; never the same words twice running."""
    times = int(before.get("refusals") or 0)
    keys = ["refuse_1", "refuse_2", "refuse_3"]
    if first := _REFUSALS.get(verdict):
        keys.insert(0, first)
    key = keys[times % len(keys)]
    if key == before.get("refused_with"):
        key = keys[(times + 1) % len(keys)]
    known = [medicine for medicine in medicines if "id" in medicine]
    chips = [renderer.say("chip_leaflet", name=renderer.name(medicine)) for medicine in known[:2]]
    state: ConversationState = {"refusals": times + 1, "refused_with": key, "pending": person_offered()}
    if known:
        state["focus"] = [_identity(medicine) for medicine in known]
    refused = Fact("refusal", "", renderer.say(key), is_required=True, is_lasting=False)
    return Answer([refused], suggestions=[renderer.say("chip_person"), *chips], state=state)


def _identity(medicine: RememberedMedication) -> RememberedMedication:
    identity: RememberedMedication = {"id": medicine["id"]}
    for key in ("en", "he"):
        if key in medicine:
            identity[key] = medicine[key]
    return identity


def not_understood(renderer: Renderer, misses: int) -> Answer:
    """Say so, each time otherwise; the third time running, offer a person."""
    offers = misses >= _MOST_MISSES
    chips = ["chip_yes", "chip_no"] if offers else ["chip_branches", "chip_prescriptions", "chip_person"]
    return Answer(
        [renderer.say(f"unknown_{min(misses, _MOST_MISSES)}")],
        suggestions=[renderer.say(chip) for chip in chips],
        state={"pending": person_offered("not_understood") if offers else None, "misses": misses},
    )
