"""The parts of an answer, and how they become one."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from agent.answers.cards import Card
from agent.answers.layout import paragraphs
from agent.answers.products import about
from agent.answers.renderer import Renderer
from agent.inference.base import Reply
from agent.state import ConversationState, RememberedMedication

_MOST_CARDS, _MOST_SUGGESTIONS = 4, 3


@dataclass
class AnswerPart:
    """One worded piece of an answer. `state` is merged into the conversation's state."""

    text: str
    cards: list[Card] = field(default_factory=list)
    suggestions: list[str] = field(default_factory=list)
    quoted: list[str] = field(default_factory=list)
    state: ConversationState = field(default_factory=ConversationState)
    in_stock: bool = False
    """Whether the place that was asked about has the product."""


def joined(
    parts: Sequence[AnswerPart], known: Sequence[RememberedMedication], pairs: AnswerPart | None
) -> AnswerPart:
    """Return several parts, and perhaps their interaction check, as one part about all of their medicines."""
    parts = [*parts, *([pairs] if pairs else [])]
    state: ConversationState = {}
    for part in parts:
        state.update(part.state)
    state.update(about(known))
    return AnswerPart(
        paragraphs(*(part.text for part in parts)),
        cards=[card for part in parts for card in part.cards],
        suggestions=[chip for part in parts for chip in part.suggestions][:_MOST_SUGGESTIONS],
        quoted=[text for part in parts for text in part.quoted],
        state=state,
    )


def compose(renderer: Renderer, parts: Sequence[AnswerPart], state: ConversationState) -> Reply:
    """Return all parts as one answer, after which the conversation has this state."""
    known = {key: value for key, value in state.items() if value not in (None, "", [])}
    return Reply(
        text=paragraphs(*dict.fromkeys(part.text for part in parts)),
        language=renderer.language,
        state=cast(ConversationState, known),
        cards=[card for part in parts for card in part.cards][:_MOST_CARDS],
        suggestions=list(dict.fromkeys(chip for part in parts for chip in part.suggestions))[
            :_MOST_SUGGESTIONS
        ],
        quoted=[text for part in parts for text in part.quoted],
    )
