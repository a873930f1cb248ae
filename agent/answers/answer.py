"""Define an answer: facts and the words between them, in their order. Every reply to a customer is composed of answers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from agent.answers.cards import Card
from agent.answers.facts.fact import Fact, is_said
from agent.inference.base import Reply
from agent.state import ConversationState
from pharmacy_site.lib.text import Language

Piece = Fact | str
"""A fact, or words that connect facts: a greeting, a head, a question."""
_MOST_CARDS: Final = 4
_MOST_SUGGESTIONS: Final = 3


@dataclass
class Answer:
    """What a customer is told. `state` is merged into the conversation's state."""

    pieces: Sequence[Piece] = ()
    """Each is a paragraph, unless there is white space at the edge of a piece: then that stands between the two."""
    cards: Sequence[Card] = ()
    suggestions: Sequence[str] = ()
    state: ConversationState = field(default_factory=ConversationState)

    @property
    def text(self) -> str:
        """The whole text."""
        text = ""
        for piece in self.pieces:
            said = piece if isinstance(piece, str) else piece.text
            if text and said and not (text[-1].isspace() or said[0].isspace()):
                text += "\n\n"
            text += said
        return text

    @property
    def facts(self) -> list[Fact]:
        """The facts in it, in their order."""
        return [piece for piece in self.pieces if isinstance(piece, Fact)]

    @property
    def quoted(self) -> list[str]:
        """The leaflet texts in it, which may say what no other sentence may."""
        return [quote for fact in self.facts for quote in fact.quotes]


def spaced(pieces: Iterable[Piece], gap: str = " ") -> list[Piece]:
    """Return pieces that stand in one paragraph, with this white space between them."""
    joined: list[Piece] = []
    for piece in pieces:
        joined += [gap, piece] if joined else [piece]
    return joined


def joined(answers: Iterable[Answer]) -> Answer:
    """Return several answers as one; what two of them say in the same words is said once."""
    whole, said = Answer(), set()
    for answer in answers:
        if answer.text not in said:
            warned = [fact for fact in whole.facts if fact.saying]
            fresh = [one for one in answer.pieces if isinstance(one, str) or not is_said(one, warned)]
            whole.pieces = [*whole.pieces, *fresh]
        said.add(answer.text)
        whole.cards = [*whole.cards, *answer.cards]
        whole.suggestions = [*whole.suggestions, *answer.suggestions]
        whole.state = {**whole.state, **answer.state}
    return whole


def compose(
    answers: Iterable[Answer],
    language: Language,
    state: ConversationState,
    *,
    fixed: bool = False,
    free: bool = False,
) -> Reply:
    """Return these answers as the reply to a customer, after which the conversation has this state."""
    whole = joined(answers)
    known = {key: value for key, value in state.items() if value not in (None, "", [])}
    return Reply(
        text=whole.text,
        language=language,
        state=cast(ConversationState, known),
        cards=whole.cards[:_MOST_CARDS],
        suggestions=list(dict.fromkeys(whole.suggestions))[:_MOST_SUGGESTIONS],
        quoted=whole.quoted,
        fixed=fixed,
        free=free,
    )
