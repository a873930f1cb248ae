"""Word the equivalents of a product, with their disclosure and card."""

from agent.answers.cards import products_card
from agent.answers.layout import numbered, paragraphs
from agent.answers.parts import AnswerPart
from agent.answers.products import about, exact_name, option_of, product_line
from agent.answers.renderer import Renderer
from agent.answers.stock import units
from agent.evidence import totals_of
from agent.inference.base import StepResult
from agent.state import RememberedMedication

MOST_LISTED = 10
FEW = 3  # of products that nobody has, enough to show that they exist


def equivalents_part(renderer: Renderer, medication: RememberedMedication, result: StepResult) -> AnswerPart:
    """Return what may be given in a product's place by its ingredients, with the whole disclosure."""
    name = renderer.name(medication)
    evidence = result.evidence
    decides = "medication" in evidence and evidence["medication"].get("substitution") == "pharmacist_only"
    warns = renderer.say("pharmacist_only", name=name) if decides else ""
    if not result.ok:
        key = "no_equivalents" if result.code == "NO_EQUIVALENTS_FOUND" else "data_error"
        text = renderer.say(key, name=name) if key == "no_equivalents" else renderer.say(key)
        return AnswerPart(paragraphs(text, warns), state=about([medication]))
    # What only a pharmacist may give in a product's place is never listed in its place.
    facts = [row for row in evidence["equivalents"] if row.get("substitution") != "pharmacist_only"]
    if decides or not facts:
        text = renderer.say("pharmacist_only", name=name)
        return AnswerPart(text, suggestions=[renderer.say("chip_person")], state=about([medication]))
    totals = totals_of(evidence)
    stocked = [row for row in facts if totals.get(row["id"])]
    facts = (stocked or facts)[: MOST_LISTED if stocked else FEW]
    head = renderer.say("equivalents_head", name=name)
    lines = [f"{product_line(renderer, row)} – {units(renderer, row, totals)}" for row in facts]
    title, disclosure = renderer.say("card_equivalents", name=name), renderer.say("disclosure")
    state = about([medication])
    state["shown"] = [option_of(row, exact_name(row)) for row in facts]
    return AnswerPart(
        paragraphs(f"{head}\n{numbered(lines)}", disclosure),
        cards=[products_card(renderer, "equivalents", title, facts, totals, disclosure)],
        suggestions=[renderer.say("chip_person")],
        state=state,
    )
