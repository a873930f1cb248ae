"""Plans share this: from a name to one product by a tool, or to a question back."""

from collections.abc import Generator, Sequence

from agent.answers.layout import numbered, paragraphs
from agent.answers.parts import AnswerPart
from agent.answers.products import exact_name, option_of, product_line
from agent.answers.render import apart
from agent.answers.renderer import Renderer
from agent.inference.base import Step, StepResult
from agent.llm.offline.frames import Frame
from agent.state import ConversationState, RememberedMedication

MOST_OPTIONS = 10


def tool_query(medication: RememberedMedication) -> str:
    """What to call a medicine in a tool's argument: as the customer said it, or its exact name."""
    if "name" in medication:
        return str(medication["name"])
    return str(medication.get("said") or medication.get("query") or medication.get("en") or "")[:200]


def asked_by_name(
    renderer: Renderer, frame: Frame, medication: RememberedMedication, tool: str
) -> Generator[Sequence[Step], Sequence[StepResult], StepResult | AnswerPart]:
    """Asks a tool that takes a name; returns its success, or the part that asks the customer back."""
    argument = "medication_name" if tool == "get_medication_by_name" else "query"
    query = tool_query(medication)
    if tool == "get_medication_by_name" and medication.get("by") == "ingredient":
        query = f"med-{medication['id']}"  # S0's tool knows no ingredients
    [result] = yield [Step(tool, {argument: query})]
    if is_from_context(medication, result):
        return (yield from not_known(renderer, frame, medication))
    if not result.ok:
        return unresolved(renderer, frame, medication, result)
    doubt = doubtful(renderer, frame, medication, result)
    return doubt or result


def is_from_context(medication: RememberedMedication, result: StepResult) -> bool:
    """Whether a tool took a name that nothing is called for the medicine talked about before (S2's context)."""
    matched = result.evidence.get("matched_by") or result.result.get("matchedBy")
    return result.ok and "id" not in medication and matched == "context"


def not_known(
    renderer: Renderer, frame: Frame, medication: RememberedMedication
) -> Generator[Sequence[Step], Sequence[StepResult], StepResult | AnswerPart]:
    """A name that nothing is called: never passed off as the medicine talked about before."""
    [result] = yield [Step("get_medication_by_name", {"medication_name": tool_query(medication)})]
    return result if result.ok else unresolved(renderer, frame, medication, result)


def doubtful(
    renderer: Renderer, frame: Frame, medication: RememberedMedication, result: StepResult
) -> AnswerPart | None:
    """A piece of a name is never taken for the name: the customer says whether it is meant."""
    evidence = result.evidence
    if "id" in medication or evidence.get("by") != "partial" or evidence.get("whole_word", True):
        return None
    return choose(
        renderer,
        frame,
        [option_of(evidence["medication"])],
        head=renderer.say("sure_name", name=renderer.of(evidence["medication"])),
    )


def unresolved(
    renderer: Renderer, frame: Frame, medication: RememberedMedication, result: StepResult
) -> AnswerPart:
    """What to say when a tool did not come to one product."""
    query = tool_query(medication)
    candidates = list(result.evidence.get("candidates") or ())
    if candidates:
        names = list(result.result.get("suggestions") or ())
        options = [
            option_of(facts, names[place] if place < len(names) else exact_name(facts))
            for place, facts in enumerate(candidates)
        ]
        head = renderer.say("ambiguous", query=query)
        more = renderer.say("more_exist") if result.evidence.get("more") else ""
        lines = [product_line(renderer, facts) for facts in candidates]
        if len(set(lines)) < len(lines) and len(names) == len(lines):
            lines = [apart(name, renderer.language) for name in names]  # these tell the makers apart
        return choose(
            renderer, frame, options[:MOST_OPTIONS], head=head, lines=lines[:MOST_OPTIONS], foot=more
        )
    if result.code not in ("NOT_FOUND", "MED_NOT_FOUND"):
        return AnswerPart(renderer.say("data_error"), suggestions=[renderer.say("chip_person")])
    near = list(result.evidence.get("near") or ())
    missing = renderer.say("not_found", query=query)
    if not near:
        return AnswerPart(
            missing,
            suggestions=[renderer.say("chip_person")],
            state={"pending": {"kind": "medication", "frame": frame.kept()}, "focus": []},
        )
    options = [option_of(facts) for facts in near]
    if len(options) == 1:
        asks = renderer.say("did_you_mean", name=renderer.name(options[0]))
        part = choose(renderer, frame, options, head=f"{missing} {asks}")
        part.suggestions = [renderer.say("chip_yes"), renderer.say("chip_no")]
        part.state["focus"] = []  # "it" is the medicine in question now, no earlier one
        return part
    lines = [product_line(renderer, facts) for facts in near]
    return choose(
        renderer, frame, options, head=f"{missing} {renderer.say('did_you_mean_one_of')}", lines=lines
    )


def choose(
    renderer: Renderer,
    frame: Frame,
    options: Sequence[RememberedMedication],
    *,
    head: str,
    lines: Sequence[str] = (),
    foot: str = "",
) -> AnswerPart:
    """Shows products to choose from; the frame waits for the choice."""
    lines = lines or [renderer.name(option) for option in options]
    state: ConversationState = {
        "pending": {
            "kind": "which_medication",
            "options": [option.copy() for option in options],
            "frame": frame.kept(),
        },
        "shown": [option.copy() for option in options],
    }
    if len(options) > 1:
        state["focus"] = []
    chips = [renderer.name(option) for option in options[:3]]
    if len(set(chips)) < len(chips):
        chips = [str(place) for place in range(1, len(chips) + 1)]
    body = numbered(lines) if len(lines) > 1 else ""
    return AnswerPart(paragraphs(head, body, foot), suggestions=chips, state=state)
