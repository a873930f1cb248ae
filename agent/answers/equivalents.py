"""Answer with the equivalents of a product, their disclosure and card."""

from agent.answers.answer import Answer
from agent.answers.card_types import Card
from agent.answers.cards import products_card
from agent.answers.facts.lists import equivalent_facts, equivalents_listed
from agent.answers.products import about, exact_name, option_of
from agent.answers.renderer import Renderer
from agent.inference.base import StepResult
from agent.state import RememberedMedication


def equivalents_part(renderer: Renderer, medication: RememberedMedication, result: StepResult) -> Answer:
    """Return what may be given in a product's place by its ingredients, with the whole disclosure."""
    state, products = about([medication]), equivalents_listed(result)
    if products:
        state["shown"] = [option_of(row, exact_name(row)) for row in products]
    return Answer(
        list(equivalent_facts(renderer, result)),
        cards=equivalents_cards(renderer, result),
        suggestions=[renderer.say("chip_person")] if result.ok else [],
        state=state,
    )


def equivalents_cards(renderer: Renderer, result: StepResult) -> list[Card]:
    """Return the card of the equivalents, if there are any to show."""
    products = equivalents_listed(result)
    if not products:
        return []
    title = renderer.say("card_equivalents", name=renderer.of(result.evidence["medication"]))
    note = renderer.say("disclosure")
    return [products_card(renderer, "equivalents", title, products, result.evidence, note)]
