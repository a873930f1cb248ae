"""Plans share this: from a name to one product by a tool, or to a question back."""

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from agent.answers.render import apart
from agent.inference.base import Step, StepResult
from agent.llm.offline.answer import Medication, Part, View, numbered, option_of, paragraphs, product_line
from agent.llm.offline.frames import Frame

MOST_OPTIONS = 10


def tool_query(medication: Medication) -> str:
    """What to call a medicine in a tool's argument: as the customer said it, or its exact name."""
    if "name" in medication:
        return str(medication["name"])
    return str(medication.get("said") or medication.get("query") or medication.get("en") or "")[:200]


def asked_by_name(
    view: View, frame: Frame, medication: Medication, tool: str
) -> Generator[Sequence[Step], Sequence[StepResult], StepResult | Part]:
    """Asks a tool that takes a name; returns its success, or the part that asks the customer back."""
    argument = "medication_name" if tool == "get_medication_by_name" else "query"
    query = tool_query(medication)
    if tool == "get_medication_by_name" and medication.get("by") == "ingredient":
        query = f"med-{medication['id']}"  # S0's tool knows no ingredients
    [result] = yield [Step(tool, {argument: query})]
    if from_talk(medication, result):
        return (yield from not_known(view, frame, medication))
    if not result.ok:
        return unresolved(view, frame, medication, result)
    doubt = doubtful(view, frame, medication, result)
    return doubt or result


def from_talk(medication: Medication, result: StepResult) -> bool:
    """Whether a tool took a name that nothing is called for the medicine talked about before (S2's context)."""
    matched = result.evidence.get("matched_by") or result.result.get("matchedBy")
    return result.ok and "id" not in medication and matched == "context"


def not_known(
    view: View, frame: Frame, medication: Medication
) -> Generator[Sequence[Step], Sequence[StepResult], StepResult | Part]:
    """A name that nothing is called: never passed off as the medicine talked about before."""
    [result] = yield [Step("get_medication_by_name", {"medication_name": tool_query(medication)})]
    return result if result.ok else unresolved(view, frame, medication, result)


def doubtful(view: View, frame: Frame, medication: Medication, result: StepResult) -> Part | None:
    """A piece of a name is never taken for the name: the customer says whether it is meant."""
    evidence = result.evidence
    if "id" in medication or evidence.get("by") != "partial" or evidence.get("whole_word", True):
        return None
    return choose(
        view,
        frame,
        [option_of(evidence["medication"])],
        head=view.say("sure_name", name=view.of(evidence["medication"])),
    )


def unresolved(view: View, frame: Frame, medication: Medication, result: StepResult) -> Part:
    """What to say when a tool did not come to one product."""
    query = tool_query(medication)
    candidates = list(result.evidence.get("candidates") or ())
    if candidates:
        names = list(result.result.get("suggestions") or ())
        options = [
            option_of(facts, names[place] if place < len(names) else exact_name(facts))
            for place, facts in enumerate(candidates)
        ]
        head = view.say("ambiguous", query=query)
        more = view.say("more_exist") if result.evidence.get("more") else ""
        lines = [product_line(view, facts) for facts in candidates]
        if len(set(lines)) < len(lines) and len(names) == len(lines):
            lines = [apart(name, view.language) for name in names]  # these tell the makers apart
        return choose(view, frame, options[:MOST_OPTIONS], head=head, lines=lines[:MOST_OPTIONS], foot=more)
    if result.code not in ("NOT_FOUND", "MED_NOT_FOUND"):
        return Part(view.say("data_error"), suggestions=[view.say("chip_person")])
    near = list(result.evidence.get("near") or ())
    missing = view.say("not_found", query=query)
    if not near:
        pending = {"kind": "medication", "frame": frame.kept()}
        return Part(missing, suggestions=[view.say("chip_person")], state={"pending": pending, "focus": []})
    options = [option_of(facts) for facts in near]
    if len(options) == 1:
        asks = view.say("did_you_mean", name=view.name(options[0]))
        part = choose(view, frame, options, head=f"{missing} {asks}")
        part.suggestions = [view.say("chip_yes"), view.say("chip_no")]
        part.state["focus"] = []  # "it" is the medicine in question now, no earlier one
        return part
    lines = [product_line(view, facts) for facts in near]
    return choose(view, frame, options, head=f"{missing} {view.say('did_you_mean_one_of')}", lines=lines)


def exact_name(facts: Mapping[str, Any]) -> str:
    """How to call a product in a tool's argument when its name is shared by others."""
    return f"med-{facts['id']}"


def choose(
    view: View,
    frame: Frame,
    options: Sequence[Mapping[str, Any]],
    *,
    head: str,
    lines: Sequence[str] = (),
    foot: str = "",
) -> Part:
    """Shows products to choose from; the frame waits for the choice."""
    lines = lines or [view.name(option) for option in options]
    pending = {
        "kind": "which_medication",
        "options": [dict(option) for option in options],
        "frame": frame.kept(),
    }
    chips = [view.name(option) for option in options[:3]]
    if len(set(chips)) < len(chips):
        chips = [str(place) for place in range(1, len(chips) + 1)]
    body = numbered(lines) if len(lines) > 1 else ""
    return Part(
        paragraphs(head, body, foot),
        suggestions=chips,
        state={"pending": pending, "shown": [dict(option) for option in options]}
        | ({"focus": []} if len(options) > 1 else {}),
    )


def about(medications: Sequence[Medication]) -> dict[str, Any]:
    """The state after an answer about these medicines."""
    kept = [{key: m[key] for key in ("id", "en", "he", "name") if key in m} for m in medications if "id" in m]
    return {"focus": kept} if kept else {}
