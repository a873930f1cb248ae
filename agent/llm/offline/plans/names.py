"""Find one product by its name with a tool, or ask back; shared by the plans."""

from collections.abc import Generator, Sequence

from agent.answers.answer import Answer, Piece
from agent.answers.facts.lists import MOST_LISTED, unreadable_fact
from agent.answers.facts.results import facts_of
from agent.answers.layout import numbered
from agent.answers.products import exact_name, option_of
from agent.answers.renderer import Renderer
from agent.inference.base import Step, StepResult
from agent.llm.offline.frames import Frame
from agent.state import ConversationState, PendingQuestion, RememberedMedication


def tool_query(medication: RememberedMedication) -> str:
    """Return what to call a medicine in a tool's argument: as the customer wrote it, or its exact name."""
    if "name" in medication:
        return str(medication["name"])
    return str(medication.get("said") or medication.get("query") or medication.get("en") or "")[:200]


def asked_by_name(
    renderer: Renderer, frame: Frame, medication: RememberedMedication, tool: str
) -> Generator[Sequence[Step], Sequence[StepResult], StepResult | Answer]:
    """Call a tool that takes a name; return its success, or the answer that asks the customer back."""
    argument = "medication_name" if tool == "get_medication_by_name" else "query"
    query = tool_query(medication)
    if tool == "get_medication_by_name" and medication.get("by") == "ingredient":
        query = f"med-{medication['id']}"  # S0's tool knows no ingredients
    [result] = yield [Step(tool, {argument: query})]
    if is_from_context(medication, result):
        return (yield from not_known(renderer, frame, medication))
    if not result.ok:
        return unresolved(renderer, frame, result)
    doubt = doubtful(renderer, frame, medication, result)
    return doubt or result


def is_from_context(medication: RememberedMedication, result: StepResult) -> bool:
    """Return whether a tool answered an unknown name with the medicine talked about before (S2's context)."""
    matched = result.evidence.get("matched_by") or result.result.get("matchedBy")
    found = result.ok or result.code == "CITY_NOT_SERVED"
    return found and "id" not in medication and matched == "context"


def not_known(
    renderer: Renderer, frame: Frame, medication: RememberedMedication
) -> Generator[Sequence[Step], Sequence[StepResult], StepResult | Answer]:
    """Look up an unknown name strictly, so that it is not taken for the medicine talked about before."""
    [result] = yield [Step("get_medication_by_name", {"medication_name": tool_query(medication)})]
    return result if result.ok else unresolved(renderer, frame, result)


def doubtful(
    renderer: Renderer, frame: Frame, medication: RememberedMedication, result: StepResult
) -> Answer | None:
    """Ask back when only a piece of a name matched: the customer says whether it is meant."""
    evidence = result.evidence
    if "id" in medication or evidence.get("by") != "partial" or evidence.get("whole_word", True):
        return None
    return choose(
        renderer,
        frame,
        [option_of(evidence["medication"])],
        head=renderer.say("sure_name", name=renderer.of(evidence["medication"])),
    )


def unresolved(renderer: Renderer, frame: Frame, result: StepResult) -> Answer:
    """Return the question back for a name by which a tool did not find exactly one product."""
    said, chips = facts_of(renderer, result), [renderer.say("chip_person")]
    evidence = result.evidence
    candidates, near = list(evidence.get("candidates") or ()), list(evidence.get("near") or ())
    if candidates:
        names = list(result.result.get("suggestions") or ())
        options = [
            option_of(facts, names[place] if place < len(names) else exact_name(facts))
            for place, facts in enumerate(candidates)
        ]
        return choices(renderer, frame, options[:MOST_LISTED], said)
    if result.code not in ("NOT_FOUND", "MED_NOT_FOUND"):
        return Answer([unreadable_fact(renderer)], suggestions=chips)
    if not near:
        pending: PendingQuestion = {"kind": "medication", "frame": frame.remembered()}
        return Answer(said, suggestions=chips, state={"pending": pending, "focus": []})
    answer = choices(renderer, frame, [option_of(facts) for facts in near], said)
    if len(near) == 1:
        answer.suggestions = [renderer.say("chip_yes"), renderer.say("chip_no")]
        answer.state["focus"] = []  # "it" is the medicine in question now, no earlier one
    return answer


def choose(renderer: Renderer, frame: Frame, options: Sequence[RememberedMedication], *, head: str) -> Answer:
    """Ask which of these products is meant; the frame waits for the choice."""
    names = [renderer.name(option) for option in options]
    return choices(renderer, frame, options, [head, numbered(names)] if len(names) > 1 else [head])


def choices(
    renderer: Renderer, frame: Frame, options: Sequence[RememberedMedication], pieces: Sequence[Piece]
) -> Answer:
    """Return pieces that show products to choose from; the frame waits for the choice."""
    state: ConversationState = {
        "pending": {
            "kind": "which_medication",
            "options": [option.copy() for option in options],
            "frame": frame.remembered(),
        },
        "shown": [option.copy() for option in options],
    }
    if len(options) > 1:
        state["focus"] = []
    chips = [renderer.name(option) for option in options[:3]]
    if len(set(chips)) < len(chips):
        chips = [str(place) for place in range(1, len(chips) + 1)]
    return Answer(pieces, suggestions=chips, state=state)
