"""Make the facts of site answers: what staff wrote about a subject that the data cannot answer."""

from collections.abc import Iterator

from agent.answers.facts.fact import Fact
from agent.answers.facts.stores import phone_facts
from agent.answers.renderer import Renderer
from agent.inference.base import StepResult


def site_facts(renderer: Renderer, result: StepResult) -> Iterator[Fact]:
    """Yield the text on a subject, word for word, and the phone that it offers (the action `site.answer`)."""
    if text := renderer.of(result.result, "text"):
        yield Fact(f"site.{result.step.arguments['topic']}", "", text, is_lasting=False, quotes=(text,))
    if store := result.result.get("store"):
        yield from phone_facts(renderer, store)
