"""Answer from the knowledge base: stored answers as facts, their sources as a card, further questions as suggestions."""

from collections.abc import Sequence

from agent.answers.answer import Answer, Piece
from agent.answers.cards import sources_card
from agent.answers.connecting_sentences import sentence_named
from agent.answers.facts.knowledge import ANSWER
from agent.answers.facts.results import facts_of
from agent.answers.handoffs import person_offered
from agent.answers.renderer import Renderer
from agent.inference.base import StepResult, Turn
from agent.safety.privacy.placeholders import Placeholders
from agent.state import ConversationState


def knowledge_answer(renderer: Renderer, result: StepResult) -> Answer:
    """Return the answer to what the action `knowledge.ask` found; where that is nothing, a pharmacist is offered."""
    facts, found = facts_of(renderer, result), result.result
    if direct := found.get("direct"):
        return Answer([sentence_named(str(direct), renderer.language)])
    quoted = [fact for fact in facts if fact.kind == ANSWER]
    if not quoted:
        return Answer(
            facts,
            suggestions=[*suggestions_of([result]), renderer.say("chip_person")],
            state={**state_after(result, renderer.turn), "pending": person_offered()},
        )
    name = "from_knowledge" if found.get("is_sure", True) else "closest_knowledge"
    head: Piece = quoted[0].companion or sentence_named(name, renderer.language)
    return Answer(
        [head, *quoted],
        [sources_card(renderer, found["quotes"])],
        suggestions_of([result]),
        state_after(result, renderer.turn),
    )


def suggestions_of(results: Sequence[StepResult]) -> list[str]:
    """Return the questions to offer next; each is a published question of the knowledge base, word for word."""
    return [str(text) for result in results for text in result.result.get("suggestions", ())]


def state_after(result: StepResult, turn: Turn) -> ConversationState:
    """Return what a conversation remembers of an answer from the knowledge base, without what looks personal."""
    return {
        "knowledge": {
            "question": Placeholders(turn.personal).remove(str(result.step.arguments["question"])),
            "entries": [str(quote["id"]) for quote in result.result.get("quotes", ())],
            "offered": [str(text) for text in result.result.get("suggestions", ())],
        }
    }
