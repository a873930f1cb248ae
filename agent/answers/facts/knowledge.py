"""Make the facts of the knowledge base: stored answers word for word, each with its source."""

from collections.abc import Iterator
from typing import Any, Final

from agent.answers.facts.fact import Fact
from agent.answers.renderer import Renderer
from agent.inference.base import StepResult

ANSWER: Final = "knowledge.answer"
_NO_ANSWER: Final = {"nothing": "knowledge_found_nothing", "unavailable": "knowledge_unreachable"}


def knowledge_facts(renderer: Renderer, result: StepResult) -> Iterator[Fact]:
    """Yield each stored answer that was found, or that none was (the action `knowledge.ask`).

    What was stored may be withdrawn between two messages, so that none of it lasts.
    """
    found = result.result
    status = str(found.get("status", ""))
    if key := _NO_ANSWER.get(status):
        if status == "nothing" and found.get("suggestions"):
            key = "knowledge_near"
        yield Fact(f"knowledge.{status}", "", renderer.say(key), is_lasting=False)
    stored = None
    if status == "stored":
        stored = Fact("knowledge.stored", "", renderer.say("knowledge_stored"), is_lasting=False)
    for quote in found.get("quotes", ()):
        yield _answer_fact(renderer, quote, stored)


def _answer_fact(renderer: Renderer, quote: dict[str, Any], companion: Fact | None) -> Fact:
    text, question = str(quote["text"]), str(quote["question"])
    source = renderer.say("knowledge_source", source=quote["source"])
    return Fact(
        ANSWER,
        question,
        f"{text}\n{source}",
        is_lasting=False,
        quotes=(text, source),
        brief=text,
        on_card=(question, str(quote["source"])),
        companion=companion,
        saying=f"knowledge {quote['id']}",
    )
